"""Trained models that teach another: found by name, known by their files, taken along, loaded.

Needs torch, numpy and safetensors only, as models are also taught where they are trained.
"""

import json
import shutil
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from models.recipe import Recipe
from models.training.files import WEIGHTS
from pipeline.artefacts import fingerprint
from pipeline.artefacts.artefact import ARTEFACTS, MANIFEST, read_json
from pipeline.artefacts.model_files import MODEL, RECIPE
from pipeline.stage import Inputs

if TYPE_CHECKING:
    from models.network.language_model import LanguageModel
    from models.training.distillation import Distillation

JOBS = "jobs.json"  # of a packed folder
Read = Mapping[str, tuple[str, ...]]  # stage -> the files of its folder that training reads


def find(teacher: str) -> list[Inputs]:
    """The folders of each stage of the models that one name stands for: a run's are all."""
    path = Path(teacher)
    if (path / RECIPE).is_file() and not (path.parent.parent / JOBS).is_file():
        return [defaultdict(lambda: path)]  # one folder for all stages: exported, or taken along
    for run, model in ((path, None), (path.parent, path.name)):
        if (run / MANIFEST).is_file() and (found := _of_run(run, model)):
            return found
    if (path.parent.parent / JOBS).is_file() and (path / WEIGHTS).is_file():
        packed = path.parent.parent
        job = json.loads((packed / JOBS).read_text()).get(path.name)
        if job:
            return [{**{s: packed / name for s, name in job["inputs"].items()}, "train": path}]
    raise FileNotFoundError(
        f"train.teacher: expected a run, RUN/MODEL, PACKED/trained/MODEL or an exported model, "
        f"trained before it teaches; found none at {teacher}"
    )


def _of_run(run: Path, model: str | None) -> list[Inputs]:
    models = read_json(run / MANIFEST)["models"]
    return [
        {stage: run.parent / ARTEFACTS / artefact for stage, artefact in stages.items()}
        for name, stages in models.items()
        if "train" in stages and model in (None, name)
    ]


def files(recipe: Recipe, read: Read) -> list[Path]:
    """All that the teachers are read from."""
    found = [folders for teacher in recipe.teacher for folders in find(teacher)]
    return [path for folders in found for path in _files(folders, read)]


def _files(folders: Inputs, read: Read) -> list[Path]:
    names = [(stage, name) for stage, files in read.items() for name in files]
    names += [("train", name) for name in (RECIPE, WEIGHTS, MODEL)]
    paths = (folders[stage] / name for stage, name in names if not name.startswith("valid."))
    return list(dict.fromkeys(path for path in paths if path.is_file()))


def of_folder(recipe: Recipe, packed: Path, before: Collection[str]) -> list[str]:
    """The models packed before it into one folder, to be trained there first, if they teach it."""
    place = (packed / "trained").resolve()
    names = [Path(each).name for each in recipe.teacher if Path(each).parent.resolve() == place]
    if names and (len(names) < len(recipe.teacher) or not {*names} <= {*before}):
        raise ValueError(
            f"train.teacher: expected models of {packed} alone, that come before the one they "
            f"teach ({', '.join(before) or 'none'}); got {', '.join(recipe.teacher)}"
        )
    return names


def take_along(recipe: Recipe, read: Read, folder: Path) -> list[str]:
    """Copy each teacher into a folder of its own, named by what it holds; returns their names."""
    names = []
    for teacher in recipe.teacher:
        for folders in find(teacher):
            paths = _files(folders, read)
            key = fingerprint.of_value([fingerprint.of_file(path) for path in paths])
            names.append(f"teacher-{key[:16]}")
            (folder / names[-1]).mkdir(parents=True, exist_ok=True)
            for path in paths:
                shutil.copy(path, folder / names[-1] / path.name)
    return names


def distillation(
    recipe: Recipe, inputs: Inputs, model: "LanguageModel", is_training_text: bool
) -> "list[Distillation]":
    """The term that draws a model towards its teachers, if it has some."""
    if not recipe.teacher:
        return []
    from models.training.distillation import Distillation

    def load() -> "list[LanguageModel]":
        device = model.embedding.weight.device
        return [each.to(device) for each in _load(recipe.teacher, inputs)]

    return [Distillation(recipe, load, is_training_text)]


def _load(names: Iterable[str], inputs: Inputs) -> "list[LanguageModel]":
    from models.background.ngram import FOLDS
    from models.network.language_model import LanguageModel
    from pipeline.prepared.trained import load_trained

    teachers = []
    for name in names:
        for folders in find(name):
            _check_same_words(name, folders, inputs)
            is_exported = (folders["train"] / MODEL).is_file()
            teacher = load_trained(folders, MODEL if is_exported else WEIGHTS, FOLDS)
            if not isinstance(teacher, LanguageModel):
                raise ValueError(
                    f"train.teacher: expected networks over words, {name} has a "
                    f"{type(teacher).__name__}"
                )
            teachers.append(teacher)
    return teachers


def _check_same_words(name: str, folders: Inputs, inputs: Inputs) -> None:
    """Ids must mean the same words: Φ is the same, or at least the text in ids is."""
    for stage, file in (("featurise", "phi.npz"), ("encode", "train.ids.npy")):
        theirs, own = folders[stage] / file, inputs[stage] / file
        if theirs.is_file() and fingerprint.of_file(theirs) == fingerprint.of_file(own):
            return
    raise ValueError(
        f"train.teacher: expected a model over the same words, prepared from the same text; "
        f"{name} has another Φ and another training text"
    )
