"""Trained models opened, every file of theirs being what was written."""

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from accord.pipeline.artefacts.artefact import Artefact, Damaged, read_json
from accord.pipeline.sharing.compact.parts import CompactParts
from accord.pipeline.sharing.file_names import CONFIG, is_compact
from accord.pipeline.trained.resolve import TrainedModel

if TYPE_CHECKING:
    from accord.pipeline.sharing.parts import Parts

ASKED = ("analyse", "featurise", "background", "encode", "train")  # stages that answers come from
READ = {".json", ".npy", ".npz", ".safetensors", ".parquet", ".arrow"}  # files that are loaded
MOST_PACKED = 100  # bytes that one byte of a small form may stand for
ALWAYS = 1 << 20  # bytes that arrays may have however well they are packed


def open_parts(model: TrainedModel) -> "Parts | CompactParts":
    """What a trained model is asked with, whatever its form, once its files have been checked."""
    model = model.here()
    if model.is_in_one_folder:
        check_files(model.place)
        if is_compact(model.place):
            _check_packed(model.place)
            return CompactParts(model.place)
        from accord.pipeline.sharing import received  # here, as it loads what tables need

        received.check(model.place, model.folders)
    else:
        model.check(*ASKED)
    from accord.pipeline.sharing.parts import Parts  # here, as it loads pandas

    return Parts(model.folders, model.weights.name)


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
