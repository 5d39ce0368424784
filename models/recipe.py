"""How a network is built and trained: every choice, with its default and meaning."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Annotated, Any, Literal, Self

from accord.errors import AccordError
from accord.models.common.checks import expect, expect_at_least
from accord.models.common.registry import Choice, check_parts, parted, parts_chosen, put_on
from accord.models.parts import CONDITIONS, ENCODERS, INPUTS, OUTPUTS
from accord.models.training_parts import LOSSES, OPTIMISERS, PHASES, SCHEDULES, SOLVERS

COUNTS = ("layers", "embedding", "hidden", "fold", "batch", "bptt", "epochs")
POSITIVE = ("learning_rate", "max_grad_norm", "patience", "seconds")
NOT_NEGATIVE = (
    *("folds", "weight_decay", "min_delta", "seed", "checkpoint_seconds", "checkpoint_steps"),
)
# Outputs whose scores are sums over features
LOG_LINEAR = ("log-linear", "expert", "prefix-features", "sampled-expectations")
FITTED = ("temperature", "calibration")  # settings of an output: what a finished model is fitted by


@dataclass(frozen=True)
class Teachers:
    """Models that another is trained towards."""

    # Trained models whose mixture, tuned on validation, is taught: a run, a model of it
    # (RUN/MODEL), one trained elsewhere (PACKED/trained/MODEL), or an exported one. It is known by
    # its files.
    models: tuple[str, ...] = field(default=(), compare=False)
    weight: float = 0.5  # of the teachers beside that of the text: 1 is theirs alone
    temperature: float = 1.0  # at which both are compared; above 1 flattens them
    top: int = 200  # likeliest signatures that are kept of the teachers; the rest is one

    def __post_init__(self):
        models = [self.models] if isinstance(self.models, str) else self.models
        named = isinstance(models, list | tuple) and all(isinstance(each, str) for each in models)
        expect("teachers.models", named, "names of models", self.models)
        object.__setattr__(self, "models", tuple(models))  # which JSON gives as a list
        for name in ("weight", "temperature", "top"):
            value = getattr(self, name)
            is_number = type(value) in (int, float) and math.isfinite(value)
            expect(f"teachers.{name}", is_number, "a finite number", value)
        expect("teachers.weight", 0 <= self.weight <= 1, "from 0 to 1", self.weight)
        expect("teachers.temperature", self.temperature > 0, "more than 0", self.temperature)
        whole = type(self.top) is int and self.top >= 1
        expect("teachers.top", whole, "a whole number from 1", self.top)


@dataclass(frozen=True)
class Recipe:
    encoder: Annotated[Choice, ENCODERS] = "lstm"  # The encoder, which reads the words so far
    output: Annotated[Choice, OUTPUTS] = "log-linear"  # The output, which predicts the next word
    layers: int = 2  # of the encoder
    embedding: int = 128  # width of ψ, the words as the encoder reads them
    hidden: int = 256  # width of the encoder's layers; a tied encoder's last has the embedding's
    input: Annotated[Choice, INPUTS] = "features"  # What the encoder reads of a word
    tied: bool = True  # one matrix serves to read words and to predict them; input: features only

    # A finished model to fine-tune: french, or a folder that `accord export` wrote. Features,
    # lexicons and sizes are its own, and may be left out; words of the new text become known.
    start: str | None = field(default=None, compare=False)
    # Phases before the training, each with its settings: {pretraining: {use: initialise}}.
    phases: Annotated[dict, PHASES] = field(default_factory=dict)
    # How it is conditioned on the labels of a sentence (corpus.labels)
    condition: Annotated[Choice, CONDITIONS] = "none"
    # Models that this one is trained towards: {models: [RUN/MODEL], weight: 0.5, temperature: 1.0,
    # top: 200}; those are a run, a model of it, one trained elsewhere (PACKED/trained/MODEL) or an
    # exported one, weight is that of the teachers beside the text, temperature the one at which
    # both are compared, top how many signatures are kept of what they say.
    teachers: Teachers = Teachers()
    # Parts of the text, of which one is left out, for a teacher that has not read it; 0: none
    folds: int = 0
    fold: int = 1  # the part that is left out, from 1

    input_dropout: float = 0.3  # share of the embedding's units dropped
    hidden_dropout: float = 0.3  # share of the units dropped between layers
    output_dropout: float = 0.3  # share of the encoder's last units dropped
    feature_dropout: float = 0.0  # share of whole features dropped from the words read
    vector_dropout: float = 0.0  # share of the words read whose vectors are dropped
    weight_dropout: float = 0.0  # share of the connections from state to state dropped
    # Terms added to the loss in training, each with its weight: {fraternal: 0.5}; 0 adds nothing.
    losses: Annotated[dict, LOSSES] = field(default_factory=dict)

    solver: Annotated[Choice, SOLVERS] = "gradient"  # How the weights are found
    optimiser: Annotated[Choice, OPTIMISERS] = "adamw"  # The optimiser
    learning_rate: float = 2e-3  # of the optimiser, at first
    weight_decay: float = 1e-6  # pulls the weights towards zero
    schedule: Annotated[Choice, SCHEDULES] = "plateau"  # How the learning rate falls
    max_grad_norm: float = 1.0  # the norm to which gradients are clipped
    ema: float = 0.0  # decay of the moving average of the weights; 0 does not average
    batch: int = 32  # texts read side by side
    # stream: sentences in random order follow each other, and the state is carried on, window by
    # window; documents: the same with whole documents in random order; sentences: each is read by
    # itself, as when it is scored, those of like length together; backward: a stream of sentences
    # from their last words to their first, for a model that scores whole sentences alone.
    text: Literal["stream", "documents", "sentences", "backward"] = "stream"
    # How often an epoch reads each source of the corpus, where there are several: {orangesum: 2};
    # by default once. 0.5 reads half of its documents, drawn anew for each epoch.
    source_weights: dict = field(default_factory=dict)
    bptt: int = 35  # words of the stream between two steps
    vary_bptt: bool = True  # draws each window's length around `bptt`
    bagging: bool = False  # each seed has its own sentences: as many, drawn from all with return
    # Share of the windows of the stream that begin from the zero state, as every sentence does
    # that is scored, instead of where the window before stopped.
    zero_state: float = 0.0
    epochs: int = 40  # at most
    seconds: float | None = None  # at most, and what is left of the epoch they end in
    patience: int = 3  # epochs without gain in validation before the training stops
    min_delta: float = 0.0  # nats per word by which validation must fall for an epoch to count
    # Of the products while training; the recurrence stays in float32, and all does on a CPU that
    # has no bfloat16.
    precision: Literal["float32", "bfloat16"] = "float32"
    seed: int = 1  # of the first weights, the order of sentences and the dropout
    device: str = field(default="auto", compare=False)  # cpu, cuda, or auto for the best there is
    deterministic: bool = field(default=False, compare=False)  # the same each time on a GPU too
    checkpoint_seconds: float = field(default=60.0, compare=False)  # between two; 0: not by time
    checkpoint_steps: int = field(default=0, compare=False)  # between two; 0: not by steps

    def __post_init__(self):
        check_parts(self)
        object.__setattr__(self, "teachers", _checked_teachers(self.teachers))
        object.__setattr__(self, "phases", _checked_phases(self.phases))
        object.__setattr__(self, "losses", _checked_losses(self.losses))
        self._check_numbers()
        self._check_folds()
        self._check_output()
        self._check_phases()
        self._check_solver()
        self._check_start()

    @property
    def output_kind(self) -> str:
        return parted(self.output)[0]

    @property
    def is_log_linear(self) -> bool:
        return self.output_kind in LOG_LINEAR

    @property
    def fitted(self) -> set[str]:
        """The settings of the output that are fitted on validation text after training."""
        return {name for name in FITTED if parted(self.output)[1].get(name)}

    @property
    def pretraining(self) -> str:
        """The use of pretraining text: initialise, background, or none."""
        return self.phases.get("pretraining", {}).get("use", "none")

    def unfitted(self) -> Self:
        """The same recipe without fitting, for a model that is not finished."""
        kind, settings = parted(self.output)
        kept = {name: value for name, value in settings.items() if name not in FITTED}
        return replace(self, output={"kind": kind, **kept})

    def _check_numbers(self) -> None:
        """Each by itself."""
        for each in fields(self):
            value = getattr(self, each.name)
            is_finite = not isinstance(value, float) or math.isfinite(value)
            expect(each.name, is_finite, "a finite number", value)
        expect_at_least(1, self, *COUNTS)
        expect_at_least(0, self, *NOT_NEGATIVE)
        for name in POSITIVE:
            value = getattr(self, name)
            expect(name, value is None or value > 0, "more than 0", value)
        dropouts = [each.name for each in fields(self) if each.name.endswith("_dropout")]
        for name in (*dropouts, "ema"):
            expect(name, 0 <= getattr(self, name) < 1, "from 0 to under 1", getattr(self, name))
        expect("zero_state", 0 <= self.zero_state <= 1, "from 0 to 1", self.zero_state)
        _expect_weights("source_weights", self.source_weights)
        for name in ("zero_state", "source_weights"):
            in_windows = self.text != "sentences" or not getattr(self, name)
            expect(name, in_windows, "text: stream or documents", self.text)

    def _check_folds(self) -> None:
        """The part that is left out must exist, and a student reads all parts."""
        expect("folds", self.folds != 1, "0, or 2 or more", self.folds)
        most = max(1, self.folds)
        expect("fold", self.fold <= most, f"one of {most} parts (folds)", self.fold)
        reads_all = not self.teachers.models or not self.folds
        expect("folds", reads_all, "0 of a model that is taught: it reads all parts", self.folds)

    def _check_output(self) -> None:
        """Reject settings that only a log-linear output has."""
        kind = self.output_kind
        log_linear_only = {
            "losses.adaptor": "adaptor" in self.losses,
            "condition: crossed": parted(self.condition)[0] == "crossed",
            "condition: attended": parted(self.condition)[0] == "attended",
            "solver": parted(self.solver)[0] != "gradient",
        }
        for name, is_wanted in log_linear_only.items():
            expect(name, self.is_log_linear or not is_wanted, "a log-linear output", kind)
        # Signatures are taught and decoded, which words that an expert names are not in.
        by_signature = {
            "teachers": bool(self.teachers.models),
            "losses.past_decode": "past_decode" in self.losses,
        }
        for name, is_wanted in by_signature.items():
            expect(name, kind == "log-linear" or not is_wanted, "output: log-linear", kind)
        can_decode = self.tied or "past_decode" not in self.losses
        expect("losses.past_decode", can_decode, "tied: true: one matrix decodes too", "false")
        can_be_told = self.condition == "none" or kind != "background"
        expect("condition", can_be_told, "a network that reads labels", "output: background")

    def _check_phases(self) -> None:
        """Growth needs a hidden layer to widen, and no other phase."""
        if "growth" not in self.phases:
            return
        times = self.phases["growth"]["times"]
        alone = self.pretraining == "none"
        expect("phases.growth", alone, "no pretraining beside it", self.pretraining)
        expect("phases.growth", self.start is None, "no model to start from", self.start)
        is_hidden = self.layers > 1 or not self.tied
        expect("phases.growth", is_hidden, "a hidden layer to widen (layers, tied)", self.layers)
        expect("phases.growth", self.hidden % times == 0, "a divisor of hidden as times", times)

    def _check_solver(self) -> None:
        """A solver solves for the output, without phases or an initial checkpoint."""
        if parted(self.solver)[0] == "gradient":
            return
        expect("solver", not self.tied, "tied: false, as only the output is solved for", "true")
        alone = not self.phases and self.start is None
        expect("solver", alone, "neither phases nor start", "one of them")
        runs = "fraternal" in self.losses
        expect("losses.fraternal", not runs, "none of a solver without runs", runs)
        untold = parted(self.condition)[0] != "crossed"
        expect("condition", untold, "none or input, as a solver has no weights by label", "crossed")

    def _check_start(self) -> None:
        """Reject letters with an initial checkpoint: their numbers would differ."""
        by_letters = self.start is not None and INPUTS.part(parted(self.input)[0]).about
        expect("start", not by_letters, "a model that does not read letters", self.input)

    def identity(self) -> dict[str, Any]:
        """The keys that make it another model: all but those that say how to compute it."""
        found = {each.name: getattr(self, each.name) for each in fields(self) if each.compare}
        taught = asdict(self.teachers)
        del taught["models"]  # which are known by their files
        return found | {"teachers": taught}

    @classmethod
    def read(cls, written: Mapping[str, Any]) -> Self:
        """A recipe from JSON, with today's or earlier keys."""
        return cls(**cls.settled(cls.layered({}, written)))

    @classmethod
    def layered(cls, values: Mapping[str, Any], layer: Mapping[str, Any]) -> dict[str, Any]:
        """Values with those of a layer put on them.

        A part that is named again keeps the settings that the layer does not change; so does a
        mapping of several. The values of the layer outweigh an earlier key.
        """
        found, chosen = dict(values), parts_chosen(cls)
        for key, value in layer.items():
            said = value if isinstance(value, dict) else {}
            for old in [old for old, (place, name, _) in MOVED.items() if place == key]:
                if MOVED[old][1] in said:
                    found.pop(old, None)
            if key in chosen and not chosen[key].several:
                found[key] = put_on(found.get(key, _default(key)), value)
            elif key in MAPPINGS and isinstance(value, dict):
                found[key] = _merged(found.get(key, {}), value)
            else:
                found[key] = value
        return found

    @classmethod
    def settled(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """Values with earlier keys moved to their places today."""
        found = {key: value for key, value in values.items() if key not in MOVED}
        return _moved(found, {key: values[key] for key in MOVED if key in values})


MAPPINGS = ("phases", "losses", "teachers")

# Keys of before: the mapping or part that has it now, the name there, and values that a part which
# has no such setting may be given, as they never meant anything to it. An expert comes first: it is
# another output, and the keys after it are settings of that.
ANY = object()
MOVED: dict[str, tuple[str, str, Any]] = {
    "expert": ("output", "expert", "none"),
    **{name: ("output", name, False) for name in ("background_gate", "temperature", "calibration")},
    "pretraining": ("phases", "pretraining", "none"),
    "pretraining_epochs": ("phases", "pretraining", ANY),
    "growth": ("phases", "growth", 1),
    "growth_epochs": ("phases", "growth", ANY),
    "condition_dropout": ("condition", "dropout", ANY),
    "teacher": ("teachers", "models", ()),
    "distillation": ("teachers", "weight", ANY),
    **{f"distillation_{name}": ("teachers", name, ANY) for name in ("temperature", "top")},
    **{f"{name}_penalty": ("losses", name, ANY) for name in ("activation", "temporal", "adaptor")},
    **{name: ("losses", name, ANY) for name in ("past_decode", "fraternal")},
    "momentum": ("optimiser", "momentum", 0.0),
    "rmsprop_alpha": ("optimiser", "alpha", ANY),
    "lr_decay": ("schedule", "decay", ANY),
    "generations": ("solver", "generations", ANY),
}


def _moved(found: dict[str, Any], old: Mapping[str, Any]) -> dict[str, Any]:
    """Values of a recipe, with earlier keys moved to their places today."""
    for key, value in old.items():
        place, name, idle = MOVED[key]
        if key == "expert":
            _put_expert(found, value)
        elif place == "phases":
            _put_phase(found, name, key, value)
        elif place in MAPPINGS:
            found[place] = _merged(found.get(place, {}), {name: value})
        else:
            choice, registry = found.get(place, _default(place)), parts_chosen(Recipe)[place]
            kind = choice.get("kind") if isinstance(choice, dict) else choice
            if isinstance(kind, str) and kind in registry and name in registry.part(kind).settings:
                found[place] = put_on(choice, {name: value})
            elif idle is not ANY and value != idle:
                having = [each for each, part in registry.parts().items() if name in part.settings]
                raise AccordError(f"{key}: expected {place}: {' or '.join(having)}, got {kind}")
    return found


def _put_expert(found: dict[str, Any], expert: Any) -> None:
    """Earlier, an expert was a key beside the output."""
    if expert == "none":
        return
    kind, settings = parted(put_on("", found.get("output", "log-linear")))
    expect("expert", kind in LOG_LINEAR, "a log-linear output", kind)
    found["output"] = {**settings, "kind": "expert", "expert": expert}


def _put_phase(found: dict[str, Any], phase: str, key: str, value: Any) -> None:
    """Earlier, a phase was one key for its use and one for its epochs."""
    phases = dict(found.get("phases", {}))
    if key.endswith("_epochs"):
        if phase in phases:
            phases[phase] = {**phases[phase], "epochs": value}
    elif value == MOVED[key][2]:
        phases.pop(phase, None)
    else:
        said = {"use": value} if phase == "pretraining" else {"times": value}
        phases[phase] = {**phases.get(phase, {}), **said}
    found["phases"] = phases


def _merged(before: Any, value: Mapping) -> dict:
    before = asdict(before) if isinstance(before, Teachers) else before
    return {**before, **value} if isinstance(before, dict) else dict(value)


def _default(key: str) -> Any:
    return next(each.default for each in fields(Recipe) if each.name == key)


def _checked_teachers(teachers: Any) -> Teachers:
    if isinstance(teachers, Teachers):
        return teachers
    expect("teachers", isinstance(teachers, dict), "a mapping", teachers)
    known = [each.name for each in fields(Teachers)]
    for key in teachers:
        expect("teachers", key in known, f"one of {', '.join(known)}", key)
    return Teachers(**teachers)


def _checked_phases(phases: Any) -> dict[str, dict]:
    """Each with all of its settings, in the order in which they come."""
    expect("phases", isinstance(phases, dict), "names with settings", phases)
    found = {}
    for name, settings in phases.items():
        settings = {} if settings is None else settings
        is_mapping = isinstance(settings, dict) and "kind" not in settings
        expect(f"phases.{name}", is_mapping, "a mapping of settings", settings)
        try:
            found[name] = parted(PHASES.checked({"kind": name, **settings}))[1]
        except ValueError as error:
            raise AccordError(f"phases: {error}") from None
    return {name: found[name] for name in PHASES.in_order(found)}


def _checked_losses(losses: Any) -> dict[str, float]:
    """Those that weigh something, in the order of the table."""
    expect("losses", isinstance(losses, dict), "names with weights", losses)
    for name in losses:
        if name not in LOSSES:
            raise AccordError(f"losses: expected one of {', '.join(LOSSES)}, found {name!r:.100}")
    _expect_weights("losses", losses)
    return {name: float(losses[name]) for name in LOSSES.in_order(losses) if losses[name]}


def _expect_weights(where: str, weights: Mapping[str, Any]) -> None:
    for name, weight in weights.items():
        is_number = type(weight) in (int, float) and 0 <= weight < math.inf
        expect(f"{where}.{name}", is_number, "0 or more", weight)
