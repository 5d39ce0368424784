"""Sentences, batches, encoder states, and the interface of a language model. Imports no torch.

Sentences that begin alike are also read as a tree. A *branch* is a word after a beginning. The
sentences of an agreement suite differ in few words: in CLAMS French 753,896 words and ends are
201,987 branches, which leave 114,468 beginnings.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

import numpy as np

from accord.errors import AccordError

if TYPE_CHECKING:
    from torch import Tensor


def in_a_row(starts: np.ndarray | int, lengths: np.ndarray) -> np.ndarray:
    """All positions of the first range, then all of the second…"""
    before = np.cumsum(lengths) - lengths
    return np.arange(lengths.sum()) + np.repeat(starts - before, lengths)


def in_columns(starts: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A column for each range, padded with 0, and a mask of the real positions: (T × B)."""
    steps = np.arange(lengths.max(initial=0))[:, None]
    is_place = steps < lengths
    return np.where(is_place, starts + steps, 0), is_place


class Sentences(NamedTuple):
    """Sentences in a row: the ids of all words, and the length of each sentence, END included.

    `labels` (sentences × k) are what is known of each beside its words, one label of each kind,
    numbered from 1; 0 is none. `documents` numbers the document of each sentence: neighbours with
    the same number are read as one text, in which the state is carried across sentence ends.
    Without them every sentence is read by itself. `weights` say how often an epoch of training
    reads each sentence, on average; without them it reads each once. A model that was trained on
    single sentences reads each by itself, whatever its document, unless `carried` is true.
    `before` (sentences × n) has the last words of the sentence before each, for a model that reads
    it as its condition.
    """

    ids: np.ndarray
    lengths: np.ndarray
    labels: np.ndarray | None = None
    documents: np.ndarray | None = None
    weights: np.ndarray | None = None
    carried: bool = False  # the state across sentence ends, by every model
    before: np.ndarray | None = None

    @property
    def starts(self) -> np.ndarray:
        return np.cumsum(self.lengths) - self.lengths

    @property
    def offsets(self) -> np.ndarray:
        """How many words of its sentence are before each word."""
        return in_a_row(0, self.lengths)

    def chosen(self, chosen: np.ndarray) -> "Sentences":
        """The sentences whose entry is true."""
        ids = self.ids[np.repeat(chosen, self.lengths)]
        return self._of_sentences(ids, chosen)

    def _of_sentences(self, ids: np.ndarray, chosen: np.ndarray | slice) -> "Sentences":
        """Some sentences, whose words have these ids."""
        labels, documents, weights, before = (
            None if each is None else each[chosen]
            for each in (self.labels, self.documents, self.weights, self.before)
        )
        lengths = self.lengths[chosen]
        return Sentences(ids, lengths, labels, documents, weights, self.carried, before)

    def texts(self) -> tuple[np.ndarray, np.ndarray]:
        """Where the texts that are read as one begin, and their lengths: documents or sentences."""
        if self.documents is None:
            return self.starts, self.lengths
        first = self.first_sentences()
        return self.starts[first], np.add.reduceat(self.lengths, first)

    def first_sentences(self) -> np.ndarray:
        """Return the number of the first sentence of each text."""
        if self.documents is None:
            return np.arange(len(self.lengths))
        goes_on = self.documents[1:] == self.documents[:-1]
        return np.flatnonzero(np.concatenate([[True], ~goes_on]))[: len(self.lengths)]

    def weights_of_texts(self) -> np.ndarray | None:
        """How often an epoch reads each text: as often as its first sentence."""
        return None if self.weights is None else self.weights[self.first_sentences()]

    @property
    def epoch_words(self) -> float:
        """How many words an epoch reads, on average."""
        if self.weights is None:
            return len(self.ids)
        _, lengths = self.texts()
        return float(self.weights_of_texts() @ lengths)

    def alone(self) -> "Sentences":
        """The same sentences, each read by itself."""
        return self._replace(documents=None)

    def backward_order(self) -> np.ndarray:
        """The positions of all words from the last to the first of each sentence, then its end.

        Applied twice it is the order as it was.
        """
        last = np.repeat(self.starts + self.lengths - 1, self.lengths)
        mirrored = 2 * np.repeat(self.starts, self.lengths) + np.repeat(self.lengths, self.lengths)
        position = np.arange(len(self.ids))
        return np.where(position == last, position, mirrored - 2 - position)

    def backwards(self) -> "Sentences":
        """The sentences from their last word to their first, each by itself, the ends in place."""
        return self._replace(ids=self.ids[self.backward_order()], documents=None)

    def parts(self, folds: int) -> np.ndarray:
        """The part of the text that each sentence is in, from 1."""
        return np.arange(len(self.lengths)) % folds + 1

    def part(self, first: int, stop: int) -> "Sentences":
        """A copy of the sentences from `first` up to `stop`."""
        lengths = self.lengths[first:stop]
        start = int(self.lengths[:first].sum())
        ids = np.array(self.ids[start : start + int(lengths.sum())])
        return self._of_sentences(ids, slice(first, stop))

    @property
    def extra(self) -> dict[str, np.ndarray]:
        """Further inputs of each word by name: labels of its sentence, the sentence before."""
        known = {"labels": self.labels, "before": self.before}
        return {
            name: np.repeat(each, self.lengths, axis=0)
            for name, each in known.items()
            if each is not None
        }

    def with_before(self, reach: int) -> "Sentences":
        """The same, each with the last words of the sentence before it in its document."""
        if self.documents is None or self.before is not None:
            return self
        ends = self.starts + self.lengths - 1  # END is left out
        back = np.arange(reach, 0, -1)
        within = back <= (self.lengths[:-1] - 1)[:, None]
        within &= (self.documents[1:] == self.documents[:-1])[:, None]
        words = self.ids[np.maximum(ends[:-1, None] - back, 0)]
        before = np.full((len(self.lengths), reach), NO_WORD, np.int32)
        before[1:] = np.where(within, words, NO_WORD)
        return self._replace(before=before)


