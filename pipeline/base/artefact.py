"""Artefacts: finished folders with the hashes of their files, so that damage is found.

Its `meta.json` holds the hash of every file in it and all that it was made from, and its name is
the hash of the latter. Needs the standard library only.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import filter as matching
from functools import cache
from pathlib import Path
from typing import Any

from accord.errors import AccordError, NotFoundError
from accord.models.common.files import write_whole


def hash_of_file(path: Path) -> str:
    """Return the SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def hashes_of(folder: Path) -> dict[str, str]:
    """Return the hashes of all files but META, which a killed process may have left."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != META)
    return {path.relative_to(folder).as_posix(): hash_of_file(path) for path in files}


def hash_of_value(value: Any) -> str:
    """Return the SHA-256 of a value in canonical JSON."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


FORMAT = 3  # of meta.json, run.json and config.json; a reader rejects every other
META = "meta.json"
MANIFEST = "run.json"  # in the folder of a run: its configuration and the names of its artefacts
WHOLE_RUN = "*"  # there, the model of a stage over all models
ARTEFACTS = "artefacts"  # their folder, in that of the runs
SEAL = "sha256"  # the last key of a JSON file: the hash of those before it

Inputs = Mapping[str, Path]  # the folder of each artefact a stage reads, by the stage that made it


class Damaged(AccordError, OSError):
    """A file differs from the one that was written."""


@dataclass(frozen=True)
class Artefact:
    """A finished folder and its meta data."""

    folder: Path
    meta: Mapping[str, Any]

    @classmethod
    def read(cls, folder: Path) -> "Artefact":
        return cls(folder, read_json(folder / META))

    def digests(self, files: tuple[str, ...]) -> dict[str, str]:
        """Return the hashes of files that match names or patterns, or of all files."""
        hashes = self.meta["files"]
        patterns = files or ("*",)
        return {name: hashes[name] for pattern in patterns for name in matching(hashes, pattern)}

    def check(self, files: tuple[str, ...] = ()) -> None:
        """Raise an error if one of these files was changed or damaged."""
        for path in self._changed(files, cached_hash):
            raise Damaged(
                f"{_fault(path)}; remove the folder {self.folder}, and the same command makes it "
                f"anew"
            )

    def faults(self) -> Iterator[str]:
        """Read every file and yield the faults."""
        return map(_fault, self._changed((), hash_of_file))

    def _changed(self, files: tuple[str, ...], digest: Callable[[Path], str]) -> Iterator[Path]:
        for name, expected in self.digests(files).items():
            path = self.folder / name
            if not path.exists() or digest(path) != expected:
                yield path

    def strangers(self) -> Iterator[str]:
        """Yield files that were added later; a stage might read them."""
        for path in sorted(self.folder.rglob("*")):
            name = path.relative_to(self.folder).as_posix()
            if path.is_file() and name not in {*self.meta["files"], META}:
                yield f"{path} is not of this artefact"

    @property
    def made_from(self) -> dict[str, Any]:
        return {key: value for key, value in self.meta.items() if key not in ("format", "files")}


@dataclass(frozen=True)
class FinishedRun:
    """The models of a run, from its folder, as far as it is finished."""

    folder: Path
    params: Mapping[str, Mapping[str, Any]]  # by model, the sections of its configuration
    artefacts: Mapping[str, Mapping[str, Path]]  # by model, then by stage

    @classmethod
    def read(cls, folder: Path) -> "FinishedRun":
        manifest = folder / MANIFEST
        if not manifest.exists():
            raise NotFoundError(f"{folder} is no run: expected {manifest}. `accord run` makes one.")
        content = read_json(manifest)
        store = folder.parent / ARTEFACTS
        artefacts = {
            model: {stage: store / name for stage, name in stages.items()}
            for model, stages in content["models"].items()
            if model != WHOLE_RUN
        }
        return cls(folder, {model: content["config"][model] for model in artefacts}, artefacts)

    def of_stage(self, stage: str) -> dict[str, Path]:
        """Return the folder of a stage for each model, none of them missing or damaged."""
        missing = [model for model, stages in self.artefacts.items() if stage not in stages]
        if missing or not self.artefacts:
            raise NotFoundError(
                f"{self.folder} is not finished: expected {stage} of every model, "
                f"found none of {', '.join(missing)}. `accord run` continues it."
            )
        folders = {model: stages[stage] for model, stages in self.artefacts.items()}
        for folder in folders.values():
            Artefact.read(folder).check()
        return folders


def name_of(made_from: Mapping[str, Any]) -> str:
    """Return an artefact's name: its stage, and the hash of all that it depends on."""
    return f"{made_from['stage']}-{hash_of_value(made_from)[:16]}"


def _fault(path: Path) -> str:
    return f"{path} is {'damaged: its hash differs' if path.exists() else 'missing'}"


def cached_hash(path: Path) -> str:
    """Return a file's hash, computed again in this process only if the file seems changed."""
    status = path.stat()
    return _digest_once(path, status.st_size, status.st_mtime_ns)


@cache
def _digest_once(path: Path, size: int, changed: int) -> str:
    return hash_of_file(path)


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write JSON with its own hash; a reader finds the old file or the new one, never a half."""
    write_whole(path, _sealed(value))


def read_json(path: Path) -> dict[str, Any]:
    """Read a file of `write_json`; an error names a damaged file or one of another format."""
    content = path.read_bytes()
    try:
        value = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise Damaged(f"{path} is damaged: expected JSON, but {error}") from None
    if not isinstance(value, dict) or not isinstance(value.get("format", 0), int):
        raise Damaged(f"{path} is damaged: expected an object with its format")
    if (version := value.get("format", 0)) != FORMAT:
        is_newer = version > FORMAT
        raise AccordError(
            f"{path} is of {'a newer' if is_newer else 'an earlier'} Accord: it has format "
            f"{version}, this version reads {FORMAT}. "
            f"{'Update Accord' if is_newer else 'Make the folder anew'} or choose another one."
        )
    value.pop(SEAL, None)
    if content != _sealed(value):
        raise Damaged(f"{path} is damaged: it does not have the hash it states")
    return value


def _sealed(value: Mapping[str, Any]) -> bytes:
    def written(content: Mapping[str, Any]) -> bytes:
        return json.dumps(content, indent=1, ensure_ascii=False).encode()

    return written({**value, SEAL: hashlib.sha256(written(value)).hexdigest()})
