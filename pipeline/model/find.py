"""Find a trained model by the name that a user gives.

    french, or nothing          the bundled model
    runs/x                      all models of a run, or its last one; never an id of the hub
    runs/x/MODEL                one model of it
    exported                    a folder that `accord export` wrote
    file.arpa, file.arpa.gz     n-grams in ARPA's form
    owner/name                  an exported model on the Hugging Face hub

Needs the standard library only, as names are also resolved where models are trained, and by
commands that load no model.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from accord.errors import AccordError, NotFoundError
from accord.models.common.checks import nearest
from accord.models.common.files import WEIGHTS
from accord.pipeline.base.artefact import (
    MANIFEST,
    META,
    Artefact,
    FinishedRun,
    Inputs,
    read_json,
)
from accord.pipeline.base.names import CONFIG, MODEL

Kind = Literal["bundled", "run", "exported", "hub", "arpa"]

BUNDLED = "french"  # the name of the model that comes with Accord
BUNDLED_FOLDER = Path(__file__).parent / BUNDLED
RUNS = "runs"  # the folder of runs, which no owner on the hub is called
ARPA = (".arpa", ".arpa.gz")
HUB_ID = re.compile(r"\w[\w.-]*/\w[\w.-]*")
EXPECTED = (
    f"expected {BUNDLED}, a run, RUN/MODEL, the folder of an exported model, its id on the "
    f"Hugging Face hub, or a file {' or '.join(ARPA)}"
)


@dataclass(frozen=True)
class TrainedModel:
    """A model, and the folders of its artefacts."""

    name: str
    kind: Kind
    place: Path  # the run, the model's own folder, or its file
    folders: Inputs  # of each stage; of a model in one folder, that one for all; on the hub, none
    weights: Path | None  # the file; a small form has them in several
    scores: Path | None = None  # the folder of its figures and log-probabilities, if it has any
    recorded: str | None = None  # the protocol, where it is not in config.json

    @property
    def protocol(self) -> str | None:
        """The protocol; unknown for n-grams in a file."""
        if self.recorded is None and (self.place / CONFIG).is_file():
            return read_json(self.place / CONFIG)["params"]["analyse"]["protocol"]
        return self.recorded

    @property
    def is_in_one_folder(self) -> bool:
        """Whether it was exported, wherever it was found."""
        return self.kind in ("bundled", "exported", "hub")

    def here(self) -> "TrainedModel":
        """The model itself; one of the hub is downloaded, if it is not in the hub's own cache."""
        if self.kind != "hub" or self.place.is_dir():
            return self
        return _in_one_folder(self.name, "hub", _download(self.name))

    def check(self, *stages: str) -> None:
        """Raise an error if the artefact of one of these stages is missing or damaged."""
        for stage in stages:
            if stage not in self.folders:
                raise NotFoundError(
                    f"{self.place} is not finished: expected {stage} of {self.name}, found none. "
                    f"`accord run` continues it."
                )
            if self.kind == "run" or (self.folders[stage] / META).is_file():
                Artefact.read(self.folders[stage]).check()


def find(name: str | Path | None) -> list[TrainedModel]:
    """Return all trained models that a name stands for: of a run, each one."""
    if is_bundled(name):
        return [_in_one_folder(BUNDLED, "bundled", bundled())]
    path = Path(name)
    if str(name).endswith(ARPA):
        return [TrainedModel(path.name, "arpa", path, {}, path)]
    if (path / CONFIG).is_file():
        return [_in_one_folder(path.name, "exported", path)]
    if holds_models(path):
        return [*_expect_some(_models(path), path).values()]
    if holds_models(path.parent):
        return [_chosen(_models(path.parent), path.name, path.parent)]
    if is_hub_id(str(name)):
        return [TrainedModel(str(name), "hub", path, {}, None)]
    raise NotFoundError(f"{name} is no trained model: {EXPECTED}{_nearest(path)}")


def one(name: str | Path | None = None, model: str | None = None) -> TrainedModel:
    """The one model of this name: the named model of a run, or its last one."""
    if name is None and model is not None:
        raise AccordError(f"expected the run that has the model {model}, found none")
    found = find(name)
    if model is None:
        return found[-1]
    if not holds_models(Path(name)):
        raise AccordError(f"{name} is one model: expected a run that has the model {model}")
    return _chosen({each.name: each for each in found}, model, Path(name))


def _chosen(models: Mapping[str, TrainedModel], name: str, folder: Path) -> TrainedModel:
    if name not in _expect_some(models, folder):
        raise AccordError(
            f"{folder}: expected one of the models {', '.join(models)}, got {name}"
            f"{nearest(name, models)}"
        )
    return models[name]


def _expect_some(models: Mapping[str, TrainedModel], folder: Path) -> Mapping[str, TrainedModel]:
    if not models:
        raise unfinished(folder, "a trained model")
    return models


def unfinished(folder: Path, expected: str) -> FileNotFoundError:
    """Return the error of a run that has not come so far."""
    return NotFoundError(
        f"{folder} is not finished: expected {expected}, found none. `accord run` continues it."
    )


def is_bundled(name: str | Path | None) -> bool:
    """Whether the bundled model is meant: by its name, or where nothing is named."""
    return name is None or (str(name) == BUNDLED and not Path(BUNDLED).exists())


def bundled() -> Path:
    """The folder of the model that comes with Accord, if this copy of it has one."""
    if not BUNDLED_FOLDER.is_dir():
        raise NotFoundError(
            f"this copy of Accord comes without a model: expected one in {BUNDLED_FOLDER}. Name "
            f"one of yours by --run FOLDER, from Python load(FOLDER); `accord run` trains one"
        )
    return BUNDLED_FOLDER


def holds_models(folder: Path) -> bool:
    """Return whether a folder is a run."""
    return (folder / MANIFEST).is_file()


def is_hub_id(name: str) -> bool:
    """Whether a name may be one of the hub's: no folder here is called as the owner."""
    owner = Path(name).parent
    return bool(HUB_ID.fullmatch(name)) and owner.name != RUNS and not owner.exists()


def _download(id: str) -> Path:
    """The folder into which the hub's own library brings a model, if it is not there already."""
    from huggingface_hub import snapshot_download  # here, as most models are in a folder

    try:
        return Path(snapshot_download(id))
    except (OSError, ValueError) as error:
        why = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise NotFoundError(
            f"{id}: expected the folder of a model, or its id on the Hugging Face hub; there is no "
            f"such folder, and the hub's library says: {why}"
        ) from None


def _in_one_folder(name: str, kind: Kind, folder: Path) -> TrainedModel:
    files = [folder / file for file in (WEIGHTS, MODEL) if (folder / file).is_file()]
    return TrainedModel(name, kind, folder, defaultdict(lambda: folder), *(files or [None]))


def _models(folder: Path) -> dict[str, TrainedModel]:
    """Return the trained models of a run, by name."""
    return {model.name: model for model in _of_run(folder)}


def _of_run(folder: Path) -> Iterator[TrainedModel]:
    run = FinishedRun.read(folder)
    for name, made in run.artefacts.items():
        if "train" in made:
            protocol = run.params[name]["analyse"]["protocol"]
            weights, scores = made["train"] / WEIGHTS, made.get("evaluate")
            yield TrainedModel(name, "run", folder, made, weights, scores, protocol)


def _nearest(path: Path) -> str:
    """The end of an error: names beside a missing path that could be meant."""
    beside = path.parent.iterdir() if path.parent.is_dir() else ()
    names = [each.name for each in beside if holds_models(each) or (each / CONFIG).is_file()]
    return nearest(path.name, sorted(names)) if names else ""
