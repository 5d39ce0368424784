"""Vectors, classes and letters of words.

    v(x) = s·P·(u(x) − ū)

u(x) is the vector of a published file, ū the mean over the words that have one, the rows of P their
first principal components, and s makes the variance of all entries 1. A word is looked up as it is
written in training most often, or else as the lexicon writes it, then lowercased, then with
one capital, then in capitals. One that has no vector has zeros.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from accord.errors import AccordError, NotFoundError
from accord.lexicon.vectors import VectorFile, kmeans, read_arrays, read_spacy, read_text
from accord.models.common.arrays import load_array, load_arrays
from accord.models.data import Sentences
from accord.pipeline.base.arrow import batches
from accord.pipeline.base.messages import say
from accord.pipeline.base.names import END_ID, is_special, read_as_unknown
from accord.pipeline.config.sections import SPACY, VectorParams
from accord.pipeline.data.catalogue import folder_of
from accord.pipeline.data.templates import VECTORS

TEXTS = (".vec", ".vec.gz", ".vec.bz2", ".vec.xz")
ROUNDING = 1e-12  # of the largest number: smaller differences are those of rounding the mean


@dataclass(frozen=True)
class WordVectors:
    """Distinct vectors, of which the first is zero, and the row of each word."""

    vectors: np.ndarray
    row: np.ndarray


def files(source: str) -> list[Path]:
    if source == SPACY:
        folder = folder_of("spacy-vectors")
        return [folder / "vectors", folder / "key2row"]
    path = Path(source)
    if not path.name.endswith((*TEXTS, ".npz")):
        raise AccordError(
            f"featurise.vectors: expected the source spacy or a file ending in "
            f"{', '.join(TEXTS)} or .npz, found '{source}'"
        )
    if not path.is_file():
        raise NotFoundError(f"featurise.vectors: no file {path}")
    return [path]


def find(source: str, types: pd.DataFrame, analyses: pd.DataFrame) -> WordVectors:
    """Return the vectors of the words of a table; a message says how many have one."""
    table = spellings(types, analyses)
    file = _read(files(source), sorted({*table.to_numpy().ravel()} - {None}))
    row = pd.Series(-1, index=types.index)
    for column in table:  # the first spelling that has a vector is the word's
        row = row.where(row >= 0, table[column].map(file.row).fillna(-1).astype(int))
    used, number = np.unique(row, return_inverse=True)
    rows = file.matrix[used[used >= 0]]
    zero = np.zeros((1, rows.shape[1]), np.float32)
    vectors = WordVectors(np.concatenate([zero, rows]), number + (used[0] >= 0))
    is_word, has_one = table["lower"].notna().to_numpy(), vectors.row > 0
    counts = np.where(is_word, types["count"], 0)
    words, tokens = has_one[is_word].mean(), counts[has_one].sum() / max(counts.sum(), 1)
    say(f"featurise: {words:.1%} of the known words and {tokens:.1%} of their uses have a vector")
    return vectors


def _read(paths: list[Path], wanted: list[str]) -> VectorFile:
    path = paths[0]
    if len(paths) == 2:
        return read_spacy(load_array(path), paths[1], wanted)
    if path.suffix == ".npz":
        arrays = load_arrays(path, ("forms", "vectors"))
        return read_arrays(arrays["forms"], arrays["vectors"], wanted, path)
    return read_text(path, wanted)


def spellings(types: pd.DataFrame, analyses: pd.DataFrame) -> pd.DataFrame:
    """Return the spellings in which a word is looked up, in order; special words have none."""
    form = types["form"].mask(types["form"].map(is_special))
    capitals = form.map(  # jean-paul is Jean-Paul
        lambda form: "-".join(map(str.capitalize, form.split("-"))), na_action="ignore"
    )
    written = form
    if "written" in types:  # proper names, in most of their analyses, have capitals
        weight = analyses["weight"].where(analyses["upos"] == "PROPN", -analyses["weight"])
        weight = weight.groupby(analyses["word"]).sum().reindex(types.index, fill_value=0)
        written = types["written"].fillna(capitals.where(weight > 0, form))
    table = pd.DataFrame({"written": written, "lower": form.str.lower(), "name": capitals})
    table["acronym"] = form.str.upper()
    return table.astype(object).where(form.notna(), None)


def reduced(vectors: WordVectors, dimensions: int) -> np.ndarray:
    """Return the vectors in their first principal components, scaled; the first stays zero."""
    rows = vectors.vectors[1:].astype(np.float64)
    words = np.bincount(vectors.row, minlength=len(vectors.vectors))[1:]
    if not 0 < dimensions <= min(rows.shape):
        raise AccordError(
            f"featurise.vectors: expected dimensions from 0 to {min(rows.shape)}, as the vectors "
            f"of these words have, found {dimensions}"
        )
    rounding = ROUNDING * np.abs(rows).max()
    rows -= np.average(rows, axis=0, weights=words)
    variance, axes = np.linalg.eigh((rows.T * words) @ rows / words.sum())
    kept = axes[:, ::-1][:, :dimensions]
    largest = np.take_along_axis(kept, np.abs(kept).argmax(axis=0)[None], axis=0)
    scale = np.sqrt(max(variance[::-1][:dimensions].mean(), 0))
    if not scale > rounding:
        raise AccordError(
            "featurise.vectors: expected vectors that differ, found one for all words"
        )
    short = rows @ (kept * np.sign(largest)) / scale  # an axis has two directions: one is chosen
    return np.concatenate([np.zeros((1, dimensions)), short]).astype(np.float32)


def rows(
    params, templates: Sequence[str], types: pd.DataFrame, analyses: pd.DataFrame
) -> tuple[dict[str, pd.DataFrame], WordVectors | None]:
    """Return the sparse rows of each template of vectors, and the dense features."""
    vectors = find(params.vectors.source, types, analyses)
    mean = params.vectors.unknown == "mean" and "unknown" in types
    features, dense = {}, None
    for template in templates:
        kind, _, classes = template.partition("-")
        if kind == "class":
            number = kmeans(vectors.vectors[1:], int(classes)).astype(str)
            names = np.array(["none", *number], dtype=object)
            features[template] = f"{template}=" + pd.Series(names[vectors.row])
    if params.vectors.dimensions:
        features[VECTORS] = pd.Series("vector=none", index=types.index).mask(vectors.row > 0)
        dense = WordVectors(reduced(vectors, params.vectors.dimensions), vectors.row)
        dense = _with_means(dense, types) if mean else dense
    rows = {name: _rows(col, types, mean, params.steps) for name, col in features.items()}
    return rows, dense


def dense_rows(params: VectorParams, types: pd.DataFrame, analyses: pd.DataFrame) -> WordVectors:
    """Return the dense features alone, of a closed vocabulary, where no word is unknown."""
    vectors = find(params.source, types, analyses)
    return WordVectors(reduced(vectors, params.dimensions), vectors.row)


def dense_names(dense: WordVectors) -> list[str]:
    return [f"vector[{number}]" for number in range(dense.vectors.shape[1])]


def is_dense(name: str) -> bool:
    return name.startswith("vector[")


def _rows(feature: pd.Series, types: pd.DataFrame, mean: bool, steps: int) -> pd.DataFrame:
    """Return a row for the feature of each word; an unknown word has the shares of its class."""
    table = pd.DataFrame({"word": types.index, "feature": feature, "value": 1.0}).dropna()
    if not mean:
        return table
    read_as = types["unknown"][read_as_unknown(types)]
    shares = table.loc[table.index.intersection(read_as.index)].assign(word=read_as)
    shares = shares.groupby(["word", "feature"])["value"].sum().reset_index()
    shares["value"] /= shares["word"].map(read_as.value_counts())
    shares["value"] = (shares["value"] * steps).round() / steps
    others = table[~table["word"].isin(read_as)]
    return pd.concat([others, shares[shares["value"] > 0]], ignore_index=True)


def _with_means(dense: WordVectors, types: pd.DataFrame) -> WordVectors:
    """Give unknown words the mean of the words that training reads as them."""
    read_as = types["unknown"][read_as_unknown(types)]
    means = pd.DataFrame(dense.vectors[dense.row[read_as.index]]).groupby(read_as.to_numpy()).mean()
    row = dense.row.copy()
    row[means.index] = len(dense.vectors) + np.arange(len(means))
    return WordVectors(np.concatenate([dense.vectors, means.to_numpy(np.float32)]), row)


def word_classes(text: Sentences, counts: np.ndarray, classes: int, by: str) -> np.ndarray:
    """Return the class of each word, from 0; words seen less than twice count as one word.

    So unseen words have a class with words that occur.
    """
    merged = np.arange(len(counts))
    merged[counts < 2] = np.argmax(counts < 2)
    text = Sentences(merged[text.ids], text.lengths)
    mass = np.bincount(text.ids, minlength=len(counts))
    if by == "neighbours":  # words that occur between the same words
        cluster = exchange_clusters(text, len(mass), classes)
    elif by == "frequency":  # as much of all √mass in each (Mikolov et al. 2011)
        cluster = _cut(mass, np.sqrt(mass), classes)
    else:  # as many words in each: the two levels of a balanced tree
        cluster = _cut(mass, mass > 0, classes)
    return np.unique(cluster[merged], return_inverse=True)[1]


def _cut(mass: np.ndarray, share: np.ndarray, classes: int) -> np.ndarray:
    """Cut words by falling mass where their shares have summed up to the next class."""
    order = np.argsort(-mass, kind="stable")
    starts = np.cumsum(share[order]) - share[order]
    of_word = np.empty(len(mass), np.int64)
    of_word[order] = np.minimum(starts / share.sum() * classes, classes - 1)
    return of_word


def clusters_of(types: pd.DataFrame, path: Path, classes: int) -> np.ndarray:
    """Return the class of each known word by its neighbours in a table of sentences' words."""
    known = pd.Index(types["form"])
    ids, lengths = [], []
    for batch in batches(path):
        sizes = batch["words"].value_lengths().to_numpy()
        words = known.get_indexer(batch["words"].flatten().to_pandas())
        ids.append(np.insert(words, np.cumsum(sizes), END_ID))
        lengths.append(sizes + 1)
    text = Sentences(np.concatenate(ids), np.concatenate(lengths))
    return word_classes(text, types["count"].to_numpy(), classes, "neighbours")


