"""What a trained model answers, whoever computes it: torch or numpy alone.

A model advances a state by a word, and scores the signatures in a state. All that is asked of it
follows from these two: log p of words, the likeliest words, new sentences, what is expected next.

    log p(x | K) = log p(s(x) | K) + log p(x | s(x))

Answers are numpy arrays. The outputs h of the encoder and its states are arrays of whoever
computes; others only choose rows of them.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from accord.errors import AccordError, NumericalError
from accord.models.constraints.automata import WordAutomaton
from accord.models.data import (
    END,
    NO_WORD,
    Sentences,
    begin_alike,
    branches,
    of_like_length,
    trees,
)

WORDS_AT_ONCE = 4096  # read in one batch, padding included
PIECE = 256  # words of each text, of those that are longer: novels are read side by side
SCORED_AT_ONCE = 128  # states whose signatures are scored together
Rows = Any  # an array whose first dimension can be indexed by numpy: of numpy or torch
State = Any  # of the encoder, for some columns
NOTHING: Mapping[str, np.ndarray] = {}


class ReadStates(NamedTuple):
    """What is known before each of some words."""

    positions: np.ndarray  # of the words in the text (N)
    h: Rows  # the encoder's outputs before them (N × H)
    context: np.ndarray  # what b needs to know of the words before them (N × n)


class PsiVectors(NamedTuple):
    """ψ(x) = φ(x)·W: words of one signature are read alike."""

    rows: np.ndarray  # (S × E)
    signature: np.ndarray  # of every word (V)


class ScoreTerms(NamedTuple):
    """log p(x | K) = background + Σ_f weight_f·φ_f(x) − log_z + what `named` has for x."""

    background: np.ndarray  # log b(K, x) of each asked word, as far as it is trusted: (N × M)
    log_z: np.ndarray  # (N)
    weights: np.ndarray  # a_t, one for each feature: (N × F)
    named: list[dict[int, float]]  # what the context gives words that it names, in each state


class InferenceModel(ABC):
    """A trained model over words.

    `signature` and `log_share` say how words share the mass of their signature, log p(x | s). If
    that depends on the context, each word is a signature of its own and its share is all of it.
    """

    signature: np.ndarray  # of every word (V)
    log_share: np.ndarray  # of every word, in double precision (V)
    is_sum = False  # whether scores are sums over features, so that they can be explained
    sharpness = 1.0  # 1/T, by which all scores of signatures are multiplied

    @abstractmethod
    def initial_state(self, columns: int) -> State:
        """The state before a text, for so many columns."""

    @abstractmethod
    def advance(
        self, words: np.ndarray, state: State, extra: Mapping[str, np.ndarray] = NOTHING
    ) -> tuple[Rows, State]:
        """The encoder's outputs (T × B × H) for words (T × B), and the state after them.

        `extra` is what is known of the words beside themselves, such as labels.
        """

    @abstractmethod
    def columns(self, state: State, chosen: np.ndarray) -> State:
        """Those columns of a state."""

    @abstractmethod
    def signature_log_prob(self, h: Rows, context: np.ndarray) -> np.ndarray:
        """log p(s | K) of every signature: (N × S)."""

    def contexts(self, sentences: Sentences) -> np.ndarray:
        """What b needs to know of the words before each word (N × n); by default nothing."""
        return np.zeros((len(sentences.ids), 0), np.int64)

    def as_read(self, sentences: Sentences) -> Sentences:
        """By default a model reads each sentence alone, unless the sentences say otherwise."""
        return sentences if sentences.carried else sentences.alone()

    @abstractmethod
    def parameter_count(self) -> int: ...

    def log_prob_of(self, h: Rows, words: np.ndarray, context: np.ndarray) -> np.ndarray:
        """log p of some words in each state: (N × M)."""
        log_p = self.signature_log_prob(h, context)
        return np.take_along_axis(log_p, self.signature[words], 1) + self.log_share[words]

    def log_prob(self, h: Rows, context: np.ndarray) -> np.ndarray:
        """log p of every word: (N × V)."""
        return self.signature_log_prob(h, context)[:, self.signature] + self.log_share

    def top(self, h: Rows, k: int, context: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The k likeliest words, the best first: their log p and their ids, each (N × k)."""
        log_p = self.signature_log_prob(h, context)
        words, starts = self.members
        sizes = np.diff(starts)
        heaviest = np.full(len(sizes), -np.inf)
        heaviest[sizes > 0] = self.log_share[words[starts[:-1][sizes > 0]]]
        found = [self._top(row + heaviest, row, k) for row in log_p]
        return np.array([best for best, _ in found]), np.array([words for _, words in found])

    def _top(self, best: np.ndarray, log_p: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The same in one state: the k likeliest are in the k signatures with the best words."""
        words, starts = self.members
        chosen = np.argsort(-best, kind="stable")[:k]
        contenders = np.concatenate([words[starts[s] : starts[s + 1]][:k] for s in chosen.tolist()])
        scores = log_p[self.signature[contenders]] + self.log_share[contenders]
        order = np.argsort(-scores, kind="stable")[:k]
        return scores[order], contenders[order]

    @cached_property
    def members(self) -> tuple[np.ndarray, np.ndarray]:
        """The words by signature, the likeliest of each first, and where each begins (S + 1)."""
        order = np.lexsort((-self.log_share, self.signature))
        sizes = np.bincount(self.signature)
        return order, np.concatenate(([0], np.cumsum(sizes)))

    def draw(self, h: Rows, context: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """One word in each state, drawn from p: a signature first, then a word of it: (N)."""
        log_p = self.signature_log_prob(h, context).astype(np.float64)
        drawn = choose(np.exp(log_p), generator)
        words, starts = self.members
        cumulative = self._cumulative_shares
        before = np.where(starts[drawn] > 0, cumulative[starts[drawn] - 1], 0.0)
        whole = cumulative[starts[drawn + 1] - 1] - before
        # A little less than drawn: rounding must not carry a lot into the next signature.
        lot = before + generator.random(len(drawn)) * (1 - 1e-9) * whole
        at = np.searchsorted(cumulative, lot, side="right")
        return words[np.clip(at, starts[drawn], starts[drawn + 1] - 1)]

    @cached_property
    def _cumulative_shares(self) -> np.ndarray:
        """The shares of all members, added up."""
        return np.cumsum(np.exp(self.log_share[self.members[0]]))

    def states(self, sentences: Sentences) -> Iterator[ReadStates]:
        """The states before all words of the sentences, some sentences at a time."""
        sentences = self.as_read(sentences)
        contexts, extra = self.contexts(sentences), sentences.extra
        for positions, is_word in of_like_length(sentences, WORDS_AT_ONCE, PIECE):
            targets = sentences.ids[positions].astype(np.int64)
            words = np.concatenate([np.full((1, targets.shape[1]), END), targets[:-1]])
            state = self.initial_state(words.shape[1])
            size = max(1, WORDS_AT_ONCE // words.shape[1])
            for piece in (slice(start, start + size) for start in range(0, len(words), size)):
                at, real = positions[piece], is_word[piece]
                of_words = {name: each[at] for name, each in extra.items()}
                h, state = self.advance(words[piece], state, of_words)
                yield ReadStates(at[real], h[real], contexts[at[real]])

    def score(self, sentences: Sentences) -> np.ndarray:
        """log p of every word of every sentence in order, END included, in nats."""
        return self.score_beside(sentences, ())[:, 0]

    def score_beside(self, sentences: Sentences, others: Sequence[int]) -> np.ndarray:
        """log p of every word, in the first column, and of the others in its place: (N × 1 + M)."""
        sentences = self.as_read(sentences)
        if not sentences.extra and sentences.documents is None and begin_alike(sentences):
            return self._score_tree(sentences, others)
        scores = np.zeros((len(sentences.ids), 1 + len(others)))
        for read in self.states(sentences):
            words = with_others(sentences.ids[read.positions], others)
            scores[read.positions] = self._log_prob_in_parts(read.h, words, read.context)
        return scores

    def log_distributions(self, sentences: Sentences) -> np.ndarray:
        """log p of every word of the vocabulary in every place: (N × V)."""
        found = np.zeros((len(sentences.ids), len(self.signature)))
        for read in self.states(sentences):
            found[read.positions] = self.log_prob(read.h, read.context)
        return found

    def _score_tree(self, sentences: Sentences, others: Sequence[int]) -> np.ndarray:
        """The same of sentences that begin alike: each beginning is read once."""
        contexts = self.contexts(sentences)
        scores = np.zeros((len(sentences.ids), 1 + len(others)))
        for positions, ids in trees(sentences):
            begins, branch = branches(ids)
            found: list[np.ndarray] = []
            for at, h in zip(
                self._first(positions, begins), self._outputs(ids, begins), strict=True
            ):
                words = with_others(sentences.ids[at], others)
                found.append(self._log_prob_in_parts(h, words, contexts[at]))
            is_word = ids != NO_WORD
            scores[positions[is_word]] = np.concatenate(found)[branch[is_word]]
        return scores

    @staticmethod
    def _first(positions: np.ndarray, begins: np.ndarray) -> Iterator[np.ndarray]:
        """The first position of each branch in the text, step by step."""
        for step in range(positions.shape[1]):
            yield positions[begins[:, step], step]

    def _outputs(self, ids: np.ndarray, begins: np.ndarray) -> Iterator[Rows]:
        """The encoder's outputs before the words that begin a branch, step by step (N × H)."""
        words, state = np.array([END]), self.initial_state(1)
        column = np.zeros(len(ids), np.int64)  # of the state, in which each sentence is read
        for step in range(ids.shape[1]):
            h, state = self.advance(words[None], state)
            yield h[0][column[begins[:, step]]]
            goes_on = begins[:, step] & (ids[:, step] != END)
            state = self.columns(state, column[goes_on])
            words, column = ids[goes_on, step], np.cumsum(goes_on) - 1

    def _log_prob_in_parts(self, h: Rows, words: np.ndarray, context: np.ndarray) -> np.ndarray:
        """`log_prob_of`, in room that does not grow with the number of states."""
        parts = range(0, len(words), SCORED_AT_ONCE)
        slices = [slice(start, start + SCORED_AT_ONCE) for start in parts]
        return np.concatenate(
            [self.log_prob_of(h[part], words[part], context[part]) for part in slices]
            or [np.zeros(words.shape)]
        )

    def adaptor(self, h: Rows) -> np.ndarray:
        """a_t, one weight per feature: (N × F)."""
        raise self._no_sum()

    def terms(self, h: Rows, words: np.ndarray, context: np.ndarray) -> ScoreTerms:
        """The terms of log p of some words (N × M) in each state."""
        raise self._no_sum()

    def vectors(self) -> PsiVectors:
        """The vectors that words are read by."""
        raise AccordError(
            f"expected a model that reads words by vectors, got {type(self).__name__}"
        )

    def constrained(self, automaton: WordAutomaton) -> "InferenceModel":
        """The model constrained by an automaton; constraints that it has already still hold."""
        raise self._no_sum()

    def switched_off(self, features: Sequence[int]) -> "InferenceModel":
        """The model without what some features say of the next word; it reads words as before."""
        raise self._no_sum()

    def for_many(self) -> "InferenceModel":
        """The same model, for someone who asks it hundreds of times, a few states each."""
        return self

    def condition_on(self, labels: np.ndarray) -> None:
        """From now on take all sentences to have these labels, one of each kind, 0 being none."""
        raise AccordError(
            "expected a model that was trained with labels of sentences (train.condition); this "
            "one was not"
        )

    @property
    def labels(self) -> np.ndarray | None:
        """The labels that it is conditioned on; None of a model that was trained without."""
        return None

    @property
    def kind(self) -> str:
        """What scores words, as errors name it."""
        return type(self).__name__

    def _no_sum(self) -> ValueError:
        return ValueError(
            f"expected a model with a log-linear output, which is a sum over features; "
            f"got {self.kind}"
        )


def expect_sum(model: object) -> None:
    """Refuse a model whose scores are no sums over features."""
    if not isinstance(model, InferenceModel):
        raise AccordError(
            f"expected a model with a log-linear output, which is a sum over features; "
            f"got {type(model).__name__}"
        )
    if not model.is_sum:
        raise model._no_sum()


def with_others(words: np.ndarray, others: Sequence[int] | np.ndarray) -> np.ndarray:
    """Each word and, beside it, the same others: (N × 1 + M)."""
    beside = np.broadcast_to(np.asarray(others, np.int64), (len(words), len(others)))
    return np.concatenate([words.astype(np.int64)[:, None], beside], axis=1)


def log_sum_exp(scores: np.ndarray) -> np.ndarray:
    """log Σ exp of each row (N × S), in double precision; −inf where all are −inf: (N)."""
    most = np.maximum(scores.max(axis=1, keepdims=True), np.finfo(scores.dtype).min)
    shifted = scores - most
    sums = np.exp(shifted, out=shifted).sum(axis=1, dtype=np.float64)  # large: one copy is enough
    with np.errstate(divide="ignore"):
        return most[:, 0].astype(np.float64) + np.log(sums)


def choose(p: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """A column of each row (N × C), drawn by its weight: (N)."""
    cumulative = np.cumsum(p, axis=1)
    if not np.isfinite(cumulative[:, -1]).all() or not (cumulative[:, -1] > 0).all():
        raise NumericalError("no word can be drawn: expected probabilities with a positive sum")
    lots = generator.random(len(p)) * cumulative[:, -1] * (1 - 1e-12)
    return np.array(
        [np.searchsorted(row, lot, side="right") for row, lot in zip(cumulative, lots, strict=True)]
    )
