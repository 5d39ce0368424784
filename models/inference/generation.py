"""New sentences from a trained model: drawn word by word, or the best by beam search."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from accord.errors import AccordError
from accord.models.common.checks import expect
from accord.models.data import END, Sentences
from accord.models.inference.interface import InferenceModel, Rows, State, choose

NUCLEUS = 1024  # words that are looked for a share of the mass at first: sorting all takes long


class Generated(NamedTuple):
    """The words after the given start, END last if the sentence ends, and log p of each."""

    words: list[int]
    log_p: list[float]


@dataclass(frozen=True)
class Sampling:
    """The distribution that a word is drawn from: p^(1/temperature).

    Only the `top_k` likeliest words count, and of those only the likeliest that together have
    `top_p` of the mass.
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None

    def __post_init__(self):
        top_k, top_p = self.top_k, self.top_p
        expect("temperature", self.temperature > 0, "a number above 0", self.temperature)
        expect("top_k", top_k is None or top_k >= 1, "1 word or more", top_k)
        expect("top_p", top_p is None or 0 < top_p <= 1, "a share above 0 and up to 1", top_p)

    def draw(
        self, model: InferenceModel, h: Rows, context: np.ndarray, generator: np.random.Generator
    ) -> np.ndarray:
        """Draw one word in each state: (N)."""
        if self == Sampling():
            return model.draw(h, context, generator)
        if self.top_k:
            log_p, words = model.top(h, self.top_k, context)
        else:
            log_p = model.log_prob(h, context)
            words = np.broadcast_to(np.arange(log_p.shape[1]), log_p.shape)
        scaled = log_p.astype(np.float64) / self.temperature
        p = np.exp(scaled - scaled.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        if self.top_p:
            p = nucleus(p, self.top_p)
        return np.take_along_axis(words, choose(p, generator)[:, None], 1)[:, 0]


def nucleus(p: np.ndarray, mass: float) -> np.ndarray:
    """Keep the fewest largest entries of each row that have that mass together: (N × V)."""
    count, enough = min(NUCLEUS, p.shape[1]), False
    while not enough:
        order = np.argpartition(-p, count - 1, axis=1)[:, :count]
        enough = count == p.shape[1] or np.take_along_axis(p, order, 1).sum(axis=1).min() >= mass
        count = min(8 * count, p.shape[1])
    by_size = np.argsort(-np.take_along_axis(p, order, 1), axis=1, kind="stable")
    order = np.take_along_axis(order, by_size, 1)
    largest = np.take_along_axis(p, order, 1)
    mass_before = np.cumsum(largest, axis=1) - largest
    kept = np.zeros_like(p)
    np.put_along_axis(kept, order, np.where(mass_before >= mass, 0, largest), 1)
    return kept


class Beam(NamedTuple):
    """Beginnings of one length, read side by side."""

    model: InferenceModel
    text: np.ndarray  # (B × t)
    log_p: np.ndarray  # of each word that was generated (B × g)
    h: Rows  # the encoder's outputs after them (B × H)
    state: State

    @classmethod
    def begin(cls, model: InferenceModel, start: Sequence[int], count: int) -> "Beam":
        """Return the same start several times."""
        words = np.repeat(np.array([END, *start], np.int64)[:, None], count, axis=1)
        h, state = model.advance(words, model.initial_state(count))
        return cls(model, words[1:].T, np.zeros((count, 0)), h[-1], state)

    @property
    def context(self) -> np.ndarray:
        """Return the background's context of the next word: (B × n)."""
        ids = np.pad(self.text, ((0, 0), (0, 1)), constant_values=END)
        contexts = self.model.contexts(Sentences(ids.ravel(), np.full(len(ids), ids.shape[1])))
        return contexts[ids.shape[1] - 1 :: ids.shape[1]]

    def extended(self, rows: np.ndarray, words: np.ndarray, log_p: np.ndarray) -> "Beam":
        """Return some of the beginnings, each with one more word."""
        h, state = self.model.advance(words[None], self.model.columns(self.state, rows))
        text = np.column_stack([self.text[rows], words])
        scores = np.column_stack([self.log_p[rows], log_p])
        return Beam(self.model, text, scores, h[0], state)

    def only(self, rows: np.ndarray) -> "Beam":
        """Return some of the beginnings."""
        state = self.model.columns(self.state, rows)
        return Beam(self.model, self.text[rows], self.log_p[rows], self.h[rows], state)

    def generated(self, row: int) -> Generated:
        scores = self.log_p[row].tolist()
        return Generated(self.text[row, self.text.shape[1] - len(scores) :].tolist(), scores)


def sample(
    model: InferenceModel,
    start: Sequence[int],
    count: int,
    sampling: Sampling,
    generator: np.random.Generator,
    longest: int,
) -> list[Generated]:
    """Draw `count` sentences with this start, of at most `longest` generated words."""
    reading = Beam.begin(model, start, count)
    positions = np.arange(count)  # of the beginnings among all sentences
    sentences: dict[int, Generated] = {}
    for step in range(longest):
        context = reading.context
        words = sampling.draw(model, reading.h, context, generator)
        log_p = model.log_prob_of(reading.h, words[:, None], context)[:, 0]
        reading = reading.extended(np.arange(len(words)), words, log_p)
        is_over = (words == END) | (step == longest - 1)
        for row in np.flatnonzero(is_over).tolist():
            sentences[int(positions[row])] = reading.generated(row)
        going_on = np.flatnonzero(~is_over)
        positions, reading = positions[going_on], reading.only(going_on)
        if not len(positions):
            break
    return [sentences[place] for place in range(count)]


def beam(model: InferenceModel, start: Sequence[int], width: int, longest: int) -> list[Generated]:
    """Find the best sentences with this start by beam search, the best first.

        score = Σ log p / lp(n),    lp(n) = (5 + n) / 6

    n counts the generated words, END included (Wu et al. 2016, equation 14, α = 1). By log p alone
    the empty rest often wins, as every word costs some; with α = 0.7 it still does in narrow beams,
    and a plain mean, without their 5, repeats a likely clause again and again.

    At each length the `width` likeliest beginnings are kept, and every one of them may end. One is
    given up when it would not be among the best, even if all its words up to `longest` were
    certain. With room for all beginnings the search is exact. The log p of a word stays as it is.
    """
    reading = Beam.begin(model, start, 1)
    ended: list[Generated] = []
    for _ in range(longest):
        context, so_far = reading.context, reading.log_p.sum(axis=1)
        end = np.full((len(so_far), 1), END)
        of_end = model.log_prob_of(reading.h, end, context)[:, 0]
        for row in np.flatnonzero(np.isfinite(of_end)).tolist():
            words, scores = reading.generated(row)
            ended.append(Generated([*words, END], [*scores, float(of_end[row])]))
        ended = sorted(ended, key=_score, reverse=True)[:width]
        log_p, ids = model.top(reading.h, width + 1, context)  # one of which may be END
        total = np.where(ids == END, -np.inf, so_far[:, None] + log_p).ravel()
        chosen = np.argsort(-total, kind="stable")[:width]
        worst = _score(ended[-1]) if len(ended) == width else -np.inf
        chosen = chosen[total[chosen] / length_penalty(longest) > worst]
        if not len(chosen):
            break
        rows = chosen // ids.shape[1]
        reading = reading.extended(rows, ids.ravel()[chosen], log_p.ravel()[chosen])
    if not ended:
        raise AccordError(f"no sentence with this start and constraint ends within {longest} words")
    return ended


def length_penalty(words: int) -> float:
    """Return lp(n), by which beam search divides log p."""
    return (5 + words) / 6


def _score(sentence: Generated) -> float:
    return sum(sentence.log_p) / length_penalty(len(sentence.words))