def preceding(sentences: Sentences, reach: int, end: int) -> np.ndarray:
    """The words before each word (N × reach), the most recent last; END before a sentence."""
    back = np.arange(reach, 0, -1)
    positions = np.maximum(np.arange(len(sentences.ids))[:, None] - back, 0)
    return np.where(sentences.offsets[:, None] >= back, sentences.ids[positions], end).astype(
        np.int64
    )


END = 0  # closes every sentence and stands before its first word
BAGGING = 1996  # so that a seed draws other numbers here than elsewhere
NO_WORD = -1  # the target behind a sentence that is shorter than others of its batch


class Batch(NamedTuple):
    """Words and the word after each of them, in columns."""

    words: "Tensor"  # (T × B)
    targets: "Tensor"  # (T × B), NO_WORD where there is none
    positions: np.ndarray  # (T × B), where the targets are in the text
    continues: bool  # whether columns continue those of the batch before


class Prepared(NamedTuple):
    """The tensors of a batch that a step computes with."""

    words: "Tensor"  # (T × B)
    targets: "Tensor"  # (N), without NO_WORD
    context: "Tensor"  # of each target, for the output (N × n)
    real: "Tensor | None"  # the positions of the targets among the T·B; None: all
    extra: dict[str, "Tensor"]  # further inputs of the words (T × B × k), by name
    of_terms: tuple[tuple["Tensor", ...], ...]  # the data of each term of the loss
    continues: bool  # whether columns continue those of the batch before
    word_count: int  # targets of the whole batch, which several processes may share
    columns: int  # of the whole batch
    room: int | None = None  # table entries that the background reserves in a recorded step


