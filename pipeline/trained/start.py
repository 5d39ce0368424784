"""The initial checkpoint: the finished model that `train.start` names."""

import atexit
import shutil
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

from accord.pipeline.artefacts.artefact import Artefact, hash_of_file, hash_of_value, read_json
from accord.pipeline.artefacts.names import CONFIG, is_compact
from accord.pipeline.data.folders import cache_home
from accord.pipeline.display.messages import say
from accord.pipeline.trained import resolve

UNFOLDING = 1  # raised when `unfold` writes other files for the same model


def start_folder(start: str) -> Path:
    """The folder of the exported model that `train.start` names."""
    try:
        found = resolve.one(start)
    except FileNotFoundError as error:
        raise ValueError(f"train.start: {error}") from None
    if found.kind not in ("bundled", "exported"):  # the hub is not asked for what keys are made of
        raise ValueError(
            f"train.start: expected {resolve.BUNDLED} or a folder that `accord export` wrote, "
            f"found {start!r}, of the kind {found.kind}: there is no {found.place / CONFIG}"
        )
    return found.place


def start_artefact(start: str) -> Artefact:
    """Its folder with the hashes of its files, as those that stages made have them."""
    folder = start_folder(start)
    folder = _unfolded(folder) if is_compact(folder) else folder
    return Artefact(folder, read_json(folder / CONFIG))


def start_params(start: str) -> dict[str, Any]:
    """Its parameters by stage."""
    return read_json(start_folder(start) / CONFIG)["params"]


def check_start(start: str) -> None:
    """Reject a model with changed or damaged files before it is used."""
    from accord.pipeline.trained.parts import open_parts  # here, as it loads torch

    open_parts(resolve.one(start_folder(start)))


def _unfolded(folder: Path) -> Path:
    """A compact model unfolded in the cache, once for each version.

    One that was damaged there is made anew. Where the cache cannot be written, this process has a
    folder of its own.
    """
    made_of = [hash_of_file(folder / CONFIG), UNFOLDING]
    place = cache_home() / "started" / hash_of_value(made_of)[:16]
    if _is_whole(place):
        return place
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        return _unfold(folder, place)
    except OSError as error:
        own = Path(_folder_of_this_process()) / place.name
        if _is_whole(own):
            return own
        say(f"{place} cannot be written, so the next command makes it again: {error.strerror}")
        return _unfold(folder, own)


def _is_whole(place: Path) -> bool:
    """Whether a folder holds a model as it was written."""
    try:
        Artefact(place, read_json(place / CONFIG)).check()
    except (OSError, ValueError):
        return False
    return True


def _unfold(folder: Path, place: Path) -> Path:
    from accord.pipeline.trained.export import unfold  # here, as it loads torch

    say(f"train.start: unfolding {folder.name} into {place}")
    with TemporaryDirectory(dir=place.parent) as partial:
        out = Path(partial) / "model"
        out.mkdir()
        unfold(folder, out)
        if not _is_whole(place):  # another process may have been faster
            shutil.rmtree(place, ignore_errors=True)
            out.rename(place)
    return place


@cache
def _folder_of_this_process() -> str:
    folder = mkdtemp(prefix="accord-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
