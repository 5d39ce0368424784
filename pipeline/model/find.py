"""Find a trained model by the name that a user gives.

    french, or nothing          the bundled model
    runs/x                      all models of a run, or its last one
    runs/x/MODEL                one model of it
    exported                    a folder that `accord export` wrote
    file.arpa, file.arpa.gz     n-grams in ARPA's form
    hf:owner/name               an exported model on the Hugging Face hub

Needs the standard library only, as names are also resolved where models are trained, and by
commands that load no model.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from accord.errors import AccordError, NotFoundError
from accord.models.common.checks import nearest
from accord.pipeline.base.artefact import MANIFEST, META, Artefact, FinishedRun, Inputs, read_json
from accord.pipeline.base.names import CONFIG

Kind = Literal["bundled", "run", "exported", "hub", "arpa"]

BUNDLED = "french"  # the name of the model that comes with Accord
BUNDLED_FOLDER = Path(__file__).parent / BUNDLED
RUNS = "runs"  # the folder of runs
ARPA = (".arpa", ".arpa.gz")
HUB = "hf:"  # begins the id of a model on the hub
HUB_ID = re.compile(HUB + r"\w[\w.-]*/\w[\w.-]*")
EXPECTED = (
    f"expected {BUNDLED}, a run, RUN/MODEL, the folder of an exported model, {HUB}OWNER/NAME on "
    f"the Hugging Face hub, or a file {' or '.join(ARPA)}"
)


@dataclass(frozen=True)
class TrainedModel:
    """A model by its name, and its folder."""

    name: str
    kind: Kind
    place: Path  # the run, the model's own folder, or its file
    folder: Path | None = None  # of the model; none of n-grams in a file or before a download
    folders: Inputs = field(default_factory=dict)  # of a run: the folder of each stage
    recorded: str | None = None  # the protocol, as the run says

    @property
    def protocol(self) -> str | None:
        """Return the protocol; unknown for n-grams in a file."""
        if self.recorded is None and self.folder is not None:
            return read_json(self.folder / CONFIG)["params"]["analyse"]["protocol"]
        return self.recorded

    @property
    def scores(self) -> Path | None:
        """Return the folder of its figures and log-probabilities, if it was evaluated here."""
        return self.folders.get("evaluate")

    @property
    def is_exported(self) -> bool:
        """Return whether it has its scores and sources in its own folder."""
        return self.kind in ("bundled", "exported", "hub")

    def fetched(self) -> "TrainedModel":
        """Return the model with its folder, downloaded if it is not in the hub's own cache."""
        if self.kind != "hub":
            return self
        from huggingface_hub import snapshot_download  # here, as most models are in a folder

        try:
            folder = Path(snapshot_download(self.name.removeprefix(HUB)))
        except (OSError, ValueError) as error:
            why = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise NotFoundError(
                f"{self.name}: expected a model on the Hugging Face hub; the hub's library says: "
                f"{why}"
            ) from None
        return TrainedModel(self.name, "hub", folder, folder)

    def check(self, *stages: str) -> None:
        """Raise an error if the artefact of one of these stages is missing or damaged."""
        for stage in stages:
            if stage not in self.folders:
                raise _unfinished(self.place, f"{stage} of {self.name}")
            Artefact.read(self.folders[stage]).check()


def find(name: str | Path | None) -> list[TrainedModel]:
    """Return all trained models of a name: several for a run."""
    if name is None or (str(name) == BUNDLED and not Path(BUNDLED).exists()):
        if not BUNDLED_FOLDER.is_dir():
            raise NotFoundError(
                f"this copy of Accord comes without a model: expected one in {BUNDLED_FOLDER}. "
                f"Name one of yours by --run FOLDER, from Python load(FOLDER); `accord run` trains "
                f"one"
            )
        return [TrainedModel(BUNDLED, "bundled", BUNDLED_FOLDER, BUNDLED_FOLDER)]
    path = Path(name)
    if str(name).startswith(HUB):
        if not HUB_ID.fullmatch(str(name)):
            raise AccordError(f"{name}: expected {HUB}OWNER/NAME, a model on the Hugging Face hub")
        return [TrainedModel(str(name), "hub", path)]
    if str(name).endswith(ARPA):
        return [TrainedModel(path.name, "arpa", path)]
    if (path / CONFIG).is_file() and not (path / META).is_file():
        return [TrainedModel(path.name, "exported", path, path)]
    if is_run(path):
        return [*_of_run(path).values()]
    if is_run(path.parent):
        return [_of_run(path.parent, path.name)[path.name]]
    folders = path.parent.iterdir() if path.parent.is_dir() else ()
    names = sorted(p.name for p in folders if is_run(p) or (p / CONFIG).is_file())
    advice = nearest(path.name, names) if names else ""
    raise NotFoundError(f"{name} is no trained model: {EXPECTED}{advice}")


def one(name: str | Path | None = None, model: str | None = None) -> TrainedModel:
    """Return the one model of this name: the named model of a run, or its last one."""
    if name is None and model is not None:
        raise AccordError(f"--model {model} needs --run")
    models = find(name)
    if model is None:
        return models[-1]
    if not is_run(Path(name)):
        raise AccordError(f"{name} is one model: expected a run that has the model {model}")
    return _of_run(Path(name), model)[model]


def is_run(folder: Path) -> bool:
    return (folder / MANIFEST).is_file()


def _of_run(folder: Path, expected: str | None = None) -> dict[str, TrainedModel]:
    """Return the trained models of a run by name, with the expected one."""
    run = FinishedRun.read(folder)
    models = {}
    for name, made in run.artefacts.items():
        if "train" in made:
            protocol = run.params[name]["analyse"]["protocol"]
            models[name] = TrainedModel(name, "run", folder, made["train"], made, protocol)
    if not models:
        raise _unfinished(folder, "a trained model")
    if expected is not None and expected not in models:
        raise NotFoundError(
            f"{folder}: expected one of the models {', '.join(models)}, got {expected}"
            f"{nearest(expected, models)}"
        )
    return models


def _unfinished(folder: Path, expected: str) -> NotFoundError:
    return NotFoundError(
        f"{folder} is not finished: expected {expected}, found none. `accord run` continues it."
    )


def find_start(start: str) -> Artefact:
    """Return the exported model that `train.start` names, with the hashes of its files."""
    try:
        model = one(start)
    except NotFoundError as error:
        raise NotFoundError(f"train.start: {error}") from None
    if model.kind not in ("bundled", "exported"):  # a key must not need the network
        raise AccordError(
            f"train.start: expected {BUNDLED} or a folder that `accord export` wrote, found "
            f"{start!r}, of the kind {model.kind}"
        )
    return Artefact(model.folder, read_json(model.folder / CONFIG))


def find_teachers(teacher: str) -> list[TrainedModel]:
    """Return the models that one name of `train.teachers` stands for: of a run, all."""
    try:
        models, why = find(teacher), EXPECTED
    except (FileNotFoundError, ValueError) as error:
        models, why = [], str(error)
    if not models or models[0].kind in ("hub", "arpa"):
        raise NotFoundError(
            f"train.teachers: expected a network that is trained before it teaches; found none at "
            f"{teacher}: {why}"
        )
    return models
