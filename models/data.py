"""Sentences, batches, encoder states, and the interface of a language model. Imports no torch.

Sentences with a common beginning are also read as a tree. A *branch* is a word after a beginning.
The sentences of an agreement suite differ in few words: in CLAMS French 753,896 words and ends are
201,987 branches, which leave 114,468 beginnings.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from accord.errors import AccordError
from accord.models.recipe import Recipe

if TYPE_CHECKING:
    from torch import Tensor

END = 0  # closes every sentence and stands before its first word
NO_WORD = -1  # the target behind a sentence that is shorter than others of its batch
BAGGING = 1996  # so that a seed draws other numbers here than elsewhere

State = tuple[tuple["Tensor", ...], ...]  # of an encoder: tensors (1 × B × H) of each layer


class Sentences(NamedTuple):
    """A text: the ids of all words in order, and the length of each sentence, END included.

    `labels` (sentences × k) condition the model, one label of each kind, numbered from 1; 0 is
    none. `documents` numbers the document of each sentence: neighbours with the same number are
    read as one text, in which the state is carried across sentence ends. Without it every sentence
    is read alone. A model that was trained on single sentences reads each alone, whatever its
    document, unless `carried` is true. `weights` is how often an epoch of training reads each
    sentence, on average; by default once. `previous` (sentences × n) has the last words of the
    previous sentence, for a model that they condition.
    """

    ids: np.ndarray
    lengths: np.ndarray
    labels: np.ndarray | None = None
    documents: np.ndarray | None = None
    weights: np.ndarray | None = None
    carried: bool = False
    previous: np.ndarray | None = None

    @property
    def starts(self) -> np.ndarray:
        """Return the position of each sentence's first word."""
        return np.cumsum(self.lengths) - self.lengths

    @property
    def offsets(self) -> np.ndarray:
        """Return the number of words of its sentence before each word."""
        return in_a_row(0, self.lengths)

    def chosen(self, mask: np.ndarray) -> "Sentences":
        """Return the sentences whose entry is true."""
        return self._select(self.ids[np.repeat(mask, self.lengths)], mask)

    def part(self, first: int, stop: int) -> "Sentences":
        """Return a copy of the sentences from `first` up to `stop`."""
        start = int(self.lengths[:first].sum())
        stop_word = start + int(self.lengths[first:stop].sum())
        return self._select(np.array(self.ids[start:stop_word]), slice(first, stop))

    def _select(self, ids: np.ndarray, sentences: np.ndarray | slice) -> "Sentences":
        """Return some sentences, whose words have these ids."""
        labels, documents, weights, previous = (
            None if values is None else values[sentences]
            for values in (self.labels, self.documents, self.weights, self.previous)
        )
        lengths = self.lengths[sentences]
        return Sentences(ids, lengths, labels, documents, weights, self.carried, previous)

    def first_sentences(self) -> np.ndarray:
        """Return the number of the first sentence of each text: of a document, or a sentence."""
        if self.documents is None:
            return np.arange(len(self.lengths))
        is_same = self.documents[1:] == self.documents[:-1]
        return np.flatnonzero(np.concatenate([[True], ~is_same]))[: len(self.lengths)]

    def texts(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the first position and the length of each text: of a document, or a sentence."""
        if self.documents is None:
            return self.starts, self.lengths
        first = self.first_sentences()
        return self.starts[first], np.add.reduceat(self.lengths, first)

    def weights_of_texts(self) -> np.ndarray | None:
        """Return how often an epoch reads each text: as often as its first sentence."""
        return None if self.weights is None else self.weights[self.first_sentences()]

    @property
    def epoch_words(self) -> float:
        """Return the number of words that an epoch reads, on average."""
        if self.weights is None:
            return len(self.ids)
        _, lengths = self.texts()
        return float(self.weights_of_texts() @ lengths)

    def alone(self) -> "Sentences":
        """Return the same sentences, each read by itself."""
        return self._replace(documents=None)

    def backward_order(self) -> np.ndarray:
        """Return the positions of the words from the last to the first of each sentence, then END.

        Applied twice it is the original order.
        """
        last = np.repeat(self.starts + self.lengths - 1, self.lengths)
        mirrored = 2 * np.repeat(self.starts, self.lengths) + np.repeat(self.lengths, self.lengths)
        position = np.arange(len(self.ids))
        return np.where(position == last, position, mirrored - 2 - position)

    def backwards(self) -> "Sentences":
        """Return the sentences from their last word to their first, each alone, END in place."""
        return self._replace(ids=self.ids[self.backward_order()], documents=None)

    def parts(self, folds: int) -> np.ndarray:
        """Return the part of the text that each sentence is in, from 1."""
        return np.arange(len(self.lengths)) % folds + 1

    @property
    def extra(self) -> dict[str, np.ndarray]:
        """Further inputs of each word by name: labels of its sentence, the previous sentence."""
        inputs = {"labels": self.labels, "previous": self.previous}
        return {
            name: np.repeat(values, self.lengths, axis=0)
            for name, values in inputs.items()
            if values is not None
        }

    def with_previous(self, reach: int) -> "Sentences":
        """Return the sentences with `previous`: words of the previous sentence of the document."""
        if self.documents is None or self.previous is not None:
            return self
        ends = self.starts + self.lengths - 1  # END is left out
        back = np.arange(reach, 0, -1)
        within = back <= (self.lengths[:-1] - 1)[:, None]
        within &= (self.documents[1:] == self.documents[:-1])[:, None]
        words = self.ids[np.maximum(ends[:-1, None] - back, 0)]
        previous = np.full((len(self.lengths), reach), NO_WORD, np.int32)
        previous[1:] = np.where(within, words, NO_WORD)
        return self._replace(previous=previous)


def in_a_row(starts: np.ndarray | int, lengths: np.ndarray) -> np.ndarray:
    """Return all positions of the first range, then all of the second, and so on."""
    first = np.cumsum(lengths) - lengths
    return np.arange(lengths.sum()) + np.repeat(starts - first, lengths)


def in_columns(starts: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a column for each range, padded with 0, and the mask of its positions: (T × B)."""
    steps = np.arange(lengths.max(initial=0))[:, None]
    is_position = steps < lengths
    return np.where(is_position, starts + steps, 0), is_position


def preceding(sentences: Sentences, reach: int, end: int) -> np.ndarray:
    """Return the words before each word (N × reach), the last one last; END before a sentence."""
    back = np.arange(reach, 0, -1)
    positions = np.maximum(np.arange(len(sentences.ids))[:, None] - back, 0)
    return np.where(sentences.offsets[:, None] >= back, sentences.ids[positions], end).astype(
        np.int64
    )


class Batch(NamedTuple):
    """Words and the word after each of them, in columns."""

    words: "Tensor"  # (T × B)
    targets: "Tensor"  # (T × B), NO_WORD where there is none
    positions: np.ndarray  # of the targets in the text (T × B)
    continues: bool  # whether columns continue those of the batch before
    packed: "Packed | None" = None  # the texts of the column, if one holds many


class Packed(NamedTuple):
    """Texts that follow each other in one column; each is read from the zero state."""

    place: "Tensor"  # of each word in its text (N)
    starts: "Tensor"  # of the texts, then N as often as there is room (int32)
    longest: int  # words of a text at most


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
    packed: Packed | None = None  # the texts of the column, if one holds many
    room: int | None = None  # table entries that the background reserves in a recorded step


def batches(
    sentences: Sentences, recipe: Recipe, generator: np.random.Generator
) -> Iterator[Batch]:
    """Return the batches of one epoch."""
    if recipe.text == "sentences":
        chosen = drawn(len(sentences.lengths), recipe)
        return by_length(sentences, recipe.batch, generator, chosen)
    if recipe.packs_documents:
        return segments(sentences, recipe, generator)
    return windows(sentences, recipe, generator)


def drawn(texts: int, recipe: Recipe) -> np.ndarray:
    """Return the texts that an epoch reads: all, or with bagging as many, drawn with replacement.

    Every epoch of one seed reads the same (Breiman 1996).
    """
    if not recipe.bagging:
        return np.arange(texts)
    return np.random.default_rng([BAGGING, recipe.seed]).integers(texts, size=texts)


def by_length(
    sentences: Sentences,
    batch: int,
    generator: np.random.Generator,
    chosen: np.ndarray | None = None,
) -> Iterator[Batch]:
    """Yield whole sentences in columns, of similar length together, the batches in random order.

    `chosen` are numbers of sentences, by default all.
    """
    chosen = np.arange(len(sentences.lengths)) if chosen is None else chosen
    noisy = sentences.lengths[chosen] + generator.uniform(-2, 2, len(chosen))
    order = chosen[np.argsort(noisy, kind="stable")]
    starts = sentences.starts
    groups = [order[start : start + batch] for start in range(0, len(order), batch)]
    for number in generator.permutation(len(groups)):
        group = groups[number]
        positions, is_word = in_columns(starts[group], sentences.lengths[group])
        targets = np.where(is_word, sentences.ids[positions], NO_WORD)
        yield Batch(*_words_and_targets(targets), positions, False)


def windows(
    sentences: Sentences, recipe: Recipe, generator: np.random.Generator
) -> Iterator[Batch]:
    """Yield one epoch of the shuffled stream of sentences or whole documents, window by window.

    Every column continues where it stopped.
    """
    if recipe.text != "documents":
        sentences = sentences.alone()
    starts, lengths = sentences.texts()
    order = generator.permutation(texts_of_epoch(sentences, recipe, generator))
    stream = in_a_row(starts[order], lengths[order])
    columns = min(recipe.batch, len(stream))
    length = len(stream) // columns
    positions = stream[: length * columns].reshape(columns, length).T
    words, targets = _words_and_targets(sentences.ids[positions])
    start = 0
    while start < length:
        stop = min(length, start + _window_length(recipe, generator))
        yield Batch(words[start:stop], targets[start:stop], positions[start:stop], start > 0)
        start = stop


def texts_of_epoch(
    sentences: Sentences, recipe: Recipe, generator: np.random.Generator
) -> np.ndarray:
    """Return the numbers of the texts that an epoch reads, as often as their weights say."""
    if recipe.text == "documents" and sentences.documents is None:
        raise AccordError("train.text: documents expects a corpus that has some; it has sentences")
    chosen = drawn(len(sentences.texts()[0]), recipe)
    if (weights := sentences.weights_of_texts()) is None:
        return chosen
    # 2.3 reads a text twice, and a third time by chance.
    times = np.floor(weights[chosen] + generator.random(len(chosen))).astype(np.int64)
    return np.repeat(chosen, times)


ROOM = 8  # words of a text at least, on average over a batch; more room is made if they have fewer


def segments(
    sentences: Sentences, recipe: Recipe, generator: np.random.Generator
) -> Iterator[Batch]:
    """Yield one epoch of segments of documents in random order, batch by batch in one column.

    A segment has at most `bptt` words, a batch `batch`·`bptt`. Documents are cut at a random place,
    and before the share `zero_state` of their sentences, as a sentence may be scored alone.
    """
    starts, lengths = sentences.texts()
    chosen = texts_of_epoch(sentences, recipe, generator)
    positions = in_a_row(starts[chosen], lengths[chosen])
    begins = np.zeros(len(sentences.ids), bool)
    begins[starts] = True
    begins[sentences.starts[generator.random(len(sentences.lengths)) < recipe.zero_state]] = True
    first = np.flatnonzero(begins[positions])
    sizes = np.diff(first, append=len(positions))
    is_long = sizes > recipe.bptt
    shift = generator.integers(1, recipe.bptt + 1, is_long.sum())
    further = -(-(sizes[is_long] - shift) // recipe.bptt)  # cuts of each long one
    cuts = in_a_row(0, further) * recipe.bptt + np.repeat(first[is_long] + shift, further)
    first = np.sort(np.concatenate([first, cuts]))
    sizes = np.diff(first, append=len(positions))
    order = generator.permutation(len(first))
    positions = positions[in_a_row(first[order], sizes[order])]
    begins = np.zeros(len(positions), bool)
    begins[np.cumsum(sizes[order])[:-1]] = True
    size = min(recipe.batch * recipe.bptt, len(positions))
    for start in range(0, len(positions) - size + 1, size):
        part = slice(start, start + size)
        yield _packed_batch(sentences.ids, positions[part], begins[part], recipe.bptt)


def _packed_batch(
    ids: np.ndarray, positions: np.ndarray, begins: np.ndarray, longest: int
) -> Batch:
    """Return the batch of some positions in one column; a text begins with each true one."""
    size = len(positions)
    first = np.flatnonzero(np.concatenate([[True], begins[1:]]))
    sizes = np.diff(first, append=size)
    room = -(-len(sizes) // (size // ROOM + 1)) * (size // ROOM + 1)  # so that few numbers differ
    starts = np.concatenate([first, np.full(room + 1 - len(first), size)])
    words = np.where(positions > 0, ids[positions - 1], END)
    packed = Packed(_tensor(in_a_row(0, sizes)), _tensor(starts).int(), longest)
    column = positions[:, None]
    return Batch(_tensor(words[:, None]), _tensor(ids[column]), column, False, packed)


def _window_length(recipe: Recipe, generator: np.random.Generator) -> int:
    """Draw a length near the full one, or sometimes near half, to move borders (AWD-LSTM)."""
    if not recipe.vary_bptt:
        return recipe.bptt
    base = recipe.bptt if generator.random() < 0.95 else recipe.bptt / 2
    return max(5, round(generator.normal(base, 5)))


def _words_and_targets(targets: np.ndarray) -> "tuple[Tensor, Tensor]":
    """Return the word before each target, END before the first, and the targets."""
    first = np.full((1, targets.shape[1]), END, targets.dtype)
    words = np.concatenate([first, targets[:-1]])
    return _tensor(np.where(words == NO_WORD, END, words)), _tensor(targets)


def _tensor(array: np.ndarray) -> "Tensor":
    import torch  # here, because counting does not need torch

    return torch.from_numpy(np.ascontiguousarray(array, dtype=np.int64))


def of_like_length(
    sentences: Sentences, at_once: int, piece: int | None = None
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield positions (T × B) of texts, the longest first, and the mask of the real ones.

    A text is a document, or a sentence without documents. A batch has at most `at_once` positions,
    or one longer text. A caller that reads only `piece` words of a batch at once gets more of the
    texts that are longer.
    """
    starts, lengths = sentences.texts()
    order, first = np.argsort(-lengths, kind="stable"), 0
    while first < len(order):
        longest = int(lengths[order[first]])
        read = longest if piece is None else min(longest, piece)
        chosen = order[first : first + max(1, at_once // read)]
        first += len(chosen)
        yield in_columns(starts[chosen], lengths[chosen])


class Model(Protocol):
    """Any language model; one of subwords answers only `score`, in its own way."""

    def score(self, sentences: Sentences) -> np.ndarray:
        """Return log p of every word of every sentence in order, END included, in nats."""

    def score_alternatives(self, sentences: Sentences, others: Sequence[int]) -> np.ndarray:
        """Return log p of every word, then of other words at its position: (N × 1 + M)."""


def detached(state: State) -> State:
    """Return the same state, cut from the graph that computed it."""
    return tuple(tuple(tensor.detach() for tensor in layer) for layer in state)


def columns(state: State, chosen: "Tensor | slice") -> State:
    """Return some columns of a state, contiguous in memory, as the kernels of a GPU want it."""
    return tuple(tuple(tensor[:, chosen].contiguous() for tensor in layer) for layer in state)


TREE_WORDS_AT_ONCE = 1 << 14  # in one tree, padding included
SORTED_BY = 32  # words: few sentences have more in common
COMPARED = 4  # words, to see whether sentences have much in common


def begin_alike(sentences: Sentences) -> bool:
    """Return whether most sentences share their beginning with another: a tree then saves time."""
    _, ids = _rows(sentences, np.arange(len(sentences.lengths)), COMPARED)
    return 2 * len({row.tobytes() for row in ids}) < len(ids)


def trees(sentences: Sentences) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield sentences with common beginnings together: positions in the text and ids (B × T)."""
    _, ids = _rows(sentences, np.arange(len(sentences.lengths)), SORTED_BY)
    order = np.lexsort(ids.T[::-1])
    size = max(1, TREE_WORDS_AT_ONCE // sentences.lengths.max())
    for start in range(0, len(order), size):
        chosen = order[start : start + size]
        yield _rows(sentences, chosen, sentences.lengths[chosen].max())


def _rows(sentences: Sentences, chosen: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return positions and ids of the first words of sentences, NO_WORD behind an end (B × T)."""
    lengths = np.minimum(sentences.lengths[chosen], most)
    positions, is_word = (part.T for part in in_columns(sentences.starts[chosen], lengths))
    return positions, np.where(is_word, sentences.ids[positions], NO_WORD).astype(np.int64)


def branches(ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return which words begin a branch, and each word's branch, numbered by step (B × T)."""
    begins = np.ones(ids.shape, bool)
    begins[1:] = np.logical_or.accumulate(ids[1:] != ids[:-1], axis=1)
    begins &= ids != NO_WORD
    return begins, np.cumsum(begins.T).reshape(ids.T.shape).T - 1
