"""Queries of a trained model, computed by numpy or by torch.

A model advances a state by a word, and scores the signatures in a state. All queries follow from
these two: log p of words, the likeliest words, new sentences, expectations of the next word.

    log p(x | K) = log p(s(x) | K) + log p(x | s(x))

Results are numpy arrays. The outputs h of the encoder and its states are arrays of numpy or torch,
of which callers only choose rows.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from accord.errors import AccordError, NumericalError
from accord.models.data import END, NO_WORD, Sentences, begin_alike, branches, of_like_length, trees
from accord.models.ngrams import library

WORDS_AT_ONCE = 4096  # read in one batch, padding included
PIECE = 256  # words of each text, of those that are longer: novels are read side by side
DRAWN_AT_ONCE = 1 << 24  # probabilities from which words are drawn
Rows = Any  # an array whose first dimension can be indexed by numpy: of numpy or torch
State = Any  # of the encoder, for some columns
NOTHING: Mapping[str, np.ndarray] = {}


class ReadStates(NamedTuple):
    """States and contexts before words of a text."""

    positions: np.ndarray  # of the words in the text (N)
    h: Rows  # the encoder's outputs before them (N × H)
    context: np.ndarray  # the background's contexts of the words (N × n)


class PsiVectors(NamedTuple):
    """ψ(x) = φ(x)·W: words of one signature are read alike."""

    rows: np.ndarray  # (S × E)
    signature: np.ndarray  # of every word (V)


class ScoreTerms(NamedTuple):
    """log p(x | K) = background + Σ_f weight_f·φ_f(x) − log_z + `named`[x]."""

    background: np.ndarray  # log b(K, x) of each word, weighed by the gate: (N × M)
    log_z: np.ndarray  # (N)
    weights: np.ndarray  # a_t, one for each feature: (N × F)
    named: list[dict[int, float]]  # nats of words that the context names, in each state


class InferenceModel:
    """A trained model over words.

    `signature` and `log_share` say how words share the mass of their signature, log p(x | s). If
    that depends on the context, each word is a signature of its own and its share is all of it.
    """

    signature: np.ndarray  # of every word (V)
    log_share: np.ndarray  # of every word, in double precision (V)
    is_sum = False  # whether scores are sums over features, so that they can be explained
    sharpness = 1.0  # 1/T, by which all scores of signatures are multiplied
    reads_documents = False  # whether it was trained on documents
    scored_at_once = 128  # states whose words are scored together

    def initial_state(self, columns: int) -> State:
        """Return the state before a text, for a number of columns."""
        raise NotImplementedError

    def advance(
        self, words: np.ndarray, state: State, extra: Mapping[str, np.ndarray] = NOTHING
    ) -> tuple[Rows, State]:
        """Return the encoder's outputs (T × B × H) for words (T × B), and the state after them.

        `extra` has further inputs of the words, such as labels.
        """
        raise NotImplementedError

    def columns(self, state: State, chosen: np.ndarray) -> State:
        """Return the chosen columns of a state."""
        raise NotImplementedError

    def signature_log_prob(self, h: Rows, context: np.ndarray) -> np.ndarray:
        """Return log p(s | K) of every signature: (N × S)."""
        raise NotImplementedError

    def parameter_count(self) -> int:
        """Return the number of weights."""
        raise NotImplementedError

    def contexts(self, sentences: Sentences) -> np.ndarray:
        """Return the background's context of each word (N × n); by default n is 0."""
        return np.zeros((len(sentences.ids), 0), np.int64)

    def as_read(self, sentences: Sentences) -> Sentences:
        """Return sentences as the model reads them: each alone if it was trained on single ones."""
        return sentences if sentences.carried or self.reads_documents else sentences.alone()

    def log_prob_of(self, h: Rows, words: np.ndarray, context: np.ndarray) -> np.ndarray:
        """Return log p of words in each state: (N × M)."""
        log_p = self.signature_log_prob(h, context)
        return np.take_along_axis(log_p, self.signature[words], 1) + self.log_share[words]

    def log_prob(self, h: Rows, context: np.ndarray) -> np.ndarray:
        """Return log p of every word: (N × V)."""
        return self.signature_log_prob(h, context)[:, self.signature] + self.log_share

    def top(self, h: Rows, k: int, context: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return log p and ids of the k likeliest words, the best first: each (N × k)."""
        words, starts = self.members
        has_words = np.diff(starts) > 0
        heaviest = np.full(len(has_words), -np.inf)
        heaviest[has_words] = self.log_share[words[starts[:-1][has_words]]]
        log_p, ids = [], []
        for row in self.signature_log_prob(h, context):
            # They are in the k signatures with the best words.
            best = np.argsort(-(row + heaviest), kind="stable")[:k].tolist()
            contenders = np.concatenate([words[starts[s] : starts[s + 1]][:k] for s in best])
            scores = row[self.signature[contenders]] + self.log_share[contenders]
            order = np.argsort(-scores, kind="stable")[:k]
            log_p.append(scores[order])
            ids.append(contenders[order])
        return np.array(log_p), np.array(ids)

    @cached_property
    def members(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the words by signature, the likeliest first, and the start of each (S + 1)."""
        order = np.lexsort((-self.log_share, self.signature))
        sizes = np.bincount(self.signature)
        return order, np.concatenate(([0], np.cumsum(sizes)))

    def draw(self, h: Rows, context: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Draw one word in each state from p, a signature first, then a word of it: (N)."""
        words, starts = self.members
        size = max(1, DRAWN_AT_ONCE // len(starts))
        drawn = []
        for part in slices(len(h), size):
            log_p = self.signature_log_prob(h[part], context[part]).astype(np.float64)
            signature = choose(np.exp(log_p), generator)
            first, stop, cumulative = starts[signature], starts[signature + 1], self._cumulative
            start = np.where(first > 0, cumulative[first - 1], 0.0)
            # A little less than drawn: rounding must not carry a lot into the next signature.
            lot = generator.random(len(signature)) * (1 - 1e-9) * (cumulative[stop - 1] - start)
            place = np.searchsorted(cumulative, start + lot, side="right")
            drawn.append(words[np.clip(place, first, stop - 1)])
        return np.concatenate(drawn)

    @cached_property
    def _cumulative(self) -> np.ndarray:
        """Return the cumulative shares of all members."""
        return np.cumsum(np.exp(self.log_share[self.members[0]]))

    def states(
        self, sentences: Sentences, contexts: np.ndarray | None = None
    ) -> Iterator[ReadStates]:
        """Yield the states before all words of the sentences, some sentences at a time.

        `contexts` are by default the model's own for these sentences.
        """
        sentences = self.as_read(sentences)
        contexts = self.contexts(sentences) if contexts is None else contexts
        extra = sentences.extra
        for positions, is_word in of_like_length(sentences, WORDS_AT_ONCE, PIECE):
            targets = sentences.ids[positions].astype(np.int64)
            words = np.concatenate([np.full((1, targets.shape[1]), END), targets[:-1]])
            state = self.initial_state(words.shape[1])
            for piece in slices(len(words), max(1, WORDS_AT_ONCE // words.shape[1])):
                in_text, real = positions[piece], is_word[piece]
                of_words = {name: values[in_text] for name, values in extra.items()}
                h, state = self.advance(words[piece], state, of_words)
                yield ReadStates(in_text[real], h[real], contexts[in_text[real]])

    def score(self, sentences: Sentences) -> np.ndarray:
        """Return log p of every word of every sentence in order, END included, in nats."""
        return self.score_alternatives(sentences, ())[:, 0]

    def score_alternatives(self, sentences: Sentences, others: Sequence[int]) -> np.ndarray:
        """Return log p of every word, and of other words at its position: (N × 1 + M)."""
        sentences = self.as_read(sentences)
        if not sentences.extra and sentences.documents is None and begin_alike(sentences):
            return self._score_tree(sentences, others)
        scores = np.zeros((len(sentences.ids), 1 + len(others)))
        for read in self.states(sentences):
            words = with_others(sentences.ids[read.positions], others)
            scores[read.positions] = self._log_prob_in_parts(read.h, words, read.context)
        return scores

    def log_distributions(self, sentences: Sentences) -> np.ndarray:
        """Return log p of every word of the vocabulary at every position: (N × V)."""
        log_p = np.zeros((len(sentences.ids), len(self.signature)))
        for read in self.states(sentences):
            for part in slices(len(read.positions), self.scored_at_once):
                log_p[read.positions[part]] = self.log_prob(read.h[part], read.context[part])
        return log_p

    def _score_tree(self, sentences: Sentences, others: Sequence[int]) -> np.ndarray:
        """Score sentences that begin alike: each beginning is read once."""
        contexts = self.contexts(sentences)
        scores = np.zeros((len(sentences.ids), 1 + len(others)))
        for positions, ids in trees(sentences):
            begins, branch = branches(ids)
            first = positions.T[begins.T]  # position of each branch in the text, step by step
            outputs = [*self._outputs(ids, begins)]
            h = library(outputs[0]).concatenate(outputs)
            words = with_others(sentences.ids[first], others)
            log_p = self._log_prob_in_parts(h, words, contexts[first])
            is_word = ids != NO_WORD
            scores[positions[is_word]] = log_p[branch[is_word]]
        return scores

    def _outputs(self, ids: np.ndarray, begins: np.ndarray) -> Iterator[Rows]:
        """Yield the encoder's outputs before the words that begin a branch, by step (N × H)."""
        words, state = np.array([END]), self.initial_state(1)
        column = np.zeros(len(ids), np.int64)  # of the state in which each sentence is read
        for step in range(ids.shape[1]):
            h, state = self.advance(words[None], state)
            yield h[0][column[begins[:, step]]]
            continues = begins[:, step] & (ids[:, step] != END)
            state = self.columns(state, column[continues])
            words, column = ids[continues, step], np.cumsum(continues) - 1

    def _log_prob_in_parts(self, h: Rows, words: np.ndarray, context: np.ndarray) -> np.ndarray:
        """Return `log_prob_of` in memory that does not grow with the number of states."""
        log_p = np.zeros(words.shape)
        for part in slices(len(words), self.scored_at_once):
            log_p[part] = self.log_prob_of(h[part], words[part], context[part])
        return log_p

    def adaptor(self, h: Rows) -> np.ndarray:
        """Return a_t, one weight per feature: (N × F)."""
        raise no_sum(self)

    def terms(self, h: Rows, words: np.ndarray, context: np.ndarray) -> ScoreTerms:
        """Return the terms of log p of words (N × M) in each state."""
        raise no_sum(self)

    def vectors(self) -> PsiVectors:
        """Return the vectors that words are read by."""
        raise AccordError(
            f"expected a model that reads words by vectors, got {type(self).__name__}"
        )

    def switched_off(self, features: Sequence[int]) -> "InferenceModel":
        """Return the model without what features say of the next word; it reads words as before."""
        raise no_sum(self)

    def for_many(self) -> "InferenceModel":
        """Return the same model, prepared for hundreds of queries of a few states each."""
        return self

    def condition_on(self, labels: np.ndarray) -> None:
        """From now on take all sentences to have these labels, one of each kind, 0 being none."""
        raise AccordError("expected a model that is trained with labels (train.condition)")

    @property
    def labels(self) -> np.ndarray | None:
        """Return the labels that it is conditioned on; None if it was trained without."""
        return None


def slices(length: int, size: int) -> list[slice]:
    """Return consecutive slices of a size."""
    return [slice(start, start + size) for start in range(0, length, size)]


def expect_words(model: object) -> InferenceModel:
    """Return a model, if it is one over words that reads forwards."""
    if isinstance(model, InferenceModel):
        return model
    raise AccordError(
        f"expected a model over words that reads forwards, got {type(model).__name__}"
    )


def no_sum(model: object) -> AccordError:
    """Return the error of a model whose scores are no sums over features."""
    return AccordError(
        f"expected a model with a log-linear output, which is a sum over features; "
        f"got {type(getattr(model, 'output', model)).__name__}"
    )


def expect_sum(model: object) -> None:
    """Reject a model whose scores are no sums over features."""
    if not isinstance(model, InferenceModel) or not model.is_sum:
        raise no_sum(model)


def with_others(words: np.ndarray, others: Sequence[int] | np.ndarray) -> np.ndarray:
    """Return each word, followed by the same other words: (N × 1 + M)."""
    repeated = np.broadcast_to(np.asarray(others, np.int64), (len(words), len(others)))
    return np.column_stack([words.astype(np.int64), repeated])


def log_sum_exp(scores: np.ndarray) -> np.ndarray:
    """Return log Σ exp of each row (N × S), in double precision; −inf if all are −inf: (N)."""
    most = np.maximum(scores.max(axis=1, keepdims=True), np.finfo(scores.dtype).min)
    shifted = scores - most
    sums = np.exp(shifted, out=shifted).sum(axis=1, dtype=np.float64)  # large: one copy is enough
    with np.errstate(divide="ignore"):
        return most[:, 0].astype(np.float64) + np.log(sums)


def choose(p: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Draw a column of each row (N × C) by its weight: (N)."""
    cumulative = np.cumsum(p, axis=1)
    if not np.isfinite(cumulative[:, -1]).all() or not (cumulative[:, -1] > 0).all():
        raise NumericalError("no word can be drawn: expected probabilities with a positive sum")
    lots = generator.random(len(p)) * cumulative[:, -1] * (1 - 1e-12)
    rows = zip(cumulative, lots, strict=True)
    return np.array([np.searchsorted(row, lot, side="right") for row, lot in rows])
