"""Exported models received: from a folder or the hub, every file being what was written."""

import zipfile
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.artefacts.artefact import Artefact, Damaged, read_json
from pipeline.sharing import hub
from pipeline.sharing.compact.parts import CompactParts
from pipeline.sharing.file_names import CONFIG, is_compact
from pipeline.stage import Inputs

if TYPE_CHECKING:
    from pipeline.sharing.parts import Parts

READ = {".json", ".npy", ".npz", ".safetensors", ".parquet", ".arrow"}  # files that are loaded
MOST_PACKED = 100  # bytes that one byte of a small form may stand for
ALWAYS = 1 << 20  # bytes that arrays may have however well they are packed


def is_exported(folder: Path) -> bool:
    return (folder / CONFIG).is_file()


def open_exported(place: str | Path) -> "Parts | CompactParts":
    """The parts of an exported model, here or on the hub, whatever its form."""
    folder = Path(place)
    if not is_exported(folder):
        if folder.exists():
            raise FileNotFoundError(f"{folder} is no exported model: expected {folder / CONFIG}")
        folder = hub.download(str(place))
    check_files(folder)
    if is_compact(folder):
        _check_packed(folder)
        return CompactParts(folder)
    from pipeline.sharing import received  # here, as they load what tables need
    from pipeline.sharing.parts import Parts

    received.check(folder, inputs_of(folder))
    return Parts(inputs_of(folder), received.MODEL)


def inputs_of(folder: Path) -> Inputs:
    """An exported model's folder stands for what every stage made."""
    return defaultdict(lambda: folder)


def check_files(folder: Path) -> None:
    """Every file that could be read is named with its hash, lies there and has that hash."""
    about = read_json(folder / CONFIG)
    hashes = about.get("files")
    if about.get("model_type") != "accord" or not isinstance(hashes, dict):
        raise ValueError(f"{folder / CONFIG}: expected what `accord export` writes")
    for name, digest in hashes.items():
        if Path(name).name != name or not isinstance(digest, str):
            raise ValueError(
                f"{folder / CONFIG}: expected names of files beside it and their hashes, "
                f"got {name!r}: {digest!r:.100}"
            )
        if not (folder / name).is_file():
            raise Damaged(f"{folder / name} is missing")
    there = {path.name for path in folder.iterdir() if path.suffix in READ} - {CONFIG}
    for name in sorted(there - hashes.keys()):
        raise Damaged(f"{folder / name} is not named in {CONFIG}: nothing says what it should be")
    for fault in Artefact(folder, about).faults():
        raise Damaged(fault)


def _check_packed(folder: Path) -> None:
    """Arrays are packed, and yet not far larger than their files."""
    for path in sorted(folder.glob("*.npz")):
        try:
            with zipfile.ZipFile(path) as archive:
                claimed = sum(member.file_size for member in archive.infolist())
        except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
            raise ValueError(f"{path} cannot be loaded: {error}") from None
        most = ALWAYS + MOST_PACKED * path.stat().st_size
        if claimed > most:
            raise ValueError(f"{path}: expected at most {most:,} bytes, it claims {claimed:,}")