class BatchPlan(Protocol):
    """The part of a recipe that says how a text is read."""

    @property
    def text(self) -> str: ...
    @property
    def batch(self) -> int: ...
    @property
    def bptt(self) -> int: ...
    @property
    def vary_bptt(self) -> bool: ...
    @property
    def bagging(self) -> bool: ...
    @property
    def seed(self) -> int: ...


def batches(
    sentences: Sentences, recipe: BatchPlan, generator: np.random.Generator
) -> Iterator[Batch]:
    """One epoch."""
    if recipe.text == "sentences":
        chosen = drawn(len(sentences.lengths), recipe)
        return by_length(sentences, recipe.batch, generator, chosen)
    return windows(sentences, recipe, generator)


def drawn(sentences: int, recipe: BatchPlan) -> np.ndarray:
    """The sentences that an epoch reads: all, or with bagging as many, drawn with replacement.

    Every epoch of one seed reads the same (Breiman 1996).
    """
    if not recipe.bagging:
        return np.arange(sentences)
    return np.random.default_rng([BAGGING, recipe.seed]).integers(sentences, size=sentences)


def by_length(
    sentences: Sentences,
    batch: int,
    generator: np.random.Generator,
    chosen: np.ndarray | None = None,
) -> Iterator[Batch]:
    """Whole sentences in columns, of like length together, the batches in random order.

    All sentences, or the `chosen` ones by number.
    """
    chosen = np.arange(len(sentences.lengths)) if chosen is None else chosen
    noisy = sentences.lengths[chosen] + generator.uniform(-2, 2, len(chosen))
    order = chosen[np.argsort(noisy, kind="stable")]
    starts = sentences.starts
    groups = [order[start : start + batch] for start in range(0, len(order), batch)]
    for number in generator.permutation(len(groups)):
        chosen = groups[number]
        positions, is_word = in_columns(starts[chosen], sentences.lengths[chosen])
        targets = np.where(is_word, sentences.ids[positions], NO_WORD)
        yield Batch(*_after(targets), positions, False)


