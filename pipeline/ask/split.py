"""Surprisal of grammar and surprisal of the word: the chain rule over the analyses of a word.

An analysis a has a part of speech c, an inflection m (all of its features, so also the gender of a
noun) and a lemma l. With its share s(a | x) of a word, p(x, a | K) = p(x | K)·s(a | x), and

    −log p(x, a | K) = −log p(c | K) − log p(m | c, K) − log p(l | c, m, K) − log p(x | c, m, l, K)

Each factor is a quotient of exact sums, over signatures or over the words of a lemma. A word of
several analyses has the mean of each term, weighed by p(x, a | K)/p(x | K). Minus the entropy of
these weights is the fifth part, so that the parts add up to −log p(x | K).

A spelled word u has the analyses of all classes, Σ_s p(unk_s | K)·s(a | unk_s)·spell(u | s). All
unknown words have one lemma: its term is the surprise that the word is not a known one, that of the
form is its letters. A known word without lemma is its own. A sentence end, and a word that no
lexicon knows, has a part of speech of its own.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from accord.models.common.arrays import narrow
from accord.models.data import in_a_row
from accord.models.inference.interface import InferenceModel
from accord.models.spelling import with_spelling
from accord.pipeline.base.names import END_ID, UNKNOWN_ID
from accord.pipeline.model.words import Readings

PARTS = ("pos", "inflection", "lemma", "form", "ambiguity")
MEANINGS = (
    "surprisal of the word's part of speech, in bits",
    "surprisal of its features, such as gender, number and tense, given its part of speech",
    "surprisal of its lemma, given both; of an unknown word, that it is unknown",
    "surprisal of its form, given all of these; of an unknown word, its letters",
    "minus the entropy of its analyses; the other parts are means over these",
)
OF_PARTS = {f"bits_{part}": meaning for part, meaning in zip(PARTS, MEANINGS, strict=True)}
LEAST = np.finfo(float).tiny  # smaller sums count as this, in all terms alike


class _Analyses(NamedTuple):
    """The analyses of a word, and the words with the same cell and lemma."""

    cell: np.ndarray  # number of the part of speech and inflection (A)
    share: np.ndarray  # s(a | x) (A)
    like: list[tuple[np.ndarray, np.ndarray]]  # for each, the words' ids and s(a | word)


class _Rows(NamedTuple):
    """Analyses of the words that came."""

    place: np.ndarray  # the number of the word
    cell: np.ndarray
    of_lemma: np.ndarray  # p(c, m, l | K)
    log_p: np.ndarray  # log p(x, a | K)


class Split:
    """Splits the surprisal of words by a model of words."""

    def __init__(self, model: InferenceModel, readings: Readings, unknown: int):
        """`unknown` is the number of classes of unknown words."""
        self.model, self.readings = model, readings
        self.unknown = np.arange(UNKNOWN_ID, UNKNOWN_ID + unknown)
        self._analyses: dict[int, _Analyses] = {}
        self._number_cells()
        self._sum_signatures()
        # s(c, m | unk_s) of each class: (classes × cells)
        self.of_classes = np.zeros((len(self.unknown), len(self.pos)))
        for row, word in zip(self.of_classes, self.unknown.tolist(), strict=True):
            entries = self._entries(word)
            np.add.at(row, self.cell[entries], self.share[entries])

    def _number_cells(self) -> None:
        """Number the pairs of part of speech and inflection; list cells and shares of each set.

        Two sets are added to those of the readings: of the end, and of words without readings.
        """
        distinct, sizes = self.readings.distinct, self.readings.sizes
        pairs = np.char.add(np.char.add(distinct["upos"], "\t"), distinct["feats"])
        names, cell = np.unique(pairs, return_inverse=True)
        _, pos = np.unique(np.char.partition(names, "\t")[:, 0], return_inverse=True)
        self.pos = np.r_[pos, pos.max(initial=-1) + np.array([1, 2])]  # of each cell
        weight = distinct["weight"][distinct["reading"]]
        of_set = np.repeat(np.arange(len(sizes)), sizes)
        total = np.bincount(of_set, weight, minlength=len(sizes))
        self.cell = np.r_[cell[distinct["reading"]], len(names) + np.arange(2)]
        self.share = np.r_[weight / np.where(total > 0, total, 1)[of_set], 1, 1]
        self.sizes = np.r_[sizes, 1, 1]
        self.starts = np.cumsum(self.sizes) - self.sizes
        chosen = np.where(total > 0, np.arange(len(sizes)), len(sizes) + 1)
        self.set = chosen[self.readings.words.column("readings")]
        self.set[END_ID] = len(sizes)

    def _entries(self, word: int) -> slice:
        start = self.starts[self.set[word]]
        return slice(start, start + self.sizes[self.set[word]])

    def _sum_signatures(self) -> None:
        """Sum p(x | s)·s(c, m | x) over the words of each signature, by cell."""
        signature = self.model.signature
        # Words by signature and set: numbers of two bytes are sorted by counting.
        order = np.argsort(narrow(self.set), kind="stable")
        order = order[np.argsort(narrow(signature[order]), kind="stable")]
        pairs = np.stack([signature[order], self.set[order]])
        begins = np.flatnonzero(np.r_[True, (np.diff(pairs) != 0).any(axis=0)])
        mass = np.add.reduceat(np.exp(self.model.log_share[order]), begins)
        signatures, of_pair = pairs[:, begins]
        sizes, count = self.sizes[of_pair], signature.max() + 1
        entries = in_a_row(self.starts[of_pair], sizes)
        keys, number = np.unique(
            self.cell[entries] * count + np.repeat(signatures, sizes), return_inverse=True
        )
        self.mean = np.bincount(number, np.repeat(mass, sizes) * self.share[entries])
        cells, self.mean_signature = np.divmod(keys, count)
        self.used, self.first = np.unique(cells, return_index=True)

    def terms(self, log_p: np.ndarray, words: np.ndarray, letters: np.ndarray | None) -> np.ndarray:
        """Return the surprisal of words, then its parts, in nats: (N × 1 + 5).

        `log_p` has log p of every signature before each word (N × S), `letters` log spell(u | s)
        of each word and class, if the vocabulary is open.
        """
        p = np.exp(log_p, dtype=np.float64)[:, self.mean_signature]
        p *= self.mean
        of_cells = np.zeros((len(words), len(self.pos)))
        of_cells[:, self.used] = np.add.reduceat(p, self.first, axis=1)
        of_pos = of_cells @ np.eye(self.pos.max() + 1)[self.pos]
        place = np.arange(len(words))
        of_words = self._log_prob_of(log_p, place, words)
        if letters is None:
            rows, scores = self._known(log_p, place, words, of_words), of_words
        else:
            of_classes = self._log_prob_of(log_p, place[:, None], self.unknown[None])
            is_unknown = np.isin(words, self.unknown)
            both = np.column_stack([of_words, of_classes])
            scores = with_spelling(both, letters, is_unknown)
            known = np.flatnonzero(~is_unknown)
            rows = self._known(log_p, known, words[known], of_words[known])
            spelled = self._spelled(of_classes, letters)
            rows = _Rows(*map(np.concatenate, zip(rows, spelled, strict=True)))
        rows = _Rows(*(column[np.isfinite(rows.log_p)] for column in rows))
        log_weight = rows.log_p - scores[rows.place]
        sums = (of_pos[rows.place, self.pos[rows.cell]], of_cells[rows.place, rows.cell])
        logs = [np.log(np.maximum(values, LEAST)) for values in (*sums, rows.of_lemma)]
        steps = [-logs[0], logs[0] - logs[1], logs[1] - logs[2], logs[2] - rows.log_p, log_weight]
        weight = np.exp(log_weight)
        columns = [np.bincount(rows.place, weight * s, minlength=len(words)) for s in steps]
        return np.column_stack([-scores, *columns])

    def _log_prob_of(self, log_p: np.ndarray, place: np.ndarray, words: np.ndarray) -> np.ndarray:
        """Return log p of words from that of the signatures at some places."""
        scores = log_p[place, self.model.signature[words]]
        return scores.astype(np.float64) + self.model.log_share[words]

    def _known(
        self, log_p: np.ndarray, place: np.ndarray, words: np.ndarray, of_words: np.ndarray
    ) -> _Rows:
        """Return the analyses of known words."""
        analyses = [self._analyses_of(word) for word in words.tolist()]
        counts = [len(word.cell) for word in analyses]
        like = [words for word in analyses for words in word.like]
        number = np.repeat(np.arange(len(like)), [len(ids) for ids, _ in like])
        rows = np.repeat(place, counts)
        p = np.exp(self._log_prob_of(log_p, rows[number], _joined((ids for ids, _ in like), int)))
        p *= _joined(share for _, share in like)
        return _Rows(
            rows,
            _joined((word.cell for word in analyses), int),
            np.bincount(number, p, minlength=len(like)),
            np.repeat(of_words, counts) + np.log(_joined(word.share for word in analyses)),
        )

    def _spelled(self, of_classes: np.ndarray, letters: np.ndarray) -> _Rows:
        """Return the analyses that words have as spelled ones."""
        log_p = of_classes + letters
        most = np.maximum(log_p.max(axis=1, keepdims=True, initial=-np.inf), np.log(LEAST))
        joint = np.exp(log_p - most) @ self.of_classes
        place, cell = np.nonzero(joint)
        of_lemma = np.exp(of_classes) @ self.of_classes
        log_joint = np.log(joint[place, cell]) + most[place, 0]
        return _Rows(place, cell, of_lemma[place, cell], log_joint)

    def _analyses_of(self, word: int) -> _Analyses:
        """Return the analyses of a known word; the words of its lemmas are sought once."""
        if word not in self._analyses:
            entries = self._entries(word)
            cells, shares = self.cell[entries].tolist(), self.share[entries].tolist()
            lemmas = [""]
            if self.set[word] < len(self.readings.sizes):
                lemmas = [reading.lemma for reading in self.readings.of_word(word)]
            of_pairs: dict[tuple[int, str], float] = {}
            for cell, lemma, share in zip(cells, lemmas, shares, strict=True):
                if share:
                    of_pairs[cell, lemma] = of_pairs.get((cell, lemma), 0) + share
            self._analyses[word] = _Analyses(
                np.array([cell for cell, _ in of_pairs]),
                np.array([*of_pairs.values()]),
                [
                    self._like(cell, lemma) if lemma else (np.array([word]), np.array([share]))
                    for (cell, lemma), share in of_pairs.items()
                ],
            )
        return self._analyses[word]

    def _like(self, cell: int, lemma: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the words with a lemma and cell, and the share that each has of them."""
        words, entries = self.readings.of_lemma(lemma)
        same = self.cell[entries] == cell
        return words[same], self.share[entries[same]]


def _joined(arrays: Iterable[np.ndarray], kind: type = float) -> np.ndarray:
    return np.concatenate([np.zeros(0, kind), *arrays])
