"""What a stage declares, the key of its artefacts, and the stage `train`.

Training also runs where only torch, numpy and safetensors are, so that `train` stands here.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from accord.models.common.files import CURVE, WEIGHTS
from accord.models.common.registry import outside_files
from accord.models.parts import PHASES
from accord.models.recipe import Recipe
from accord.pipeline.base.artefact import Artefact, Store, hash_of_file, name_of
from accord.pipeline.base.messages import short_names
from accord.pipeline.base.names import CONFIG
from accord.pipeline.data.encoded import READ_BY_TRAINING
from accord.pipeline.model.find import find_teachers
from accord.pipeline.model.folder import FEATURES
from accord.pipeline.model.words import WORDS


def _nothing(_: Any) -> tuple[()]:
    """Return no files and raise no error; a function with a name can be sent to workers."""
    return ()


@dataclass(frozen=True)
class Stage:
    """The declaration from which the runner, the command line and the documentation are made."""

    name: str
    help: str
    inputs: Mapping[str, tuple[str, ...]]  # stage above -> the files of its folder that are read
    outputs: Mapping[str, str]  # file in this stage's folder -> what it holds
    params: type  # a frozen dataclass: this stage's section of the configuration
    # Raised when the same parameters and inputs give other files, so that artefacts of earlier code
    # are made again.
    version: int
    files: Callable[[Any], Sequence[Path]] = _nothing  # data outside the run that is read
    # Rejects invalid combinations of sections before the first stage runs.
    check: Callable[[Mapping[str, Any]], None] = _nothing
    resumes: bool = False  # resumes from the folder of an interrupted run
    sharded: bool = False  # can be computed in shards, of which `compute` takes the folders
    starts: bool = False  # also reads the model that train.start names, the input START
    over_models: bool = False  # reads its inputs from every model of the run, not from one
    shows: tuple[str, ...] = ()  # earlier stages whose parameters it reports
    # Parts that are fixed before the test is scored -> names or patterns of their files. An audit
    # checks from which splits they were made.
    audited: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def module(self) -> ModuleType:
        """Import the module with `compute(params, inputs, out)`, which writes the files.

        If the stage can be computed in shards, it also has `pieces` and `shard`.
        """
        return import_module(f"accord.pipeline.stages.{self.name}")

    def files_read(self, label: str) -> tuple[str, ...]:
        """Return the files of an input that are read; a stage over models has a label for each."""
        return self.inputs.get(label.rsplit("/")[-1], ())


@dataclass(frozen=True)
class Job:
    """A stage of one model: its parameters, and the artefacts that it reads."""

    stage: Stage
    params: Any
    inputs: Mapping[str, Artefact]

    @cached_property
    def made_from(self) -> dict[str, Any]:
        """Return all that the artefact depends on."""
        compared = [field.name for field in fields(self.params) if field.compare]
        return {
            "stage": self.stage.name,
            "params": {name: _plain(getattr(self.params, name)) for name in compared} | self._shown,
            "inputs": {
                label: artefact.digests(self.stage.files_read(label))
                for label, artefact in self.inputs.items()
            },
            "data": _hashes(self.stage.files(self.params)),
            "version": self.stage.version,
        }

    @property
    def _shown(self) -> dict[str, Any]:
        """Return the parameters of earlier stages that are reported but change no file."""
        return {
            f"{label}.{key}": value
            for label, artefact in self.inputs.items()
            if label.rsplit("/")[-1] in self.stage.shows
            for key, value in artefact.meta["params"].items()
        }

    @property
    def name(self) -> str:
        """Return the name of the artefact."""
        return name_of(self.made_from)

    @property
    def folders(self) -> dict[str, Path]:
        return {label: artefact.folder for label, artefact in self.inputs.items()}

    def make(
        self, store: Store, compute: Callable[[Path], None], resumes: bool, anew: bool = False
    ) -> Artefact:
        """Compute the artefact, after a check of all files that are read."""
        for label, artefact in self.inputs.items():
            artefact.check(self.stage.files_read(label))
        return store.make(self.made_from, compute, resumes, anew)


def _plain(value: Any) -> Any:
    """Return the value as it would be after a round trip through JSON."""
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return list(value) if isinstance(value, tuple) else value


def _hashes(files: Iterable[Path]) -> dict[str, str]:
    """Hash each file, under a name that does not depend on where the data folder is."""
    paths = list(dict.fromkeys(path.absolute() for path in files))
    names = short_names([path.parts for path in paths], least=2)
    return {name: hash_of_file(path) for name, path in zip(names, paths, strict=True)}


def _files_of_training(recipe: Recipe) -> list[Path]:
    """List the files of parts of other packages, and of teachers."""
    teachers = [model for name in recipe.teachers.models for model in find_teachers(name)]
    return [*outside_files(recipe), *(model.folder / CONFIG for model in teachers)]


TRAIN = Stage(
    name="train",
    help="trains the network to its best validation epoch",
    inputs=READ_BY_TRAINING,
    outputs={
        WEIGHTS: "the best weights",
        CONFIG: "how the network is built and was trained, and the hash of every file of the model",
        WORDS: "the known words with their counts, signatures and b",
        FEATURES: "Φ and Ψ by signature, the names of features",
        "text-*.npz": "the text that b is counted on, if b is n-grams",
        "*": "analyses, spelling and others, as the stages above wrote them",
        CURVE: "losses and speed by epoch",
        **{f"{name}.csv": f"the same of the phase {name}" for name in PHASES},
        "steps.csv": "loss, gradient norm and learning rate by step, where there are steps",
    },
    params=Recipe,
    version=4,
    files=_files_of_training,
    resumes=True,
)
