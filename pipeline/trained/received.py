"""What comes from elsewhere, checked before anything is built of it.

Every file has the hash that is told of it, the recipe is one, and no array or table is far larger
than its file.
"""

import math
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

from accord.models.common.arrays import check_stored
from accord.models.common.files import load_json
from accord.models.recipe import MOVED, Recipe
from accord.pipeline.artefacts.artefact import Artefact, Damaged, read_json
from accord.pipeline.artefacts.names import CONFIG

if TYPE_CHECKING:
    import pyarrow as pa


def read_recipe(path: Path) -> Recipe:
    content = load_json(path, dict)
    hints = get_type_hints(Recipe)
    for key in content:
        if key not in hints and key not in MOVED:
            raise ValueError(
                f"{path}: unknown key {key!r:.100}: no Accord up to this version wrote it. Update "
                f"Accord, or train the model again"
            )
    try:
        for key, value in Recipe.settled(Recipe.layered({}, content)).items():
            if not _fits(value, hints[key]):
                raise ValueError(f"{key}: expected {_named(hints[key])}, got {value!r:.100}")
        return Recipe.read(content)
    except ValueError as error:  # of a number out of its range
        raise ValueError(f"{path}: {error}") from None


def _fits(value: Any, hint: Any) -> bool:
    if get_origin(hint) is Literal:
        return value in get_args(hint)
    if get_origin(hint) is tuple:  # of any length, which JSON has as a list
        return type(value) is list and all(_fits(each, get_args(hint)[0]) for each in value)
    if get_args(hint):
        return any(_fits(value, each) for each in get_args(hint))
    if hint is float and type(value) in (int, float):
        return abs(value) < math.inf
    return type(value) is hint


def _named(hint: Any) -> str:
    return getattr(hint, "__name__", str(hint)) if not get_args(hint) else str(hint)


READ = {".json", ".npy", ".npz", ".safetensors", ".parquet", ".arrow"}  # files that are loaded
FULL_PHI = "phi.npz"
TYPES = "types.parquet"
MOST_ROWS = 100  # that a byte of a table may stand for, packed as tables are
MOST_PACKED = 100  # bytes that one byte of a small form may stand for
ALWAYS = 1 << 20  # bytes that arrays may have however well they are packed


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


def check_packed(folder: Path) -> None:
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


def check_tables(folder: Path) -> int:
    """Every table can be read to its end, and Φ is not packed; how many words there are."""
    import pyarrow as pa  # here, as a small form has no tables

    for path in sorted((*folder.glob("*.parquet"), *folder.glob("*.arrow"))):
        try:
            _table(path).validate(full=True)
        except (pa.ArrowException, OSError) as error:
            raise ValueError(f"{path} cannot be loaded: {error}") from None
    forms = _table(folder / TYPES)["form"]
    if forms.null_count or forms.type not in (pa.string(), pa.large_string()):
        raise ValueError(f"{folder / TYPES}: expected the form of every word, got none of some")
    if (folder / FULL_PHI).exists():  # a model of subwords has none
        check_stored(folder / FULL_PHI)
    return len(forms)


def _table(path: Path) -> "pa.Table":
    import pyarrow as pa
    from pyarrow import parquet

    if path.suffix == ".arrow":
        return pa.ipc.open_file(pa.memory_map(str(path))).read_all()
    rows, most = parquet.read_metadata(path).num_rows, MOST_ROWS * path.stat().st_size
    if rows > most:
        raise ValueError(f"{path}: expected at most {most:,} rows in its bytes, got {rows:,}")
    return parquet.read_table(path)
