"""Artefacts: finished folders named by what they were made from, put in place in one move.

An artefact lies in `artefacts/STAGE-KEY/`; its `meta.json` holds the hash of every file in it and
all that its key was computed from. Names are relative, so the folder of runs can be moved.
"""

import json
import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import filter as matching
from pathlib import Path
from typing import Any

from filelock import FileLock

from pipeline import fingerprint

FORMAT = 1  # of meta.json and run.json; a reader refuses what is newer than itself
META = "meta.json"


@dataclass(frozen=True)
class Artefact:
    """A finished folder and its meta data."""

    folder: Path
    meta: Mapping[str, Any]

    def digests(self, files: tuple[str, ...]) -> dict[str, str]:
        """The hashes of the files that a name or a pattern chooses, or of all where none does."""
        made = self.meta["files"]
        return {name: made[name] for chosen in files or ["*"] for name in matching(made, chosen)}


class Store:
    """The artefacts below one folder."""

    def __init__(self, folder: Path):
        self.folder = folder

    def path(self, name: str) -> Path:
        return self.folder / name

    def find(self, name: str) -> Artefact | None:
        """The artefact of that name if it is finished."""
        meta = self.path(name) / META
        return Artefact(self.path(name), read_json(meta)) if meta.exists() else None

    def discard(self, name: str) -> None:
        shutil.rmtree(self.path(name), ignore_errors=True)

    def make(
        self, name: str, recipe: Mapping, compute: Callable[[Path], None], resumes: bool
    ) -> Artefact:
        """Compute an artefact in a temporary folder and move it into place.

        A lock lets a second process wait for the first and take its result. What an interrupted
        stage left is thrown away unless the stage resumes from it.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with FileLock(self.folder / f".{name}.lock"):
            if done := self.find(name):
                return done
            partial = self.folder / f".{name}.partial"
            if partial.exists() and not resumes:
                shutil.rmtree(partial)
            partial.mkdir(exist_ok=True)
            try:
                compute(partial)
                meta = {"format": FORMAT, **recipe, "files": _hashes(partial)}
                write_json(partial / META, meta)
                partial.rename(self.path(name))
            except BaseException:
                if not resumes:
                    shutil.rmtree(partial, ignore_errors=True)
                raise
        with suppress(FileNotFoundError):
            (self.folder / f".{name}.lock").unlink()
        return Artefact(self.path(name), meta)


def _hashes(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): fingerprint.of_file(path) for path in files}


def write_json(path: Path, value: Any) -> None:
    """Write JSON so that a reader finds the old file or the new one, never a half."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    with partial.open("w", encoding="utf-8") as file:
        json.dump(value, file, indent=1, ensure_ascii=False)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


def copy_whole(source: str, target: str) -> None:
    """Copy a file so that a reader finds the old one or the new one; for `shutil.copytree`."""
    partial = f"{target}.{os.getpid()}.partial"
    shutil.copy(source, partial)
    Path(partial).replace(target)


def read_json(path: Path) -> dict[str, Any]:
    """Read what `write_json` wrote; a newer format or a damaged file is refused by name."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is damaged: expected JSON, but {error}") from None
    if value.get("format", 0) > FORMAT:
        raise ValueError(
            f"{path} was written by a newer Accord: it has format {value['format']}, "
            f"this version reads up to {FORMAT}. Update Accord or choose another folder of runs."
        )
    return value
