"""ψ → encoder → output, built from a recipe; its loss is what training needs.

Everything that queries a trained model goes through `accord.models.inference`.
"""

import inspect
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from accord.errors import AccordError
from accord.models.background import Background
from accord.models.common.registry import Choice, parted
from accord.models.conditions import NOTHING, Extra, Unconditioned
from accord.models.data import Packed, Sentences, State
from accord.models.encoder import (
    Encoder,
    FeatureEmbedding,
    Psi,
    VariationalDropout,
    embedding,
    reads_letters,
)
from accord.models.log_linear import (
    Described,
    LogLinear,
    OutputContext,
    OutputLayer,
    ScoredSignatures,
    SignatureTerms,
)
from accord.models.parts import CONDITIONS, ENCODERS, OUTPUTS
from accord.models.phi import Features
from accord.models.recipe import Recipe


class Seen(NamedTuple):
    """The results of a forward pass over a batch."""

    words: Tensor  # that were read (T × B)
    real: Tensor | None  # positions of the targets among the T·B, if not everywhere
    h: Tensor  # the encoder's outputs, before dropout (T × B × H)
    dropped: Tensor  # the same after it
    states: Tensor  # before each target, as the output layer reads them (N × H)
    output: OutputLayer
    classes: ScoredSignatures | None  # scored in these states, if the output is log-linear
    nats: Tensor  # per target word, by the output layer alone
    state: State  # of the encoder, after the last word

    def scored(self) -> ScoredSignatures:
        """Return the scored signatures; an error if the output has none."""
        if self.classes is None:
            raise AccordError(f"expected a log-linear output, got {type(self.output).__name__}")
        return self.classes