def of_like_length(
    sentences: Sentences, at_once: int, piece: int | None = None
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Positions (T × B) of words, the longest texts first, and which of them are real.

    A text is a sentence, or a document where the sentences have some. A batch has at most `at_once`
    positions, or one text that is longer. Who reads a batch in pieces of so many words gets more of
    the texts that are longer.
    """
    starts, lengths = sentences.texts()
    order, first = np.argsort(-lengths, kind="stable"), 0
    while first < len(order):
        longest = int(lengths[order[first]])
        read = longest if piece is None else min(longest, piece)
        chosen = order[first : first + max(1, at_once // read)]
        first += len(chosen)
        yield in_columns(starts[chosen], lengths[chosen])


def _after(targets: np.ndarray) -> "tuple[Tensor, Tensor]":
    """Each target's preceding word, END before the first, and the targets."""
    first = np.full((1, targets.shape[1]), END, targets.dtype)
    words = np.concatenate([first, targets[:-1]])
    return _tensor(np.where(words == NO_WORD, END, words)), _tensor(targets)


def windows(
    sentences: Sentences, recipe: BatchPlan, generator: np.random.Generator
) -> Iterator[Batch]:
    """One epoch of the shuffled stream. Every column continues where it stopped.

    Sentences are shuffled, or whole documents.
    """
    if recipe.text == "documents" and sentences.documents is None:
        raise AccordError("train.text: documents expects a corpus that has some; it has sentences")
    if recipe.text != "documents":
        sentences = sentences.alone()
    starts, lengths = sentences.texts()
    chosen = drawn(len(lengths), recipe)
    if (weights := sentences.weights_of_texts()) is not None:
        chosen = np.repeat(chosen, _times(weights[chosen], generator))
    order = generator.permutation(chosen)
    stream = in_a_row(starts[order], lengths[order])
    columns = min(recipe.batch, len(stream))
    length = len(stream) // columns
    positions = stream[: length * columns].reshape(columns, length).T
    words, targets = _after(sentences.ids[positions])
    start = 0
    while start < length:
        stop = min(length, start + _window_length(recipe, generator))
        yield Batch(words[start:stop], targets[start:stop], positions[start:stop], start > 0)
        start = stop


def _times(weights: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """How often an epoch reads each text: 2.3 is two times, and a third time by chance."""
    return np.floor(weights + generator.random(len(weights))).astype(np.int64)


def _window_length(recipe: BatchPlan, generator: np.random.Generator) -> int:
    """Most windows near the full length, some near half, so that their borders move (AWD-LSTM)."""
    if not recipe.vary_bptt:
        return recipe.bptt
    base = recipe.bptt if generator.random() < 0.95 else recipe.bptt / 2
    return max(5, round(generator.normal(base, 5)))


def _tensor(array: np.ndarray) -> "Tensor":
    import torch  # here, because counting does not need torch

    return torch.from_numpy(np.ascontiguousarray(array, dtype=np.int64))


class Model(Protocol):
    """Any language model; one of subwords answers only `score`, in its own way."""

    def score(self, sentences: Sentences) -> np.ndarray:
        """log p of every word of every sentence in order, END included, in nats."""

    def score_beside(self, sentences: Sentences, others: Sequence[int]) -> np.ndarray:
        """log p of every word, in the first column, and of others at its position: (N × 1 + M)."""


State = tuple[tuple["Tensor", ...], ...]


def detached(state: State) -> State:
    """The same state, cut from the graph that computed it."""
    return tuple(tuple(tensor.detach() for tensor in layer) for layer in state)


def columns(state: State, chosen: "Tensor | slice") -> State:
    """Those columns of a state, whole in memory, as the kernels of a GPU want it."""
    return tuple(tuple(tensor[:, chosen].contiguous() for tensor in layer) for layer in state)


class ColumnShare(Protocol):
    """The columns of a batch that this process reads, if several share it."""

    @property
    def of(self) -> int:
        """How many columns the whole batch has."""

    @property
    def columns(self) -> slice: ...


@runtime_checkable
class DrawsForColumns(Protocol):
    """A module that draws for all columns of a batch, whichever process reads them."""

    share: ColumnShare | None


TREE_WORDS_AT_ONCE = 1 << 14  # in one tree, padding included
SORTED_BY = 32  # words: few sentences have more in common
COMPARED = 4  # words, to see whether sentences have much in common


def begin_alike(sentences: Sentences) -> bool:
    """Whether most sentences share their beginning with another, so that a tree saves time."""
    _, ids = _rows(sentences, np.arange(len(sentences.lengths)), COMPARED)
    return 2 * len({row.tobytes() for row in ids}) < len(ids)


def trees(sentences: Sentences) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Sentences that begin alike together, a row each: positions in the text and ids (B × T)."""
    _, ids = _rows(sentences, np.arange(len(sentences.lengths)), SORTED_BY)
    order = np.lexsort(ids.T[::-1])
    size = max(1, TREE_WORDS_AT_ONCE // sentences.lengths.max())
    for start in range(0, len(order), size):
        chosen = order[start : start + size]
        yield _rows(sentences, chosen, sentences.lengths[chosen].max())


def _rows(sentences: Sentences, chosen: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Places and ids of the first words of some sentences, NO_WORD behind an end (B × T)."""
    lengths = np.minimum(sentences.lengths[chosen], most)
    positions, is_word = (each.T for each in in_columns(sentences.starts[chosen], lengths))
    return positions, np.where(is_word, sentences.ids[positions], NO_WORD).astype(np.int64)


def branches(ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which words begin a branch, and the branch of each word, numbered step by step (B × T)."""
    begins = np.ones(ids.shape, bool)
    begins[1:] = np.logical_or.accumulate(ids[1:] != ids[:-1], axis=1)
    begins &= ids != NO_WORD
    return begins, np.cumsum(begins.T).reshape(ids.T.shape).T - 1
