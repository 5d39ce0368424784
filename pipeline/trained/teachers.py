"""Trained models that teach another: found by name, known by their files, taken along.

Needs numpy only: commands that load no network ask which files a teacher is read from.
"""

import shutil
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from accord.models.common.files import WEIGHTS
from accord.models.recipe import Recipe
from accord.pipeline.artefacts.artefact import Inputs, hash_of_file, hash_of_value
from accord.pipeline.artefacts.names import MODEL, RECIPE
from accord.pipeline.trained import resolve
from accord.pipeline.trained.resolve import TRAINED, TrainedModel

Read = Mapping[str, tuple[str, ...]]  # stage -> the files of its folder that training reads


def find(teacher: str) -> list[TrainedModel]:
    """The models that one name stands for: a run's are all."""
    try:
        found, why = resolve.find(teacher), resolve.EXPECTED
    except (FileNotFoundError, ValueError) as error:
        found, why = [], str(error)
    if not found or any(model.kind in ("hub", "arpa") for model in found):
        raise FileNotFoundError(
            f"train.teachers: expected a network that is trained before it teaches; found none at "
            f"{teacher}: {why}"
        )
    return found


def files(recipe: Recipe, read: Read) -> list[Path]:
    """All files of the teachers."""
    found = [model for teacher in recipe.teachers.models for model in find(teacher)]
    return [path for model in found for path in _files(model.folders, read)]


def _files(folders: Inputs, read: Read) -> list[Path]:
    names = [(stage, name) for stage, files in read.items() for name in files]
    names += [("train", name) for name in (RECIPE, WEIGHTS, MODEL)]
    paths = (folders[stage] / name for stage, name in names if not name.startswith("valid."))
    return list(dict.fromkeys(path for path in paths if path.is_file()))


def of_folder(recipe: Recipe, packed: Path, before: Collection[str]) -> list[str]:
    """The models packed before it into one folder, to be trained there first, if they teach it."""
    place = (packed / TRAINED).resolve()
    names = [
        Path(each).name for each in recipe.teachers.models if Path(each).parent.resolve() == place
    ]
    if names and (len(names) < len(recipe.teachers.models) or not {*names} <= {*before}):
        raise ValueError(
            f"train.teachers: expected models of {packed} alone, that come before the one they "
            f"teach ({', '.join(before) or 'none'}); got {', '.join(recipe.teachers.models)}"
        )
    return names


def recipe_of(folder: Path, job: Mapping[str, Any]) -> Recipe:
    """The recipe of a packed job, its teachers where they lie in the packed folder."""
    teachers = [folder / name for name in resolve.packed_teachers(job)]
    teachers += [folder / TRAINED / name for name in resolve.taught_by(job)]
    found = Recipe.read(job["recipe"])
    return replace(found, teachers=replace(found.teachers, models=tuple(map(str, teachers))))


def take_along(recipe: Recipe, read: Read, folder: Path) -> list[str]:
    """Copy each teacher to its own folder, named by its content; return the names."""
    names = []
    for teacher in recipe.teachers.models:
        for model in find(teacher):
            paths = _files(model.folders, read)
            key = hash_of_value([hash_of_file(path) for path in paths])
            names.append(f"teacher-{key[:16]}")
            (folder / names[-1]).mkdir(parents=True, exist_ok=True)
            for path in paths:
                shutil.copy(path, folder / names[-1] / path.name)
    return names


def check_same_words(name: str, teacher: TrainedModel, inputs: Inputs) -> None:
    """Ids must mean the same words: Φ is the same, or at least the text in ids is."""
    for stage, file in (("featurise", "phi.npz"), ("encode", "train.ids.npy")):
        theirs, own = teacher.folders[stage] / file, inputs[stage] / file
        if theirs.is_file() and hash_of_file(theirs) == hash_of_file(own):
            return
    raise ValueError(
        f"train.teachers: expected a model over the same words, prepared from the same text; "
        f"{name} has another Φ and another training text"
    )