class LanguageModel(nn.Module):
    """h_t = f(ψ(x_t), h_{t−1}), then p(x_{t+1} | K) from h_t by the output layer.

    ψ is φ unless `psi` has other features of the same words, or their letters, or the recipe says
    that words are read one-hot. The baseline RNN is this model with one-hot features and a uniform
    background. `classes` of words are for outputs that predict these first; `ends` marks the
    subwords that end a word, for encoders with a clock of words; `labels` has the number of labels
    of each kind, for a model that is conditioned on them; `described` returns forms and names of
    features, for outputs that read them.
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
        self.recipe, self.psi, self.vocabulary_size = recipe, psi, features.vocabulary_size
        reads_ends = ENCODERS.about(recipe.encoder, "reads") == "ends of words"
        self.ends = EndsOfWords(ends) if reads_ends else None
        self.embedding = embedding(
            recipe.input,
            features,
            psi,
            recipe.embedding,
            tied=recipe.tied,
            dropout=recipe.feature_dropout,
            vector_dropout=recipe.vector_dropout,
        )
        width = recipe.embedding if recipe.tied else recipe.hidden  # of h
        self.encoder = encoder(
            recipe.encoder,
            inputs=recipe.embedding + (self.ends is not None),
            hidden=recipe.hidden,
            outputs=width,
            layers=recipe.layers,
            dropout=recipe.hidden_dropout,
            weight_dropout=recipe.weight_dropout,
        )
        self.condition: Unconditioned = CONDITIONS.make(recipe.condition, labels, recipe.embedding)
        self.condition.attach(self.embedding, width)
        read = self.embedding
        shared = read if recipe.tied and isinstance(read, FeatureEmbedding) else None
        context = OutputContext(
            name=parted(recipe.output)[0],
            features=features,
            background=background,
            size=width,
            embedding=shared,
            classes=classes,
            extra=self.condition.width,
            described=described,
        )
        self.output: OutputLayer = OUTPUTS.make(recipe.output, context)
        self.input_dropout = VariationalDropout(recipe.input_dropout)
        self.output_dropout = VariationalDropout(recipe.output_dropout)

    def forward(self, words: Tensor, state: State, extra: Extra = NOTHING) -> tuple[Tensor, State]:
        """Return the output's states (T × B × H) for words (T × B), and the encoder's state.

        `extra` has further inputs of the words, such as labels.
        """
        h, c, state = self._encoded(words, state, extra)
        return self.condition.outputs(self.output_dropout(h), c), state

    def begin(self, targets: Tensor, context: Tensor) -> Callable[[], SignatureTerms] | None:
        """Start computing the output's terms that need no states, for several forward passes."""
        return self.output.begin(targets, context) if isinstance(self.output, LogLinear) else None

    def loss(
        self,
        words: Tensor,
        targets: Tensor,
        state: State | Packed,
        context: Tensor,
        real: Tensor | None = None,
        extra: Extra = NOTHING,
        begun: Callable[[], SignatureTerms] | None = None,
    ) -> Seen:
        """Return the nats per target word, and the other results of a forward pass.

        `targets` (N) follow the words (T × B), or those at the positions `real` among the T·B. A
        `Packed` state has the texts of a column, each read from the zero state. `context` (N × n)
        is the result of `contexts` for the targets, `extra` has further inputs of the words,
        `begun` is the result of `begin`.
        """
        begun = begun or self.begin(targets, context)
        h, c, final = self._encoded(words, state, extra)
        dropped = self.output_dropout(h)
        states = self.condition.outputs(dropped, c).flatten(0, 1)
        if real is not None:
            states = states.index_select(0, real)
        scored = None
        if begun is not None and isinstance(self.output, LogLinear):
            terms = begun()
            if compiled := self.output.compiled:
                nats = self.output.compiled_loss(states, targets, terms, compiled)
                return Seen(words, real, h, dropped, states, self.output, None, nats, final)
            scored = self.output.score_signatures(states, context, terms)
            nats = self.output.loss(states, targets, context, scored, terms.log_mass_of_words)
        else:
            nats = self.output.loss(states, targets, context)
        return Seen(words, real, h, dropped, states, self.output, scored, nats, final)

    def _encoded(
        self, words: Tensor, state: State | Packed, extra: Extra
    ) -> tuple[Tensor, Tensor, State]:
        """Return the encoder's outputs for words, their condition, and the state."""
        read, c = self.embedding(words), self.condition(words, extra)
        read = self.input_dropout(self.condition.inputs(read, c))
        read = read if self.ends is None else self.ends(words, read)
        if isinstance(state, Packed):
            return self.encoder.read_packed(read, state), c, ()
        h, last = self.encoder(read, state)
        return h, c, last

    def conditioned(self, sentences: Sentences) -> Sentences:
        """Return sentences with everything that the condition reads of them."""
        return self.condition.conditioned(sentences)

    def as_read(self, sentences: Sentences) -> Sentences:
        """Return sentences as the model reads them: each alone if it was trained on single ones."""
        sentences = self.conditioned(sentences)
        in_context = sentences.carried or self.recipe.text == "documents"
        return sentences if in_context else sentences.alone()

    def contexts(self, sentences: Sentences, training: bool = False) -> np.ndarray:
        """Return the background's context of each word of a text: (N × n)."""
        if isinstance(self.output, LogLinear):
            return self.output.background.contexts(sentences, training)
        return np.zeros((len(sentences.ids), 0), np.int64)

    @property
    def has_fixed_shapes(self) -> bool:
        """Return whether a step has the same shapes whatever the words, and runs on the GPU alone.

        Else a CUDA graph cannot record it.
        """
        if self.ends is not None or reads_letters(self.recipe.input):
            return False  # as many steps as words end, as many letters as there are
        if not self.encoder.has_fixed_shapes or not self.condition.has_fixed_shapes:
            return False
        return isinstance(self.output, LogLinear) and self.output.is_static

    def parameter_count(self) -> int:
        """Return the number of weights."""
        return sum(parameter.numel() for parameter in self.parameters())


def encoder(choice: Choice, *, weight_dropout: float = 0.0, **shape: float) -> Encoder:
    """Return the chosen encoder; weight dropout is for those with recurrent weights."""
    if weight_dropout:
        kind, _ = parted(choice)
        if "weight_dropout" not in inspect.signature(ENCODERS[kind]).parameters:
            raise AccordError(
                f"weight_dropout: a {kind} trains no recurrent weights to drop; expected 0"
            )
        shape["weight_dropout"] = weight_dropout
    return ENCODERS.make(choice, **shape)


class EndsOfWords(nn.Module):
    """One more input of each subword: 1 where a word ends, else 0."""

    is_end: Tensor  # whether a word ends with each subword

    def __init__(self, ends: np.ndarray | None):
        super().__init__()
        if ends is None:
            raise AccordError(
                "encoder: expected a model of letters or pieces, whose words have ends "
                "(encode.merges), for an encoder with a clock of words"
            )
        self.register_buffer("is_end", torch.from_numpy(np.asarray(ends, bool)), persistent=False)

    def forward(self, subwords: Tensor, read: Tensor) -> Tensor:
        return torch.cat([read, self.is_end[subwords].unsqueeze(-1).to(read.dtype)], dim=-1)
