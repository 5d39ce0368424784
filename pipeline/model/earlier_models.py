"""Finished models that a training needs: its initial checkpoint, and its teachers.

`train.start` and `train.teachers` name them. Needs numpy only: commands that load no network ask
which files they are read from.
"""

import atexit
import shutil
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

from accord.errors import AccordError, NotFoundError
from accord.models.common.files import WEIGHTS, load_json
from accord.models.recipe import Recipe
from accord.pipeline.base.artefact import (
    Artefact,
    Inputs,
    hash_of_file,
    hash_of_value,
    read_json,
)
from accord.pipeline.base.messages import say
from accord.pipeline.base.names import CONFIG, MODEL, RECIPE, is_compact
from accord.pipeline.config.sections import StartSettings
from accord.pipeline.data.catalogue import cache_home
from accord.pipeline.model import find as resolve
from accord.pipeline.model.find import TrainedModel

UNFOLDING = 1  # raised when `unfold` writes other files for the same model


def start_folder(start: str) -> Path:
    """The folder of the exported model that `train.start` names."""
    try:
        found = resolve.one(start)
    except FileNotFoundError as error:
        raise AccordError(f"train.start: {error}") from None
    if found.kind not in ("bundled", "exported"):  # the hub is not asked for what keys are made of
        raise AccordError(
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


def start_settings(start: str) -> StartSettings:
    """Return the settings of an initial checkpoint."""
    # Here, as a machine that trains has not what these modules need
    from accord.pipeline.data.unknown_words import read_chain
    from accord.pipeline.data.word_vectors import is_dense

    folder, params = start_folder(start), start_params(start)
    params["analyse"]["lexicon"] = read_chain(folder)["names"]
    # A checkpoint that was fine-tuned itself may have vectors that its settings do not name.
    has_vectors = any(map(is_dense, load_json(folder / "names.json", list)))
    return StartSettings(params, has_vectors, not is_compact(folder))


def check_start(start: str) -> None:
    """Reject a model with changed or damaged files before it is used."""
    from accord.pipeline.model.parts import open_parts  # here, as it loads torch

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
    from accord.pipeline.model.export import unfold  # here, as it loads torch

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


Read = Mapping[str, tuple[str, ...]]  # stage -> the files of its folder that training reads


def find_teachers(teacher: str) -> list[TrainedModel]:
    """The models that one name stands for: a run's are all."""
    try:
        found, why = resolve.find(teacher), resolve.EXPECTED
    except (FileNotFoundError, ValueError) as error:
        found, why = [], str(error)
    if not found or any(model.kind in ("hub", "arpa") for model in found):
        raise NotFoundError(
            f"train.teachers: expected a network that is trained before it teaches; found none at "
            f"{teacher}: {why}"
        )
    return found


def files_of_teachers(recipe: Recipe, read: Read) -> list[Path]:
    """All files of the teachers."""
    found = [model for teacher in recipe.teachers.models for model in find_teachers(teacher)]
    return [path for model in found for path in _files(model.folders, read)]


def _files(folders: Inputs, read: Read) -> list[Path]:
    names = [(stage, name) for stage, files in read.items() for name in files]
    names += [("train", name) for name in (RECIPE, WEIGHTS, MODEL)]
    paths = (folders[stage] / name for stage, name in names if not name.startswith("valid."))
    return list(dict.fromkeys(path for path in paths if path.is_file()))


def check_same_words(name: str, teacher: TrainedModel, inputs: Inputs) -> None:
    """Ids must mean the same words: Φ is the same, or at least the text in ids is."""
    for stage, file in (("featurise", "phi.npz"), ("encode", "train.ids.npy")):
        theirs, own = teacher.folders[stage] / file, inputs[stage] / file
        if theirs.is_file() and hash_of_file(theirs) == hash_of_file(own):
            return
    raise AccordError(
        f"train.teachers: expected a model over the same words, prepared from the same text; "
        f"{name} has another Φ and another training text"
    )