LONGEST = 32  # letters of a word that are kept: of a longer one the last, which show its grammar
BEGIN, END = "<word>", "</word>"  # longer than any letter, hence none


def spelled(forms: Sequence[str]) -> np.ndarray:
    """Return the letters of each word by number (V × L), between begin and end; 0 after it.

    A special word is written with one symbol, which no other has.
    """
    rows = [[f] if is_special(f) else [BEGIN, *f[-LONGEST:], END] for f in forms]
    symbols = sorted({symbol for row in rows for symbol in row})
    number = {symbol: place for place, symbol in enumerate(symbols, start=1)}
    table = np.zeros((len(rows), max(map(len, rows))), np.uint16)
    for place, row in enumerate(rows):
        table[place, : len(row)] = [number[symbol] for symbol in row]
    return table


PASSES = 8  # at most


def exchange_clusters(sentences: Sentences, words: int, classes: int) -> np.ndarray:
    """Return the class of each of the `words` ids: from 0; `classes` for words not in the text.

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

    `pairs` holds N(c, d) by rows c and, below, by rows d: the row of a neighbour's class, on either
    side, has the counts with every class that a word may move to.
    """

    def __init__(self, ids: np.ndarray, of_word: np.ndarray, counts: np.ndarray, classes: int):
        self.of_word, self.counts, self.classes = of_word, counts, classes
        self.sizes = np.bincount(of_word[ids], minlength=classes).astype(float)
        flat = np.roll(of_word[ids], 1) * classes + of_word[ids]  # END, the last, begins a text
        pairs = np.bincount(flat, minlength=classes**2).reshape(classes, classes).astype(float)
        self.pairs = np.concatenate([pairs, pairs.T])
        # For each word its left and right neighbours with counts; repetitions apart.
        words = len(of_word)
        bigrams, count = np.unique(np.roll(ids, 1) * words + ids, return_counts=True)
        left, right = np.divmod(bigrams, words)
        same = left == right
        self.doubled = np.bincount(left[same], count[same], minlength=words)
        left, right, count = left[~same], right[~same], count[~same]
        word = np.concatenate([right, left])
        order = np.argsort(word, kind="stable")
        self.neighbour = np.concatenate([left, right])[order]
        self.side = np.repeat([0, classes], len(left))[order]
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
        """Return the gain of F for each class that the word, once taken out, may move to."""
        pairs = self.pairs[rows]
        gain = (_f(pairs + met[rows, None]) - _f(pairs)).sum(axis=0)
        gain -= 2 * (_f(self.sizes + count) - _f(self.sizes))
        left, right = met[: self.classes], met[self.classes :]
        if doubled or (left * right).any():  # N(c, c) grows by all three at once
            inner = self.pairs.diagonal()
            gain += _f(inner + left + right + doubled) + _f(inner)
            gain -= _f(inner + left) + _f(inner + right)
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


def _f(n: np.ndarray) -> np.ndarray:
    """Return n log n of whole numbers."""
    return n * np.log(np.maximum(n, 1))
