"""Put artefacts into place in one move, and verify runs.

An artefact lies in `artefacts/STAGE-KEY/`. Names are relative, so the folder of runs can be moved.
"""

import os
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from accord.errors import FULL, NotFoundError
from accord.models.common.files import clear_partial, write_whole
from accord.pipeline.base.artefact import (
    ARTEFACTS,
    FORMAT,
    MANIFEST,
    META,
    Artefact,
    Damaged,
    hashes_of,
    name_of,
    read_json,
    write_json,
)
from accord.pipeline.base.messages import say


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
        """Return the artefact of that name if it is finished."""
        return self.read(name) if (self.path(name) / META).exists() else None

    def read(self, name: str) -> Artefact:
        """Read a finished artefact, which may come from another machine."""
        artefact = Artefact.read(self.path(name))
        if name_of(artefact.made_from) != name:
            raise Damaged(
                f"{artefact.folder} was made as {name_of(artefact.made_from)}; remove the folder, "
                f"and the same command makes it anew"
            )
        return artefact

    def make(
        self,
        name: str,
        recipe: Mapping,
        compute: Callable[[Path], None],
        resumes: bool,
        anew: bool = False,
    ) -> Artefact:
        """Compute an artefact in a temporary folder and move it into place.

        A second process waits for the first and takes its result. Files of an interrupted stage are
        removed unless the stage resumes from them. Made `anew`, a finished artefact stays until the
        new one is whole.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with self._locked(name):
            if not anew and (artefact := self.find(name)):
                return artefact
            partial = self.partial(name)
            if partial.exists() and not resumes:
                shutil.rmtree(partial)
            partial.mkdir(exist_ok=True)
            try:
                compute(partial)
                clear_partial(partial)
                meta = {"format": FORMAT, **recipe, "files": hashes_of(partial)}
                write_json(partial / META, meta)
                self._replace(name, partial)
            except BaseException as error:
                if not resumes:
                    shutil.rmtree(partial, ignore_errors=True)
                if isinstance(error, OSError) and error.errno in FULL and not error.filename:
                    raise OSError(error.errno, os.strerror(error.errno), str(self.folder)) from None
                raise
        return Artefact(self.path(name), meta)

    def _replace(self, name: str, partial: Path) -> None:
        """Move a finished folder into place; after a kill `clear` restores the former one."""
        former = self._former(name)
        if self.path(name).exists():
            shutil.rmtree(former, ignore_errors=True)
            self.path(name).rename(former)
        partial.rename(self.path(name))
        shutil.rmtree(former, ignore_errors=True)

    def _former(self, name: str) -> Path:
        return self.folder / f".{name}.former"

    def clear(self, resuming: Collection[str]) -> None:
        """Remove the leftovers of killed processes: locks, and unfinished artefacts.

        Artefacts of `resuming` stages stay, as do those that a living process has locked.
        """
        endings = ("lock", "partial", "former")
        leftovers = [path for ending in endings for path in self.folder.glob(f".*.{ending}")]
        for name in {path.name[1:].rpartition(".")[0] for path in leftovers}:
            lock = FileLock(self.folder / f".{name}.lock")
            with suppress(OSError), lock.acquire(timeout=0):  # of another process or user
                self._restore(name)
                if name.rpartition("-")[0] not in resuming or self.find(name):
                    shutil.rmtree(self.partial(name), ignore_errors=True)
                Path(lock.lock_file).unlink()

    def _restore(self, name: str) -> None:
        """Put the former artefact back if a process was killed before the new one was in place."""
        if self.find(name) is None and self._former(name).exists():
            shutil.rmtree(self.path(name), ignore_errors=True)
            self._former(name).rename(self.path(name))
        shutil.rmtree(self._former(name), ignore_errors=True)

    @contextmanager
    def _locked(self, name: str) -> Iterator[None]:
        """Hold the lock of an artefact; wait while another process has it."""
        lock = FileLock(self.folder / f".{name}.lock")
        try:
            lock.acquire(timeout=1)
        except Timeout:
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
    shutil.copytree(artefact.folder, folder, copy_function=_copy_whole, dirs_exist_ok=True)


def _copy_whole(source: str, target: str) -> None:
    """Copy a file; a reader finds the old one or the new one."""
    write_whole(Path(target), Path(source).read_bytes())


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
    report = run / "report"  # a copy, which people read
    copies = [report] if (report / META).exists() else []
    artefacts: dict[Path, Artefact] = {}
    for folder in dict.fromkeys([*places.values(), *copies]):
        try:
            artefacts[folder] = Artefact.read(folder)
        except UNREADABLE as error:
            yield str(error)
            continue
        yield from artefacts[folder].faults()
        yield from artefacts[folder].strangers()
    for (model, _), folder in places.items():
        if not (artefact := artefacts.get(folder)):
            continue
        if folder.name != name_of(artefact.made_from):
            yield f"{folder} was made as {name_of(artefact.made_from)}"
        for label, digests in artefact.meta["inputs"].items():
            of_model, _, stage = label.rpartition("/")  # a stage over all models names the model
            above = artefacts.get(places.get((of_model or model, stage)))
            if above and not digests.items() <= above.meta["files"].items():
                yield f"{folder} was made from something else than {above.folder}"
