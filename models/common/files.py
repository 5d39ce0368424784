"""JSON and whole files on disk, without torch and numpy."""

import json
import os
import platform
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from accord.errors import AccordError
from accord.models.common.checks import expect

WEIGHTS = "model.safetensors"  # as the Hugging Face hub expects
CURVE = "curve.csv"  # of losses, by epoch
PARTIAL = ".*.partial"  # folders that a killed writer may leave behind
LARGEST = 1 << 28  # bytes; Accord's JSON files are far smaller
JSON_NAMES: dict[type, str] = {dict: "an object", list: "a list"}


def load_json(path: Path, kind: type, finite: bool = True) -> Any:
    """Return the JSON value of a file; an error unless it is of this kind, `dict` or `list`.

    Numbers must be finite, unless `finite` is false.
    """
    size = path.stat().st_size
    expect(f"{path}", size <= LARGEST, f"at most {LARGEST:,} bytes", f"{size:,}")
    try:
        content = json.loads(
            path.read_text(encoding="utf-8"), parse_constant=_reject_constant if finite else None
        )
    except (ValueError, RecursionError) as error:
        raise AccordError(f"{path}: expected JSON, but {error}") from None
    expect(f"{path}", isinstance(content, kind), JSON_NAMES[kind], type(content).__name__)
    return content


def _reject_constant(constant: str) -> None:
    raise AccordError(f"{constant} is no number")


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Give a path to write to, and then move the file to `path`: there it is whole or absent.

    Until then it has the same name in a new folder next to `path`: writers choose a format by the
    ending, and gzip stores the name. If anything fails, the older file stays.
    """
    path = path.resolve()  # the target of a link is replaced, not the link
    if path.exists() and not path.is_file():  # a pipe or a device cannot be moved to
        yield path
        return
    folder = path.with_name(f".{path.name}{_suffix(os.getpid())}")
    try:
        folder.mkdir(exist_ok=True)
        yield folder / path.name
        with (folder / path.name).open("rb+") as file:
            os.fsync(file.fileno())
        (folder / path.name).replace(path)
    except OSError as error:
        if error.errno is None or error.filename is not None:
            raise
        # The system does not name the file for which the disk is too full.
        raise OSError(error.errno, os.strerror(error.errno), str(path)) from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def write_whole(path: Path, content: bytes) -> None:
    with whole(path) as partial:
        partial.write_bytes(content)


def clear_partial(folder: Path) -> None:
    """Remove files that killed writers of this machine left in a folder."""
    for path in folder.glob(PARTIAL):
        pid = path.name.removesuffix(".partial").rpartition(".")[2]
        if pid.isdecimal() and path.name.endswith(_suffix(int(pid))) and not _is_alive(int(pid)):
            with suppress(OSError):  # in a folder that is read-only
                remove(path)


def remove(path: Path) -> None:
    """Remove a file, or a folder with all that is in it."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _suffix(pid: int) -> str:
    """Return the suffix of files that a process writes: the machine and the process."""
    return f".{platform.node()}.{pid}.partial"


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)  # sends no signal, and fails if none could be sent
    except OSError as error:
        return not isinstance(error, ProcessLookupError)  # it may be of another user
    return True
