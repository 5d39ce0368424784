"""How a network is built and trained: every choice, with its default and meaning."""

import math
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, Literal

from models.common.checks import expect, expect_at_least
from models.common.registry import Choice, check_parts
from models.parts import ENCODERS, EXPERTS, OUTPUTS

COUNTS = (
    *("layers", "embedding", "hidden", "pretraining_epochs", "growth", "growth_epochs"),
    *("distillation_top", "fold", "generations", "batch", "bptt", "epochs"),
)
POSITIVE = (
    *("distillation_temperature", "learning_rate", "lr_decay", "max_grad_norm"),
    *("patience", "seconds"),
)
NOT_NEGATIVE = (
    *("activation_penalty", "temporal_penalty", "adaptor_penalty", "past_decode", "fraternal"),
    *("folds", "weight_decay", "min_delta", "seed", "checkpoint_seconds", "checkpoint_steps"),
)
UNFITTED = {"temperature": False, "calibration": False}  # of what is not the finished model


@dataclass(frozen=True)
class Recipe:
    encoder: Annotated[Choice, ENCODERS] = "lstm"  # What reads the words so far
    output: Annotated[Choice, OUTPUTS] = "log-linear"  # What predicts the next one
    expert: Annotated[Choice, EXPERTS] = "none"  # A feature of words that the context names
    layers: int = 2  # of the encoder
    embedding: int = 128  # width of ψ, the words as the encoder reads them
    hidden: int = 256  # width of the encoder's layers; a tied encoder's last has the embedding's
    # What the encoder reads of a word: the features φ, only which word it is (one-hot), or its
    # letters (see featurise.letters), by a convolutional net with a highway or by two LSTMs.
    input: Literal["features", "words", "letters-cnn", "letters-lstm"] = "features"
    tied: bool = True  # one matrix serves to read words and to predict them; input: features only

    # A finished model to go on from: french, or a folder that `accord export` wrote. Features,
    # lexicons and sizes are its own, and may be left out; words of the new text become known.
    start: str | None = field(default=None, compare=False)
    # none: the text of corpus.pretraining is not read; initialise: it is trained on first, and its
    # weights are the start; background: it trains a model that is the background of this one.
    pretraining: Literal["none", "initialise", "background"] = "none"
    pretraining_epochs: int = 4  # over that text, at most
    growth: int = 1  # times narrower the hidden layers are at first; they are widened later
    growth_epochs: int = 4  # as long as they are narrow, at most
    temperature: bool = False  # of p, fitted on validation after the training; log-linear only
    # How likely words of each frequency are, and how far those of a signature share its mass by the
    # context, fitted likewise.
    calibration: bool = False
    # What the network is told of a sentence's labels (corpus.labels): none; input: a vector that is
    # added to what is read of each word; crossed: that, and weights of features for each label.
    condition: Literal["none", "input", "crossed"] = "none"
    background_gate: bool = False  # the network weighs what a background says of the context

    # Trained models whose mixture, tuned on validation, this one is trained towards: a run, a model
    # of it (RUN/MODEL), one trained elsewhere (PACKED/trained/MODEL), or an exported one. It is
    # known by its files.
    teacher: tuple[str, ...] = field(default=(), compare=False)
    distillation: float = 0.5  # weight of the teachers beside that of the text: 1 is theirs alone
    distillation_temperature: float = 1.0  # at which both are compared; above 1 flattens them
    distillation_top: int = 200  # likeliest signatures kept of what teachers say; the rest is one
    # Parts of the training text, of which one is left out: who has not read it can teach it; 0
    # leaves none out.
    folds: int = 0
    fold: int = 1  # the part that is left out, from 1

    input_dropout: float = 0.3  # share of the embedding's units dropped
    hidden_dropout: float = 0.3  # share of the units dropped between layers
    output_dropout: float = 0.3  # share of the encoder's last units dropped
    feature_dropout: float = 0.0  # share of whole features dropped from the words read
    vector_dropout: float = 0.0  # share of the words read whose vectors are dropped
    weight_dropout: float = 0.0  # share of the connections from state to state dropped
    condition_dropout: float = 0.2  # share of sentences whose label is kept from the network

    activation_penalty: float = 0.0  # on the encoder's outputs: keeps them small
    temporal_penalty: float = 0.0  # on their changes from word to word: keeps them slow
    adaptor_penalty: float = 0.0  # on the squared norm of the weights a_t: pulls p towards b
    # Weight of the loss of decoding, from what is predicted, the word that was read before it;
    # 0 decodes nothing. For a log-linear output that is tied.
    past_decode: float = 0.0
    # Weight of the difference between the states of two runs over each window that drop other
    # units (fraternal dropout), whose mean loss is learned from; 0 runs once.
    fraternal: float = 0.0

    # gradient: the optimiser trains all weights; least-squares: those of the output are solved for,
    # and the others stay as they were drawn; evolution: the same, with an encoder that is bred.
    solver: Literal["gradient", "least-squares", "evolution"] = "gradient"
    generations: int = 20  # of an evolution
    optimiser: Literal["adamw", "rmsprop", "sgd", "muon"] = "adamw"  # takes the steps
    momentum: float = 0.0  # of sgd: how much of the last step is taken again
    rmsprop_alpha: float = 0.99  # how much of the mean square rmsprop keeps; Keras keeps 0.9
    learning_rate: float = 2e-3  # of the optimiser, at first
    weight_decay: float = 1e-6  # pulls the weights towards zero
    # plateau: the learning rate is divided by lr_decay after an epoch without gain in validation;
    # linear: it falls from word to word, to nothing at the end of the last of `epochs`;
    # inverse: it is divided by one more than the epochs that are done, in parts too: as 1/t.
    schedule: Literal["plateau", "linear", "inverse"] = "plateau"
    lr_decay: float = 3.0  # of the schedule plateau
    max_grad_norm: float = 1.0  # the norm to which gradients are clipped
    ema: float = 0.0  # decay of the moving average of the weights; 0 does not average
    batch: int = 32  # texts read side by side
    # stream: sentences follow each other and the state is carried on, window by window;
    # sentences: each is read by itself, as when it is scored, those of like length together.
    text: Literal["stream", "sentences"] = "stream"
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
        object.__setattr__(self, "teacher", tuple(self.teacher))  # which JSON gives as a list
        check_parts(self)
        self._check_numbers()
        self._check_training()
        self._check_folds()
        self._check_output()
        self._check_growth()
        self._check_solver()
        self._check_calibration()
        self._check_teacher()
        self._check_past_decode()
        self._check_start()

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
        for name in (*dropouts, "ema", "rmsprop_alpha", "momentum"):
            expect(name, 0 <= getattr(self, name) < 1, "from 0 to under 1", getattr(self, name))
        for name in ("distillation", "zero_state"):
            expect(name, 0 <= getattr(self, name) <= 1, "from 0 to 1", getattr(self, name))

    def _check_training(self) -> None:
        """What would change nothing is not asked for."""
        with_momentum = self.optimiser == "sgd" or not self.momentum
        expect("momentum", with_momentum, "optimiser: sgd, or 0", self.optimiser)
        in_windows = self.text == "stream" or not self.zero_state
        expect("zero_state", in_windows, "text: stream, as sentences begin from it", self.text)

    def _check_folds(self) -> None:
        """The part that is left out is one of them."""
        expect("folds", self.folds != 1, "0, or 2 or more", self.folds)
        most = max(1, self.folds)
        expect("fold", self.fold <= most, f"one of {most} parts (folds)", self.fold)

    def _check_output(self) -> None:
        """What other outputs than the log-linear one cannot do is not asked of them."""
        log_linear_only = {
            "temperature": self.temperature,
            "calibration": self.calibration,
            "background_gate": self.background_gate,
            "teacher": self.teacher,
            "expert": self.expert != "none",
            "adaptor_penalty": self.adaptor_penalty,
            "past_decode": self.past_decode,
            "condition: crossed": self.condition == "crossed",
            "solver": self.solver != "gradient",
        }
        is_log_linear = self.output == "log-linear"
        for name, is_wanted in log_linear_only.items():
            expect(name, is_log_linear or not is_wanted, "a log-linear output", self.output)
        can_be_told = self.condition == "none" or self.output != "background"
        expect("condition", can_be_told, "a network that can be told it", "output: background")

    def _check_growth(self) -> None:
        """There is a hidden layer to widen, and nothing else that is trained first."""
        if self.growth == 1:
            return
        expect("growth", self.pretraining == "none", "pretraining: none", self.pretraining)
        expect("growth", self.start is None, "no model to start from", self.start)
        is_hidden = self.layers > 1 or not self.tied
        expect("growth", is_hidden, "a hidden layer to widen (layers, tied)", self.layers)
        expect("growth", self.hidden % self.growth == 0, "a divisor of hidden", self.growth)

    def _check_solver(self) -> None:
        """What is solved for is the output's alone, and is not trained before or beside it."""
        if self.solver == "gradient":
            return
        expect("solver", not self.tied, "tied: false, as only the output is solved for", "true")
        alone = self.pretraining == "none" and self.growth == 1 and self.start is None
        expect("solver", alone, "neither pretraining, growth nor start", "one of them")
        expect("fraternal", not self.fraternal, "0 of a solver without runs", self.fraternal)
        untold = self.condition != "crossed"
        expect("condition", untold, "none or input, as a solver has no weights by label", "crossed")

    def _check_calibration(self) -> None:
        """Words share in signatures, in which an expert's are not."""
        has_none = self.expert == "none" or not self.calibration
        expect("calibration", has_none, "no expert, whose words share nothing", self.expert)

    def _check_teacher(self) -> None:
        """Who is taught is taught every word of all the text."""
        if not self.teacher:
            return
        has_none = self.expert == "none"
        expect("teacher", has_none, "no expert, whose words have no teacher", self.expert)
        reads_all = not self.folds
        expect("folds", reads_all, "0 of a model that is taught: it reads all parts", self.folds)

    def _check_past_decode(self) -> None:
        """One matrix reads, predicts and decodes, all of them signatures."""
        if not self.past_decode:
            return
        expect("past_decode", self.tied, "tied: true, as one matrix decodes it too", "false")
        has_none = self.expert == "none"
        expect("past_decode", has_none, "no expert, as signatures are decoded", self.expert)

    def _check_start(self) -> None:
        """The letters of a start would have other numbers than those of another text."""
        by_letters = self.start is not None and self.input.startswith("letters")
        expect("start", not by_letters, "a model that does not read letters", self.input)

    def identity(self) -> dict[str, Any]:
        """What makes it another model: all but how to compute it."""
        return {each.name: getattr(self, each.name) for each in fields(self) if each.compare}
