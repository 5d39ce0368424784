"""A log-linear LSTM computed by numpy, equation by equation as the torch modules compute it.

    ψ(x) = φ(x)·W_in                                       encoder.py
    i, f, g, o = σ, σ, tanh, σ of W·ψ_t + U·h_{t−1} + c
    c_t = f·c_{t−1} + i·g,    h_t = o·tanh(c_t)
    a_t = (W_out·h_t + c)/T                                log_linear.py
    log p(s | K) = (log B_s + θ_s)/T + a_t·φ_s − log Z
    log p(x | K) = log p(s(x) | K) + log b(x)/B_s          background.py

All in single precision, but for the masses b, whose shares b(x)/B_s are differences of logarithms.
"""

from collections.abc import Mapping, Sequence
from copy import copy
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from accord.errors import AccordError
from accord.models.common.arrays import Shapes, Weights, check_shapes, shapes_of
from accord.models.common.checks import check_range
from accord.models.common.registry import parted
from accord.models.inference.interface import (
    NOTHING,
    InferenceModel,
    PsiVectors,
    ScoreTerms,
    log_sum_exp,
)
from accord.models.ngrams import checked_mass, log_sums
from accord.models.phi import Features
from accord.models.recipe import Recipe

FEW = 64  # states whose signatures are scored feature by feature; those of more, by rows Φ·W
ROWS_AT_ONCE = 2048  # rows of Φ·W computed together, so that little room is taken
OCTAVES = 32  # from words that are all of the text to those that are one in four billion

LayerState = tuple[np.ndarray, np.ndarray]  # h and c (B × H)


def computes(recipe: Recipe, background: str) -> bool:
    """Return whether numpy computes models of this recipe with this kind of background."""
    kind, settings = parted(recipe.output)
    return (
        parted(recipe.encoder) == ("lstm", {})
        and kind == "log-linear"
        and settings.keys() <= {"background_gate", "temperature", "calibration"}
        and parted(recipe.input) == ("features", {})
        and parted(recipe.condition)[0] == "none"
        and recipe.pretraining != "background"
        and background in ("unigram", "uniform")
    )


class LSTMLayer(NamedTuple):
    """One layer; each gate has H rows, in the order i, f, g, o."""

    input_weight: np.ndarray  # W (4H × E)
    recurrent_weight: np.ndarray  # U (4H × H)
    bias: np.ndarray  # c (4H)

    @property
    def width(self) -> int:
        return self.recurrent_weight.shape[1]

    def read(self, inputs: np.ndarray, state: LayerState) -> tuple[np.ndarray, LayerState]:
        """Return outputs (T × B × H) for inputs (T × B × E), and the state after them."""
        steps, columns, _ = inputs.shape
        # A large matrix times a narrow one is quicker than the other way round, so each state is a
        # column here.
        gates = self.input_weight @ inputs.reshape(steps * columns, -1).T + self.bias[:, None]
        gates = gates.reshape(-1, steps, columns)
        outputs = np.empty((steps, columns, self.width), np.float32)
        h, c = (part.T for part in state)
        for step in range(steps):
            now = gates[:, step]
            if h.any():  # before the first word h is zero, and so is the largest product
                now = now + self.recurrent_weight @ h
            i, f, g, o = np.split(now, 4)
            c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
            h = sigmoid(o) * np.tanh(c)
            outputs[step] = h.T
        return outputs, (h.T, c.T)


def sigmoid(x: np.ndarray) -> np.ndarray:
    """Return σ(x) = (1 + tanh(x/2))/2, which overflows nowhere."""
    return 0.5 + 0.5 * np.tanh(0.5 * x)


def product(features: Features, weight: np.ndarray, signatures: np.ndarray) -> np.ndarray:
    """Return rows of Φ_s·W: sums of features' rows of W, and the vector times W_dense."""
    rows = np.zeros((len(signatures), weight.shape[1]), np.float32)
    starts = features.indptr[signatures]
    lengths = features.indptr[signatures + 1] - starts
    order = np.argsort(-lengths, kind="stable")  # those of most features first
    for first in range(0, len(order), ROWS_AT_ONCE):
        chosen = order[first : first + ROWS_AT_ONCE]
        rows[chosen] = _sums(features, weight, starts[chosen], lengths[chosen])
    if features.dimensions:
        dense = features.vectors[features.vector[signatures]]
        rows += dense @ weight[features.sparse_count :]
    return rows


