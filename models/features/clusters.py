"""Word classes from bigrams: the exchange algorithm (Kneser & Ney 1993, Martin et al. 1998)."""

import numpy as np

from accord.models.common.batching import Sentences

PASSES = 8  # at most


def exchange_clusters(sentences: Sentences, words: int, classes: int) -> np.ndarray:
    """The class of each of the `words` ids: from 0 for words of the text, `classes` for others.

    Maximises the mutual information of neighbouring words' classes: with N(c, d) counting how
    often class d follows class c, and f(n) = n log n,

        F = Σ_{c,d} f(N(c, d)) − 2·Σ_c f(N(c))

    Every word in turn, the most frequent first, moves to the class where F is largest, until a
    pass moves none or PASSES are done. At first the most frequent words have a class each,
    others one at random.
    """
    counts = np.bincount(sentences.ids, minlength=words)
    by_frequency = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
    of_word = np.full(words, classes)
    of_word[by_frequency] = np.random.default_rng(0).integers(classes, size=len(by_frequency))
    of_word[by_frequency[:classes]] = np.arange(len(by_frequency))[:classes]
    exchange = _Exchange(np.asarray(sentences.ids, np.int64), of_word, counts, classes)
    for _ in range(PASSES):
        if not sum(exchange.move(word) for word in by_frequency.tolist()):
            break
    return of_word


class _Exchange:
    """The class of each word, and how often classes meet.

    `pairs` holds N(c, d) by rows c and, below, the same by rows d: whatever side a neighbour
    stands on, the row of its class has the counts with every class that a word may move to.
    """

    def __init__(self, ids: np.ndarray, of_word: np.ndarray, counts: np.ndarray, classes: int):
        self.of_word, self.counts, self.classes = of_word, counts, classes
        self.sizes = np.bincount(of_word[ids], minlength=classes).astype(float)
        pairs = _pairs(of_word[ids], classes)
        self.pairs = np.concatenate([pairs, pairs.T])
        self._keep_neighbours(ids)

    def _keep_neighbours(self, ids: np.ndarray) -> None:
        """For each word, those before it and those after it, with counts; itself apart."""
        words = len(self.of_word)
        bigrams, count = np.unique(np.roll(ids, 1) * words + ids, return_counts=True)
        before, after = np.divmod(bigrams, words)
        same = before == after
        self.doubled = np.bincount(before[same], count[same], minlength=words)
        before, after, count = before[~same], after[~same], count[~same]
        word = np.concatenate([after, before])
        order = np.argsort(word, kind="stable")
        self.neighbour = np.concatenate([before, after])[order]
        self.side = np.repeat([0, self.classes], len(before))[order]
        self.times = np.concatenate([count, count])[order].astype(float)
        self.starts = np.searchsorted(word[order], np.arange(words + 1)).tolist()

    def move(self, word: int) -> bool:
        """Move a word to its best class; return whether that changed its class."""
        entries = slice(self.starts[word], self.starts[word + 1])
        rows = self.of_word[self.neighbour[entries]] + self.side[entries]
        met = np.bincount(rows, self.times[entries], minlength=2 * self.classes)
        rows = np.flatnonzero(met)
        here, doubled = int(self.of_word[word]), self.doubled[word]
        self._add(here, rows, -met, -doubled, -self.counts[word])
        gain = self._gain(rows, met, doubled, self.counts[word])
        best = int(gain.argmax())
        best = here if gain[here] >= gain[best] - 1e-9 else best
        self._add(best, rows, met, doubled, self.counts[word])
        self.of_word[word] = best
        return best != here

    def _gain(self, rows: np.ndarray, met: np.ndarray, doubled: float, count: int) -> np.ndarray:
        """The gain of F for each class that the word, once taken out, may move to."""
        pairs = self.pairs[rows]
        gain = (_f(pairs + met[rows, None]) - _f(pairs)).sum(axis=0)
        gain -= 2 * (_f(self.sizes + count) - _f(self.sizes))
        before, after = met[: self.classes], met[self.classes :]
        if doubled or (before * after).any():  # N(c, c) grows by all three at once
            own = self.pairs.diagonal()
            gain += _f(own + before + after + doubled) + _f(own)
            gain -= _f(own + before) + _f(own + after)
        return gain

    def _add(self, to: int, rows: np.ndarray, met: np.ndarray, doubled: float, count: int) -> None:
        """Add the neighbours of a word to the counts of a class."""
        below = self.classes + to
        self.sizes[to] += count
        self.pairs[rows, to] += met[rows]
        self.pairs[to] += met[self.classes :]
        self.pairs[below] += met[: self.classes]
        if doubled:
            self.pairs[[to, below], to] += doubled


def _pairs(following: np.ndarray, classes: int) -> np.ndarray:
    """N(c, d) of a text in classes; END, its last, stands before its first."""
    flat = np.roll(following, 1) * classes + following
    return np.bincount(flat, minlength=classes**2).reshape(classes, classes).astype(float)


def _f(n: np.ndarray) -> np.ndarray:
    """n log n, of whole numbers."""
    return n * np.log(np.maximum(n, 1))
