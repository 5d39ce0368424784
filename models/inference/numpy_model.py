"""A log-linear model computed by numpy, equation by equation as the torch modules compute it.

    ψ(x) = φ(x)·W_in                                       encoder.py
    h_t of ψ_1 … ψ_t                                       inference/encoders.py
    a_t = (W_out·h_t + c)/T                                log_linear.py
    log p(s | K) = (log B_s + θ_s)/T + a_t·φ_s − log Z
    log p(x | K) = log p(s(x) | K) + log b(x)/B_s          background.py

All in single precision, but for the masses b, whose shares b(x)/B_s are differences of logarithms.
"""

from collections.abc import Mapping, Sequence
from copy import copy
from functools import cached_property

import numpy as np

from accord.errors import AccordError
from accord.models.common.arrays import Shapes, Weights, check_shapes, shapes_of
from accord.models.common.checks import check_range
from accord.models.common.registry import parted
from accord.models.inference.encoders import KINDS, NumpyEncoder
from accord.models.inference.interface import (
    NOTHING,
    InferenceModel,
    PsiVectors,
    ScoreTerms,
    State,
    log_sum_exp,
)
from accord.models.ngrams import checked_mass, log_sums
from accord.models.phi import Features
from accord.models.recipe import Recipe

FEW = 64  # states whose signatures are scored feature by feature; those of more, by rows Φ·W
ROWS_AT_ONCE = 2048  # rows of Φ·W computed together, so that little room is taken
OCTAVES = 32  # from words that are all of the text to those that are one in four billion


def computes(recipe: Recipe, background: str) -> bool:
    """Return whether numpy computes models of this recipe with this kind of background."""
    kind, settings = parted(recipe.output)
    return (
        parted(recipe.encoder)[0] in KINDS
        and kind == "log-linear"
        and settings.keys() <= {"background_gate", "temperature", "calibration"}
        and parted(recipe.input) == ("features", {})
        and parted(recipe.condition)[0] == "none"
        and recipe.pretraining != "background"
        and background in ("unigram", "uniform")
    )


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
    """A trained log-linear model over words, with a background that no context changes."""

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
        self.encoder: NumpyEncoder = KINDS[parted(recipe.encoder)[0]](recipe, weights)
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

    def initial_state(self, columns: int) -> State:
        return self.encoder.initial_state(columns)

    def advance(
        self, words: np.ndarray, state: State, extra: Mapping[str, np.ndarray] = NOTHING
    ) -> tuple[np.ndarray, State]:
        check_range("words", "word ids", words, 0, len(self.signature), IndexError)
        signatures = self.read_features.signature[words]
        read = np.flatnonzero(np.bincount(signatures.ravel()))  # each once, in order
        rows = product(self.read_features, self.embedding, read)
        return self.encoder.read(rows[np.searchsorted(read, signatures)], state)

    def columns(self, state: State, chosen: np.ndarray) -> State:
        return self.encoder.columns(state, chosen)

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
    shapes |= KINDS[parted(recipe.encoder)[0]].shapes(recipe, outputs)
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
