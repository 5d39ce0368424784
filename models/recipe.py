"""How a network is built and trained: every choice, with its default and meaning."""

from dataclasses import asdict, dataclass, field, fields, replace
from typing import Annotated, Any, Literal, Self

from accord.models.common.checks import expect
from accord.models.common.registry import WEIGHT, Choice, Several, imported, parted, parts_chosen
from accord.models.common.schema import Range, Section
from accord.models.parts import (
    CONDITIONS,
    ENCODERS,
    INPUTS,
    LOSSES,
    OPTIMISERS,
    OUTPUTS,
    PHASES,
    SCHEDULES,
    SOLVERS,
)

FITTED = ("temperature", "calibration")  # settings of an output that a finished model is fitted by

Count = Annotated[int, Range(ge=1)]
Whole = Annotated[int, Range(ge=0)]
Share = Annotated[float, Range(ge=0, lt=1)]


@dataclass(frozen=True)
class Teachers(Section):
    """Models that another is trained towards."""

    models: Annotated[
        tuple[str, ...],
        "trained models whose mixture, tuned on validation, is taught: a run, a model of it "
        "(RUN/MODEL), or an exported one; they are known by their files",
    ] = field(default=(), compare=False)
    weight: Annotated[
        float, Range(ge=0, le=1), "of the teachers beside that of the text: 1 is theirs alone"
    ] = 0.5
    temperature: Annotated[
        float, Range(gt=0), "at which both are compared; above 1 flattens them"
    ] = 1.0
    top: Annotated[Count, "likeliest signatures that are kept of the teachers; the rest is one"] = (
        200
    )


