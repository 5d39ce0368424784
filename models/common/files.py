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

LARGEST = 1 << 28  # bytes; what Accord writes as JSON is far smaller
CALLED: dict[type, str] = {dict: "an object", list: "a list"}


def load_json(path: Path, kind: type, finite: bool = True) -> Any:
    """The JSON value of a file, which must be of this kind: `dict` or `list`.

    Numbers must be finite, unless `finite` is false.
    """
    if path.stat().st_size > LARGEST:
        raise AccordError(
            f"{path}: expected at most {LARGEST:,} bytes, got {path.stat().st_size:,}"
        )
    try:
        content = json.loads(
            path.read_text(encoding="utf-8"), parse_constant=_refuse if finite else None
        )
    except (ValueError, RecursionError) as error:
        raise AccordError(f"{path}: expected JSON, but {error}") from None
    if not isinstance(content, kind):
        raise AccordError(f"{path}: expected {CALLED[kind]}, got {type(content).__name__}")
    return content


def _refuse(constant: str) -> None:
    raise AccordError(f"{constant} is no number")


PARTIAL = ".*.partial"  # what a killed writer may leave behind


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A path to write to. The file is then moved to `path`, so that it is whole or absent.

    Until then it has the same name in a folder of its own beside `path`: writers choose a format by
    the ending, and gzip writes the name down. An older file stays if anything fails.
    """
    path = path.resolve()  # what a link names is replaced, not the link
    if path.exists() and not path.is_file():  # a pipe or a device cannot be moved to
        yield path
        return
    folder = path.with_name(f".{path.name}{_of_process(os.getpid())}")
    try:
        folder.mkdir(exist_ok=True)
        yield folder / path.name
        with (folder / path.name).open("rb+") as file:
            os.fsync(file.fileno())
        (folder / path.name).replace(path)
    except OSError as error:
        if error.errno is None or error.filename is not None:
            raise
        raise OSError(
            error.errno, os.strerror(error.errno), str(path)
        ) from None  # which file had no room
    finally:
        shutil.rmtree(folder, ignore_errors=True)  # on a full disk, what there was room for


def write_whole(path: Path, content: bytes) -> None:
    """Write beside the old file, down to the disk, and put the new one in its place."""
    with whole(path) as partial:
        partial.write_bytes(content)


def clear_partial(folder: Path) -> None:
    """Remove files that killed writers of this machine left in a folder."""
    for path in folder.glob(PARTIAL):
        pid = path.name.removesuffix(".partial").rpartition(".")[2]
        if pid.isdecimal() and path.name.endswith(_of_process(int(pid))) and not _lives(int(pid)):
            with suppress(OSError):  # in a folder that is read-only
                remove(path)


def remove(path: Path) -> None:
    """Remove a file, or a folder with all that is in it."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _of_process(pid: int) -> str:
    """The suffix of files that a process is writing; it names the machine and the process."""
    return f".{platform.node()}.{pid}.partial"


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)  # no signal: it only tells whether one could be sent
    except ProcessLookupError:
        return False
    except OSError:  # somebody else's
        return True
    return True


WEIGHTS = "weights.safetensors"