def _sums(
    features: Features, weight: np.ndarray, starts: np.ndarray, lengths: np.ndarray
) -> np.ndarray:
    """Return Σ_f φ_f·W_f of each row, with `lengths` entries from `starts` on: (N × E).

    The longest row comes first. The first entries of all rows are added together, then the second
    ones of the rows that have two, and so on.
    """
    sums = np.zeros((len(starts), weight.shape[1]), np.float32)
    for entry in range(lengths.max(initial=0)):
        rows = np.count_nonzero(lengths > entry)
        entries = starts[:rows] + entry
        parts, values = weight[features.indices[entries]], features.values[entries]
        if (values != 1).any():
            parts *= values[:, None].astype(np.float32)
        sums[:rows] += parts
    return sums


class NumpyModel(InferenceModel):
    """A trained log-linear LSTM over words, with a background that no context changes."""

    is_sum = True
    few = FEW

    def __init__(
        self,
        recipe: Recipe,
        weights: Weights,
        features: Features,
        mass: np.ndarray,
        psi: Features | None = None,
        where: str = "",
    ):
        """`weights` by the names that the torch modules give them; `mass` is b of every word.

        `psi` has the features that are read of words, where they are not φ.
        """
        self.features, self.read_features = features, features if psi is None else psi
        shapes = expected_shapes(recipe, features.feature_count, self.read_features.feature_count)
        check_shapes(where, shapes, shapes_of(weights))
        for name, weight in weights.items():
            if not np.isfinite(weight.sum(dtype=np.float64)):  # NaN and infinity survive a sum
                raise AccordError(f"{where}{name}: expected finite numbers, got NaN or infinity")
        self.reads_documents = recipe.text == "documents"
        self.embedding = weights["embedding.weight"]
        self.layers = [_layer(weights, number) for number in range(recipe.layers)]
        self.weight = weights.get("output.weight", self.embedding)  # tied: one W reads and predicts
        self.bias = weights["output.bias"]
        self.sharpness = float(weights.get("output.inverse_temperature", 1.0))
        self.signature = features.signature
        self.size = sum(weight.size for weight in weights.values())
        self._set_masses(checked_mass(mass, features.vocabulary_size))
        octaves = weights.get("output.calibration.of_octaves")
        self.log_prior = self.log_mass.astype(np.float32)
        if octaves is not None:
            words = np.log(np.bincount(features.signature, minlength=features.signature_count))
            octave = ((words - self.log_mass) / np.log(2)).clip(0, OCTAVES - 1).astype(np.int64)
            self.log_prior = self.log_prior + octaves[octave]

    def _set_masses(self, mass: np.ndarray) -> None:
        """Set log B_s of each signature and log b(x)/B_s of each word: −inf without mass."""
        sums = log_sums(mass, self.signature, self.features.signature_count)
        self.log_mass = sums - np.logaddexp.reduce(sums)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.log(mass) - sums[self.signature]
        self.log_share = np.nan_to_num(share, nan=-np.inf, neginf=-np.inf)

    def initial_state(self, columns: int) -> list[LayerState]:
        zeros = [np.zeros((columns, layer.width), np.float32) for layer in self.layers]
        return [(zero, zero) for zero in zeros]

    def advance(
        self,
        words: np.ndarray,
        state: list[LayerState],
        extra: Mapping[str, np.ndarray] = NOTHING,
    ) -> tuple[np.ndarray, list[LayerState]]:
        check_range("words", "word ids", words, 0, len(self.signature), IndexError)
        signatures = self.read_features.signature[words]
        read = np.flatnonzero(np.bincount(signatures.ravel()))  # each once, in order
        rows = product(self.read_features, self.embedding, read)
        h = rows[np.searchsorted(read, signatures)]
        states = []
        for layer, layer_state in zip(self.layers, state, strict=True):
            h, layer_state = layer.read(h, layer_state)
            states.append(layer_state)
        return h, states

    def columns(self, state: list[LayerState], chosen: np.ndarray) -> list[LayerState]:
        return [(h[chosen], c[chosen]) for h, c in state]

    def signature_log_prob(self, h: np.ndarray, context: np.ndarray) -> np.ndarray:
        logits = self._logits(h)
        return logits - log_sum_exp(logits)[:, None]

    def log_prob_of(self, h: np.ndarray, words: np.ndarray, context: np.ndarray) -> np.ndarray:
        logits = self._logits(h)
        scores = np.take_along_axis(logits, self.signature[words], 1).astype(np.float64)
        return scores - log_sum_exp(logits)[:, None] + self.log_share[words]

    def _logits(self, h: np.ndarray) -> np.ndarray:
        """Return (log B_s + θ_s)/T + a_t·φ_s of every signature: (N × S)."""
        if len(h) <= self.few:
            scores = product(self.features, self._weights_of_features(h), self._every).T
            return scores + self.log_prior * np.float32(self.sharpness)
        rows, bias = self.rows
        scores = (rows @ (h * np.float32(self.sharpness)).T).T
        scores += bias
        return scores

    def adaptor(self, h: np.ndarray) -> np.ndarray:
        """Return a_t = (W·h_t + c)/T, one weight per feature: (N × F)."""
        return self._weights_of_features(h).T

    def _weights_of_features(self, h: np.ndarray) -> np.ndarray:
        """Return a_t with a column for each state: (F × N)."""
        return (self.weight @ h.T + self.bias[:, None]) * np.float32(self.sharpness)

    @cached_property
    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """Return Φ·W (S × H), and (log B_s + θ_s + Φ·c)/T of every signature (S)."""
        bias = product(self.features, self.bias[:, None], self._every)[:, 0]
        bias = (bias + self.log_prior) * np.float32(self.sharpness)
        return product(self.features, self.weight, self._every), bias

    @property
    def _every(self) -> np.ndarray:
        return np.arange(self.features.signature_count)

    def terms(self, h: np.ndarray, words: np.ndarray, context: np.ndarray) -> ScoreTerms:
        background = self.log_prior[self.signature[words]] * np.float32(self.sharpness)
        log_z = log_sum_exp(self._logits(h))
        named: list[dict[int, float]] = [{} for _ in h]
        return ScoreTerms(background + self.log_share[words], log_z, self.adaptor(h), named)

    def vectors(self) -> PsiVectors:
        every = np.arange(self.read_features.signature_count)
        rows = product(self.read_features, self.embedding, every)
        return PsiVectors(rows, self.read_features.signature)

    def switched_off(self, features: Sequence[int]) -> "NumpyModel":
        changed = copy(self)
        vars(changed).pop("rows", None)
        changed.weight, changed.bias = self.weight.copy(), self.bias.copy()
        changed.weight[features], changed.bias[features] = 0, 0
        return changed

    def for_many(self) -> "NumpyModel":
        """Return a copy that scores every state by rows Φ·W, which all copies share."""
        _ = self.rows
        other = copy(self)
        other.few = 0
        return other

    def parameter_count(self) -> int:
        return self.size