@dataclass(frozen=True)
class Recipe(Section):
    """The section `train` of a configuration."""

    encoder: Annotated[Choice, ENCODERS, "The encoder, which reads the words so far"] = "lstm"
    output: Annotated[Choice, OUTPUTS, "The output, which predicts the next word"] = "log-linear"
    layers: Annotated[Count, "of the encoder"] = 2
    embedding: Annotated[Count, "width of ψ, the words as the encoder reads them"] = 128
    hidden: Annotated[
        Count, "width of the encoder's layers; a tied encoder's last has the embedding's"
    ] = 256
    input: Annotated[Choice, INPUTS, "What the encoder reads of a word"] = "features"
    tied: Annotated[
        bool, "one matrix serves to read words and to predict them; input: features only"
    ] = True

    start: Annotated[
        str | None,
        "A finished model to fine-tune: french, or a folder that `accord export` wrote. Features, "
        "lexicons and sizes are its own, and may be left out; words of the new text become known.",
    ] = field(default=None, compare=False)
    phases: Annotated[
        dict,
        Several(PHASES),
        "Phases before the training, each with its settings: {pretraining: {use: initialise}}",
    ] = field(default_factory=dict)
    condition: Annotated[
        Choice, CONDITIONS, "How it is conditioned on the labels of a sentence (corpus.labels)"
    ] = "none"
    teachers: Annotated[
        Teachers,
        "Models that this one is trained towards: {models: [RUN/MODEL], weight: 0.5, temperature: "
        "1.0, top: 200}; models are runs, models of them (RUN/MODEL) or exported ones, weight is "
        "that of the teachers beside the text, temperature the one at which both are compared, top "
        "how many of their likeliest signatures are kept.",
    ] = Teachers()
    folds: Annotated[
        Whole,
        "Parts of the text, of which one is left out, for a teacher that has not read it; 0: none",
    ] = 0
    fold: Annotated[Count, "the part that is left out, from 1"] = 1

    input_dropout: Annotated[Share, "share of the embedding's units dropped"] = 0.3
    hidden_dropout: Annotated[Share, "share of the units dropped between layers"] = 0.3
    output_dropout: Annotated[Share, "share of the encoder's last units dropped"] = 0.3
    feature_dropout: Annotated[Share, "share of whole features dropped from the words read"] = 0.0
    vector_dropout: Annotated[Share, "share of the words read whose vectors are dropped"] = 0.0
    weight_dropout: Annotated[Share, "share of the connections from state to state dropped"] = 0.0
    losses: Annotated[
        dict,
        Several(LOSSES, weighed=True),
        "Terms added to the loss in training, each with its weight: {fraternal: 0.5}",
    ] = field(default_factory=dict)

    solver: Annotated[Choice, SOLVERS, "How the weights are found"] = "gradient"
    optimiser: Annotated[Choice, OPTIMISERS, "The optimiser"] = "adamw"
    learning_rate: Annotated[float, Range(gt=0), "of the optimiser, at first"] = 2e-3
    weight_decay: Annotated[float, Range(ge=0), "pulls the weights towards zero"] = 1e-6
    schedule: Annotated[Choice, SCHEDULES, "How the learning rate falls"] = "plateau"
    max_grad_norm: Annotated[float, Range(gt=0), "the norm to which gradients are clipped"] = 1.0
    ema: Annotated[Share, "decay of the moving average of the weights; 0 does not average"] = 0.0
    batch: Annotated[Count, "texts read side by side"] = 32
    text: Annotated[
        Literal["stream", "documents", "sentences", "backward"],
        "stream: sentences in random order follow each other, and the state is carried on, window "
        "by window; documents: the same with whole documents in random order; sentences: each is "
        "read by itself, as when it is scored, those of like length together; backward: a stream "
        "of sentences from their last words to their first, for a model that scores whole "
        "sentences alone.",
    ] = "stream"
    source_weights: Annotated[
        dict[str, WEIGHT],
        "How often an epoch reads each source of the corpus, where there are several: {orangesum: "
        "2}; by default once. 0.5 reads half of its documents, drawn anew for each epoch.",
    ] = field(default_factory=dict)
    bptt: Annotated[Count, "words of the stream between two steps"] = 35
    vary_bptt: Annotated[bool, "draws each window's length around `bptt`"] = True
    bagging: Annotated[
        bool, "each seed has its own sentences: as many, drawn from all with return"
    ] = False
    zero_state: Annotated[
        float,
        Range(ge=0, le=1),
        "Share of the windows of the stream that begin from the zero state, as every sentence does "
        "that is scored, instead of where the window before stopped.",
    ] = 0.0
    epochs: Annotated[Count, "at most"] = 40
    seconds: Annotated[
        float | None, Range(gt=0), "at most, and what is left of the epoch they end in"
    ] = None
    patience: Annotated[Count, "epochs without gain in validation before the training stops"] = 3
    min_delta: Annotated[
        float, Range(ge=0), "nats per word by which validation must fall for an epoch to count"
    ] = 0.0
    precision: Annotated[
        Literal["float32", "bfloat16"],
        "Of the products while training; the recurrence stays in float32, and all does on a CPU "
        "that has no bfloat16.",
    ] = "float32"
    seed: Annotated[Whole, "of the first weights, the order of sentences and the dropout"] = 1
    device: Annotated[str, "cpu, cuda, or auto for the best there is"] = field(
        default="auto", compare=False
    )
    deterministic: Annotated[bool, "the same each time on a GPU too"] = field(
        default=False, compare=False
    )
    checkpoint_seconds: Annotated[float, Range(ge=0), "between two; 0: not by time"] = field(
        default=60.0, compare=False
    )
    checkpoint_steps: Annotated[Whole, "between two; 0: not by steps"] = field(
        default=0, compare=False
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_text()
        self._check_output()
        self._check_solver()
        by_letters = self.start is not None and INPUTS.about(self.input, "reads")
        expect("start", not by_letters, "a model that does not read letters", self.input)
        for name, chosen in parts_chosen(Recipe).items():
            for choice in chosen.choices(getattr(self, name)):
                if check := chosen.registry.about(choice, "check"):
                    imported(check)(self)

    @property
    def packs_documents(self) -> bool:
        """Return whether segments of documents are read in one column, each by itself."""
        reads_packed = ENCODERS.about(self.encoder, "reads") == "packed documents"
        return self.text == "documents" and reads_packed

    @property
    def output_kind(self) -> str:
        return parted(self.output)[0]

    @property
    def is_log_linear(self) -> bool:
        return bool(OUTPUTS.about(self.output, "log_linear"))

    @property
    def fitted(self) -> set[str]:
        """Return the settings of the output that are fitted on validation text after training."""
        return {name for name in FITTED if parted(self.output)[1].get(name)}

    @property
    def pretraining(self) -> str:
        """Return the use of pretraining text: initialise, background, or none."""
        return self.phases.get("pretraining", {}).get("use", "none")

    def unfitted(self) -> Self:
        """Return the same recipe without fitting, for a model that is not finished."""
        kind, settings = parted(self.output)
        kept = {name: value for name, value in settings.items() if name not in FITTED}
        return replace(self, output={"kind": kind, **kept})

    def _check_text(self) -> None:
        """Check how the text is divided: the omitted part exists, and a student reads all parts."""
        for name in ("zero_state", "source_weights"):
            in_windows = self.text != "sentences" or not getattr(self, name)
            expect(name, in_windows, "text: stream or documents", self.text)
        if self.packs_documents:  # segments are attended to as a whole
            reach = parted(ENCODERS.choose(self.encoder))[1]["reach"]
            expect(
                "bptt", self.bptt <= reach, f"at most the reach of the encoder, {reach}", self.bptt
            )
        expect("folds", self.folds != 1, "0, or 2 or more", self.folds)
        most = max(1, self.folds)
        expect("fold", self.fold <= most, f"one of {most} parts (folds)", self.fold)
        reads_all = not self.teachers.models or not self.folds
        expect("folds", reads_all, "0 of a model that is taught: it reads all parts", self.folds)

    def _check_output(self) -> None:
        """Reject settings that only a log-linear output has."""
        kind, condition = self.output_kind, parted(self.condition)[0]
        log_linear_only = {
            "losses.adaptor": "adaptor" in self.losses,
            f"condition: {condition}": condition in ("crossed", "attended"),
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
        has_network = condition == "none" or kind != "background"
        expect("condition", has_network, "a network that reads labels", "output: background")

    def _check_solver(self) -> None:
        """Check that a solver solves for the output, without phases or an initial checkpoint."""
        if parted(self.solver)[0] == "gradient":
            return
        expect("solver", not self.tied, "tied: false, as only the output is solved for", "true")
        alone = not self.phases and self.start is None
        expect("solver", alone, "neither phases nor start", "one of them")
        runs = "fraternal" in self.losses
        expect("losses.fraternal", not runs, "none of a solver without runs", runs)
        is_plain = parted(self.condition)[0] != "crossed"
        expect(
            "condition", is_plain, "none or input, as a solver has no weights by label", "crossed"
        )

    def identity(self) -> dict[str, Any]:
        """Return the keys that make it another model: all but those that say how to compute it."""
        keys = {key.name: getattr(self, key.name) for key in fields(self) if key.compare}
        taught = asdict(self.teachers)
        del taught["models"]  # which are known by their files
        return keys | {"teachers": taught}
