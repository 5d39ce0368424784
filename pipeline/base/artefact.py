"""Artefacts: finished folders with the hashes of their files, put into place in one move.

Its `meta.json` holds the hash of every file in it and all that it was made from. It lies in
`artefacts/STAGE-KEY/`, KEY being the hash of the latter. Names are relative, so the folder of runs
can be moved.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fnmatch import filter as matching
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accord.errors import FULL, AccordError, NotFoundError
from accord.models.common.files import clear_partial, write_whole
from accord.pipeline.base.messages import say

if TYPE_CHECKING:
    from filelock import BaseFileLock


def hash_of_file(path: Path) -> str:
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
        return {n: hashes[n] for pattern in files or ("*",) for n in matching(hashes, pattern)}

    def check(self, files: tuple[str, ...] = ()) -> None:
        """Raise an error if one of these files was changed or damaged."""
        for path in self._changed(files, cached_hash):
            raise Damaged(f"{_fault(path)}; {_advice(self.folder)}")

    def faults(self) -> Iterator[str]:
        """Read every file and yield the faults."""
        return map(_fault, self._changed((), hash_of_file))

    def _changed(self, files: tuple[str, ...], digest: Callable[[Path], str]) -> Iterator[Path]:
        for name, expected in self.digests(files).items():
            path = self.folder / name
            if not path.is_file() or digest(path) != expected:
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


def _advice(folder: Path) -> str:
    return f"remove the folder {folder}, and the same command makes it anew"


def _fault(path: Path) -> str:
    return f"{path} is {'damaged: its hash differs' if path.is_file() else 'missing'}"


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
        newer = "a newer", "Update Accord"
        origin, advice = newer if version > FORMAT else ("an earlier", "Make the folder anew")
        raise AccordError(
            f"{path} is of {origin} Accord: it has format {version}, this version reads {FORMAT}. "
            f"{advice} or choose another one."
        )
    value.pop(SEAL, None)
    if content != _sealed(value):
        raise Damaged(f"{path} is damaged: it does not have the hash it states")
    return value


def _sealed(value: Mapping[str, Any]) -> bytes:
    written = partial(json.dumps, indent=1, ensure_ascii=False)
    seal = hashlib.sha256(written(value).encode()).hexdigest()
    return written({**value, SEAL: seal}).encode()


class Store:
    """The artefacts below one folder."""

    def __init__(self, folder: Path):
        self.folder = folder

    def path(self, name: str) -> Path:
        return self.folder / name

    def partial(self, name: str) -> Path:
        """Return the folder of an artefact that is not finished."""
        return self.folder / f".{name}.partial"

    def find(self, name: str) -> Artefact | None:
        """Read the artefact of that name if it is finished."""
        return self.read(name) if (self.path(name) / META).exists() else None

    def read(self, name: str) -> Artefact:
        """Read a finished artefact, which may come from another machine."""
        artefact = Artefact.read(self.path(name))
        if name_of(artefact.made_from) != name:
            made_as = name_of(artefact.made_from)
            raise Damaged(f"{artefact.folder} was made as {made_as}; {_advice(artefact.folder)}")
        return artefact

    def make(
        self, made_from: Mapping, compute: Callable[[Path], None], resumes: bool, anew: bool = False
    ) -> Artefact:
        """Compute an artefact in a temporary folder and move it into place.

        A second process waits for the first and takes its result. Files of an interrupted stage are
        removed unless the stage resumes from them. Made `anew`, a finished artefact stays until the
        new one is whole.
        """
        name = name_of(made_from)
        path, partial, former = self.path(name), self.partial(name), self._former(name)
        self.folder.mkdir(parents=True, exist_ok=True)
        with self._locked(name):
            if not anew and (artefact := self.find(name)):
                return artefact
            if partial.exists() and not resumes:
                shutil.rmtree(partial)
            partial.mkdir(exist_ok=True)
            try:
                compute(partial)
                clear_partial(partial)
                meta = {"format": FORMAT, **made_from, "files": hashes_of(partial)}
                write_json(partial / META, meta)
                if path.exists():  # after a kill, `clear` puts the former one back
                    shutil.rmtree(former, ignore_errors=True)
                    path.rename(former)
                partial.rename(path)
            except BaseException as error:
                if not resumes:
                    shutil.rmtree(partial, ignore_errors=True)
                if isinstance(error, OSError) and error.errno in FULL and not error.filename:
                    raise OSError(error.errno, os.strerror(error.errno), str(self.folder)) from None
                raise
            shutil.rmtree(former, ignore_errors=True)
        return Artefact(path, meta)

    def _former(self, name: str) -> Path:
        return self.folder / f".{name}.former"

    def clear(self, resuming: Collection[str]) -> None:
        """Remove the leftovers of killed processes: locks, and unfinished artefacts.

        Artefacts of `resuming` stages stay, as do those that a living process has locked.
        """
        endings = ("lock", "partial", "former")
        leftovers = [path for ending in endings for path in self.folder.glob(f".*.{ending}")]
        for name in {path.name[1:].rpartition(".")[0] for path in leftovers}:
            lock, former = self._lock(name), self._former(name)
            with suppress(OSError), lock.acquire(timeout=0):  # of another process or user
                if self.find(name) is None and former.exists():  # killed before the new one came
                    shutil.rmtree(self.path(name), ignore_errors=True)
                    former.rename(self.path(name))
                shutil.rmtree(former, ignore_errors=True)
                if name.rpartition("-")[0] not in resuming or self.find(name):
                    shutil.rmtree(self.partial(name), ignore_errors=True)
                Path(lock.lock_file).unlink()

    def _lock(self, name: str) -> "BaseFileLock":
        from filelock import FileLock  # here: it loads in 40 ms, and a model answers without it

        return FileLock(self.folder / f".{name}.lock")

    @contextmanager
    def _locked(self, name: str) -> Iterator[None]:
        """Hold the lock of an artefact; wait while another process has it."""
        lock = self._lock(name)
        try:
            lock.acquire(timeout=1)
        except TimeoutError:
            say(f"{name}: another process makes it; waiting for it")
            lock.acquire()
        try:
            yield
        finally:
            with suppress(OSError):  # Windows removes no file that is open
                Path(lock.lock_file).unlink()  # before others acquire it: they look again
            lock.release()


def publish(artefact: Artefact, folder: Path) -> None:
    """Copy an artefact to a folder for the user, in place of an earlier copy.

    Other files in the folder stay. A copy that is there already is left alone: the folder may be
    read-only.
    """
    try:
        copy = Artefact.read(folder)
        former = copy.meta["files"]
    except (OSError, ValueError):  # none yet, or one that cannot be read
        former = {}
    else:
        if copy.meta == artefact.meta and not [*copy.faults()]:
            return
    gone = former.keys() - artefact.meta["files"].keys()
    for place, _, names in os.walk(folder):  # not rglob: others remove their partial folders
        for path in (Path(place, name) for name in names):
            if path.relative_to(folder).as_posix() in gone:
                path.unlink(missing_ok=True)  # another process may do the same

    def copy(source: str, target: str) -> None:  # whole: a reader finds the old file or the new one
        write_whole(Path(target), Path(source).read_bytes())

    shutil.copytree(artefact.folder, folder, copy_function=copy, dirs_exist_ok=True)


UNREADABLE = (OSError, ValueError)  # damaged, missing, or of a newer format


def faults(run: Path) -> Iterator[str]:
    """Yield the faults of a run, each with the name of the file or folder."""
    if not run.is_dir():
        raise NotFoundError(f"{run} is no run: expected a folder with {MANIFEST}")
    try:
        manifest = read_json(run / MANIFEST)
    except UNREADABLE as error:
        yield str(error)
        return
    places = {
        (model, stage): run.parent / ARTEFACTS / name
        for model, stages in manifest["models"].items()
        for stage, name in stages.items()
    }
    artefacts: dict[Path, Artefact | None] = dict.fromkeys(places.values())
    if (run / "report" / META).exists():  # a copy, which people read
        artefacts[run / "report"] = None
    for folder in artefacts:
        try:
            artefact = artefacts[folder] = Artefact.read(folder)
        except UNREADABLE as error:
            yield str(error)
        else:
            yield from artefact.faults()
            yield from artefact.strangers()
    for (model, _), folder in places.items():
        if not (artefact := artefacts[folder]):
            continue
        if folder.name != name_of(artefact.made_from):
            yield f"{folder} was made as {name_of(artefact.made_from)}"
        for label, digests in artefact.meta["inputs"].items():
            of_model, _, stage = label.rpartition("/")  # a stage over all models names the model
            above = artefacts.get(places.get((of_model or model, stage)))
            if above and not digests.items() <= above.meta["files"].items():
                yield f"{folder} was made from something else than {above.folder}"
