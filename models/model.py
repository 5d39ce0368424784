"""ψ → encoder → output: loss, scores; built from a recipe."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from accord.errors import AccordError
from accord.models.background import Background
from accord.models.common.registry import Choice, parted
from accord.models.data import Sentences, State, begin_alike
from accord.models.embedding import (
    EndsOfWords,
    FeatureEmbedding,
    Psi,
    WordEmbedding,
    embedding,
    reads_letters,
)
from accord.models.encoder import Encoder, VariationalDropout
from accord.models.log_linear import LogLinear
from accord.models.parts import CONDITIONS, ENCODERS, OUTPUTS
from accord.models.phi import Features
from accord.models.recipe import Recipe
from accord.models.signatures import BeforeState, ScoredSignatures
from accord.models.softmax import Described, OutputContext, OutputLayer
from accord.models.states import (
    score_beside,
    states,
    with_others,
)

# Further inputs of words (T × B × k), by name.
Extra = Mapping[str, Tensor]
NOTHING: Extra = {}


def output_layer(
    recipe: Recipe,
    features: Features,
    background: Background,
    embedding: WordEmbedding,
    classes: np.ndarray | None,
    beside: int = 0,
    described: Callable[[], Described] | None = None,
) -> OutputLayer:
    """Log-linear, or another over the signatures; `classes` has the class of each word.

    `beside` numbers are appended to h; `described` returns the forms of words and the names of
    features.
    """
    shared = embedding if recipe.tied and isinstance(embedding, FeatureEmbedding) else None
    given = OutputContext(
        output=parted(recipe.output)[0],
        features=features,
        background=background,
        size=recipe.embedding if recipe.tied else recipe.hidden,
        embedding=shared,
        classes=classes,
        beside=beside,
        described=described,
    )
    return OUTPUTS.make(recipe.output, given)


def reads_ends(choice: Choice) -> bool:
    """Whether the chosen encoder needs one more input that marks the ends of words."""
    return ENCODERS.part(parted(choice)[0]).about.get("reads") == "ends of words"


def encoder(choice: Choice, *, weight_dropout: float = 0.0, **shape: float) -> Encoder:
    """The chosen encoder; weight dropout is for those with recurrent weights."""
    if weight_dropout:
        kind, _ = parted(choice)
        if "weight_dropout" not in inspect.signature(ENCODERS[kind]).parameters:
            raise AccordError(
                f"weight_dropout: a {kind} trains no recurrent weights to drop; expected 0"
            )
        shape["weight_dropout"] = weight_dropout
    return ENCODERS.make(choice, **shape)


class Unconditioned(nn.Module):
    """No outside condition C. `accord.models.conditions` has those that read labels."""

    given: Tensor | None  # the labels of sentences that bring none themselves

    def __init__(self, sizes: Sequence[int], size: int):
        super().__init__()
        self.register_buffer("given", None, persistent=False)

    @property
    def width(self) -> int:
        """Width of the condition that is appended to h."""
        return 0

    @property
    def kinds(self) -> Sequence[int]:
        """How many labels there are of each kind."""
        return ()

    def forward(self, words: Tensor, extra: Extra) -> Tensor:
        """The condition c(K) of the words that are read: here it is empty."""
        return words.new_empty(0)

    def conditioned(self, sentences: Sentences) -> Sentences:
        """Sentences with all that the condition reads of them."""
        return sentences

    def attach(self, embedding: WordEmbedding, width: int) -> None:
        """Take note of how words are read, and of the width of h."""

    def read(self, embedded: Tensor, c: Tensor) -> Tensor:
        """Words as the encoder reads them."""
        return embedded

    def beside(self, h: Tensor, c: Tensor) -> Tensor:
        """States as the output layer reads them."""
        return h


IN_BACKGROUND = ("output.background.", "output.calibration.")  # which that of others brings


class Seen(NamedTuple):
    """The results of a forward pass over a batch."""

    words: Tensor  # that were read (T × B)
    real: Tensor | None  # where the targets are among the T·B, if not everywhere
    h: Tensor  # the encoder's outputs, before dropout (T × B × H)
    dropped: Tensor  # the same after it
    states: Tensor  # before each target, as the output layer reads them (N × H)
    output: OutputLayer
    classes: ScoredSignatures | None  # scored in these states, where the output has classes
    nats: Tensor  # per target word, by the output layer alone
    after: State  # of the encoder, after the last word

    def scored(self) -> ScoredSignatures:
        """The scored classes; an error if the output has none."""
        if self.classes is None:
            raise AccordError(f"expected a log-linear output, got {type(self.output).__name__}")
        return self.classes


class LanguageModel(nn.Module):
    """h_t = f(ψ(x_t), h_{t−1}), then p(x_{t+1} | K) from h_t by the output layer.

    ψ is φ unless `psi` has other features of the same words, or their letters, or the recipe says
    that words are read one-hot. The baseline RNN is this model with one-hot features and a uniform
    background. `classes` of words are for the output that predicts these first; `ends` says which
    subwords are the last of a word, for an encoder that wants to know; `labels` how many labels of
    each kind a sentence may have, for a model that is conditioned on them; `described` returns
    forms and names of features, for an output that reads them.
    """

    def __init__(
        self,
        recipe: Recipe,
        features: Features,
        background: Background,
        classes: np.ndarray | None = None,
        psi: Psi | None = None,
        ends: np.ndarray | None = None,
        labels: Sequence[int] = (),
        described: Callable[[], Described] | None = None,
    ):
        super().__init__()
        self.recipe, self.psi, self.described = recipe, psi, described
        self.vocabulary_size = features.vocabulary_size
        self.ends = EndsOfWords(ends) if reads_ends(recipe.encoder) else None
        self.embedding = embedding(
            recipe.input,
            features,
            psi,
            recipe.embedding,
            tied=recipe.tied,
            dropout=recipe.feature_dropout,
            vector_dropout=recipe.vector_dropout,
        )
        self.encoder = encoder(
            recipe.encoder,
            inputs=recipe.embedding + (self.ends is not None),
            hidden=recipe.hidden,
            outputs=recipe.embedding if recipe.tied else recipe.hidden,
            layers=recipe.layers,
            dropout=recipe.hidden_dropout,
            weight_dropout=recipe.weight_dropout,
        )
        self.condition: Unconditioned = CONDITIONS.make(recipe.condition, labels, recipe.embedding)
        outputs = recipe.embedding if recipe.tied else recipe.hidden
        self.condition.attach(self.embedding, outputs)
        self.output = output_layer(
            recipe,
            features,
            background,
            self.embedding,
            classes,
            self.condition.width,
            described,
        )
        self.input_dropout = VariationalDropout(recipe.input_dropout)
        self.output_dropout = VariationalDropout(recipe.output_dropout)

    def forward(self, words: Tensor, state: State, extra: Extra = NOTHING) -> tuple[Tensor, State]:
        """The encoder's outputs (T × B × H) for words (T × B), and the state after them.

        `extra` is what is known of the words beside themselves; a part of it may stand beside h.
        """
        h, c, state = self._encoded(words, state, extra)
        return self.condition.beside(self.output_dropout(h), c), state

    def begin(self, targets: Tensor, context: Tensor) -> Callable[[], BeforeState] | None:
        """The parts of the output that need no states, for any number of forward passes."""
        return self.output.begin(targets, context) if isinstance(self.output, LogLinear) else None

    def loss(
        self,
        words: Tensor,
        targets: Tensor,
        state: State,
        context: Tensor,
        real: Tensor | None = None,
        extra: Extra = NOTHING,
        begun: Callable[[], BeforeState] | None = None,
    ) -> Seen:
        """Nats per target word, and the other results of a forward pass.

        `targets` (N) follow the words (T × B), or those alone whose positions among the T·B are in
        `real`; `context` (N × n) is what `contexts` has for the targets, `extra` what is known of
        the words beside themselves, `begun` what `begin` has of targets and contexts.
        """
        begun = begun or self.begin(targets, context)
        h, c, after = self._encoded(words, state, extra)
        dropped = self.output_dropout(h)
        before = self.condition.beside(dropped, c).flatten(0, 1)
        if real is not None:
            before = before.index_select(0, real)
        classes = None
        if begun is not None and isinstance(self.output, LogLinear):
            classes = self.output.classes(before, context, begun())
            nats = self.output.loss(before, targets, context, classes, begun().of_words)
        else:
            nats = self.output.loss(before, targets, context)
        return Seen(words, real, h, dropped, before, self.output, classes, nats, after)

    def _encoded(self, words: Tensor, state: State, extra: Extra) -> tuple[Tensor, Tensor, State]:
        """The encoder's outputs for words with their condition, and the condition."""
        read, c = self.embedding(words), self.condition(words, extra)
        read = self.input_dropout(self.condition.read(read, c))
        h, state = self.encoder(read if self.ends is None else self.ends(words, read), state)
        return h, c, state

    def conditioned(self, sentences: Sentences) -> Sentences:
        """Sentences with all that the condition reads of them."""
        return self.condition.conditioned(sentences)

    def as_read(self, sentences: Sentences) -> Sentences:
        """A model that was trained on single sentences reads each alone, unless it is asked to."""
        sentences = self.conditioned(sentences)
        in_context = sentences.carried or self.recipe.text == "documents"
        return sentences if in_context else sentences.alone()

    @torch.inference_mode()
    def score(self, sentences: Sentences) -> np.ndarray:
        """log p of every word of every sentence in order, END included, in nats."""
        return self.score_beside(sentences, ())[:, 0]

    @torch.inference_mode()
    def score_beside(self, sentences: Sentences, others: Sequence[int]) -> np.ndarray:
        """log p of every word, in the first column, and of the others in its place: (N × 1 + M)."""
        sentences = self.as_read(sentences)
        if not sentences.extra and sentences.documents is None and begin_alike(sentences):
            return score_beside(self, sentences, others)
        scores = np.zeros((len(sentences.ids), 1 + len(others)))
        for positions, words, h, context in states(self, sentences):
            log_p = self.output.log_prob_of(h, with_others(words, others), context)
            scores[positions] = log_p.double().cpu()
        return scores

    @torch.inference_mode()
    def log_distributions(self, sentences: Sentences) -> Tensor:
        """log p of every word of the vocabulary in every place: (N × V)."""
        parts = [
            (s.positions, self.output.log_prob(s.h, s.context)) for s in states(self, sentences)
        ]
        order = np.argsort(np.concatenate([positions for positions, _ in parts]))
        return torch.cat([log_p for _, log_p in parts])[torch.from_numpy(order)]

    def contexts(self, sentences: Sentences, training: bool = False) -> np.ndarray:
        """The output's context of each word of a text: (N × n)."""
        if isinstance(self.output, LogLinear):
            return self.output.background.contexts(sentences, training)
        return np.zeros((len(sentences.ids), 0), np.int64)

    @property
    def has_fixed_shapes(self) -> bool:
        """Whether a step computes with the same shapes and on the GPU alone, whatever the words."""
        if self.ends is not None or reads_letters(self.recipe.input):
            return False  # as many steps as words end, as many letters as there are
        if not self.encoder.has_fixed_shapes:
            return False
        return isinstance(self.output, LogLinear) and self.output.is_static

    def over(self, features: Features, background: Background) -> "LanguageModel":
        """The same weights for words in other signatures, ready to score."""
        ends = None if self.ends is None else self.ends.is_end.cpu().numpy()
        kinds = self.condition.kinds
        model = LanguageModel(
            self.recipe,
            features,
            background,
            psi=self.psi,
            ends=ends,
            labels=kinds,
            described=self.described,
        )
        model.condition.given = self.condition.given
        weights = self.state_dict()
        own = {n: weights[n] for n in weights if not n.startswith(IN_BACKGROUND)}
        model.load_state_dict(own, strict=False)
        return model.to(self.embedding.weight.device).eval()

    def parameter_count(self) -> int:
        return sum(parameter.numel() for parameter in self.parameters())