def expected_shapes(recipe: Recipe, features: int, read_features: int) -> Shapes:
    """Return the shapes of the weights, by the names that the torch modules give them."""
    outputs = recipe.embedding if recipe.tied else recipe.hidden
    shapes: Shapes = {"embedding.weight": (read_features, recipe.embedding)}
    widths = [recipe.embedding, *[recipe.hidden] * (recipe.layers - 1), outputs]
    for number, (inputs, width) in enumerate(pairwise(widths)):
        name = f"encoder.layers.{number}."
        shapes[f"{name}input_weight"] = 4 * width, inputs
        shapes[f"{name}recurrent_weight"] = 4 * width, width
        shapes[f"{name}input_bias"] = shapes[f"{name}recurrent_bias"] = (4 * width,)
    shapes["output.bias"] = (features,)
    if not recipe.tied:
        shapes["output.weight"] = features, outputs
    _, settings = parted(recipe.output)
    if settings.get("temperature"):
        shapes["output.inverse_temperature"] = ()
    if settings.get("background_gate"):  # which weighs what a context says: here nothing
        shapes["output.background_gate.weight"] = 1, outputs
        shapes["output.background_gate.bias"] = (1,)
    if settings.get("calibration"):
        shapes["output.calibration.of_octaves"] = (OCTAVES,)
        shapes["output.calibration.context_share"] = ()
    return shapes


def _layer(weights: Weights, number: int) -> LSTMLayer:
    parts = ("input_weight", "recurrent_weight", "input_bias", "recurrent_bias")
    read, recurrent, *biases = (weights[f"encoder.layers.{number}.{name}"] for name in parts)
    return LSTMLayer(read, recurrent, biases[0] + biases[1])
