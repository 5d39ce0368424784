"""The input vectors of words, ψ(x) = φ(x)·W: neighbours, analogies, inflection, and a file of them.

Vectors can be retrofitted to a lexicon, so that words which it lists together come closer.
"""

from collections.abc import Iterable, Sequence
from copy import copy
from pathlib import Path

import numpy as np
import pandas as pd

from accord.corpora.text import lines
from accord.errors import AccordError
from accord.models.common.checks import check_finite, expect
from accord.models.common.files import whole
from accord.models.inference.interface import InferenceModel
from accord.pipeline.ask.scorer import Scorer, load
from accord.pipeline.base.messages import counted, say

SHORTEST = 1e-12  # the least length that a vector is divided by: zeros stay zeros
NAMED = 3  # so many words stand for all that have one vector
FEWEST = 3  # lemmas that a change must have been seen in; words of which one is odd
SMALLEST_COSINE = 1e-3  # added to the denominator (Levy & Goldberg 2014)
CHANGE = ["upos", "feats", "feats_to"]
LEMMAS = "lemmas"  # words are listed together that are forms of one lemma
ROUNDS = 10  # of retrofitting, each of which halves the distance to its end (Faruqui et al. 2015)


class ReadVectors:
    """One vector of length 1 for each signature; words of one signature have the same."""

    def __init__(self, scorer: Scorer):
        if not isinstance(scorer.model, InferenceModel):
            kind = type(scorer.model).__name__
            raise AccordError(f"expected a model that reads words by vectors, got {kind}")
        read = scorer.model.vectors()
        self.rows, self.signature = _unit(read.rows.astype(np.float64)), read.signature
        check_finite("a vector", self.rows)
        self.scorer = scorer
        self.ids, self.forms = scorer.vocabulary.known, scorer.vocabulary.forms
        self.first = len(self.forms) - len(self.ids)  # of the words that are written

    def nearest(self, word: str, most: int = 10) -> pd.DataFrame:
        """Return the nearest vectors by cosine: the most frequent words of each, and their number.

        The first row is that of the word and of words with the same vector; up to `most` others
        follow.
        """
        (signature,) = self._signatures([word])
        cosine = self.rows @ self.rows[signature]
        cosine[signature] = 2  # before all others
        return self._table(cosine, most + 1, cosine=np.minimum(cosine, 1.0))

    def analogy(self, a: str, b: str, c: str, most: int = 10) -> pd.DataFrame:
        """Return the words that are to c as b is to a, the best first (Mikolov et al. 2013).

            argmax_x cos(x, c) − cos(x, a) + cos(x, b)

        The three words themselves are no answers, nor are words with the same vectors. The column
        `product` has the score of Levy & Goldberg (2014), cos(x, b)·cos(x, c) / cos(x, a) with all
        cosines moved to between 0 and 1.
        """
        signatures = self._signatures([a, b, c])
        of_a, of_b, of_c = (self.rows @ self.rows[signatures].T).T
        score = of_c - of_a + of_b
        score[signatures] = -np.inf
        product = (of_b + 1) / 2 * (of_c + 1) / 2 / ((of_a + 1) / 2 + SMALLEST_COSINE)
        return self._table(score, most, sum=score, product=product)

    def odd_one_out(self, words: Sequence[str]) -> pd.DataFrame:
        """Return words with the mean of their cosines to the others, the odd one out first."""
        if len(words) < FEWEST:
            raise AccordError(f"expected {FEWEST} words or more, found {len(words)}")
        rows = self.rows[self._signatures(words)]
        cosine = rows @ rows.T
        others = (cosine.sum(axis=1) - cosine.diagonal()) / (len(words) - 1)
        table = pd.DataFrame({"word": list(words), "cosine to the others": others})
        return table.sort_values("cosine to the others", kind="stable", ignore_index=True)

    def retrofitted(self, lexicon: str, most: int | None = None) -> "ReadVectors":
        """Return vectors of the `most` frequent words, one for each word, drawn towards a lexicon.

        `lexicon` is `lemmas`, so that the forms of a lemma come closer, or a file with words that
        belong together in each line.
        """
        if lexicon == LEMMAS:
            columns = ["word", "lemma", "upos", "source"]
            table = self.scorer.parts.readings.table(columns).astype({"upos": str, "source": str})
            table = table[table["source"] != "guesser"].drop_duplicates(columns[:3])
            groups: Iterable = table.groupby(["lemma", "upos"])["word"].agg(list)
        else:
            groups = [
                [self.ids[word] for word in self.scorer.as_read(line.split()) if word in self.ids]
                for line in lines(Path(lexicon))
            ]
        most = len(self.ids) if most is None else min(most, len(self.ids))
        made = copy(self)
        made.signature = np.minimum(np.arange(len(self.forms)), self.first + most)
        kept = self.rows[self.signature[: self.first + most]]
        rows = retrofit(kept, ([w for w in g if self.first <= w < len(kept)] for g in groups))
        made.rows = _unit(np.pad(rows, ((0, int(len(self.forms) > len(kept))), (0, 0))))
        return made

    def save(self, path: Path, most: int | None = None) -> int:
        """Write the vectors of the `most` frequent words as word2vec does; return how many.

        The first line has the numbers of words and dimensions. A space would end a word, so words
        with one are left out.
        """
        ids = range(self.first, len(self.forms))[:most]
        chosen = [at for at in ids if len(self.forms[at].split()) == 1]
        with whole(path) as partial, partial.open("w", encoding="utf-8") as file:
            print(len(chosen), self.rows.shape[1], file=file)
            for at in chosen:
                numbers = " ".join(f"{x:.6g}" for x in self.rows[self.signature[at]])
                print(self.forms[at], numbers, file=file)
        return len(chosen)

    def _signatures(self, words: Sequence[str]) -> np.ndarray:
        """Return the signatures of words as a person writes them."""
        read = self.scorer.as_read(words)
        for word in read:
            if word not in self.ids:
                raise AccordError(f"'{word}' has no vector: it is not known to this model")
        return self.signature[[self.ids[word] for word in read]]

    def _table(self, score: np.ndarray, most: int, **columns: np.ndarray) -> pd.DataFrame:
        """Return a row for each of the signatures of written words with the best finite scores."""
        written = np.unique(self.signature[self.first :])
        ranked, rows = written[np.argsort(-score[written], kind="stable")], []
        for signature in ranked[:most][np.isfinite(score[ranked[:most]])]:
            # ids fall in frequency
            members = self.first + np.flatnonzero(self.signature[self.first :] == signature)
            named = ", ".join(self.forms[word] for word in members[:NAMED])
            numbers = {name: column[signature] for name, column in columns.items()}
            rows.append({"words": named, "of": len(members), **numbers})
        return pd.DataFrame(rows)


def _unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), SHORTEST)


def nearest(model: Scorer, word: str, most: int = 10) -> pd.DataFrame:
    """Return the words whose vectors are nearest to that of a word; its own row comes first."""
    return ReadVectors(model).nearest(word, most)


def export_vectors(
    run: str | Path, model: str | None, to: Path, words: int | None, lexicon: str | None
) -> Path:
    """Write the vectors of a model to a file `.vec`, perhaps retrofitted to a lexicon."""
    expect("words", words is None or words > 0, "1 or more", words)
    vectors = ReadVectors(load(run, model))
    vectors = vectors.retrofitted(lexicon, words) if lexicon else vectors
    count = vectors.save(to, words)
    say(f"{counted(count, 'word')} with {vectors.rows.shape[1]} numbers each")
    return to


def retrofit(rows: np.ndarray, groups: Iterable[Sequence[int]], rounds: int = ROUNDS) -> np.ndarray:
    """Return vectors drawn towards those of words in the same groups (Faruqui et al. 2015).

        q_i ← (α_i·q̂_i + Σ_j β_ij·q_j) / (α_i + Σ_j β_ij),    α_i = 1, β_ij = 1 / degree of i

    q̂ are the vectors as they were; j are the neighbours of i, which stand in a group with it. All
    words move at once; the paper moves one after the other, to the same end. A word without
    neighbours stays.
    """
    chosen = [np.unique(group) for group in groups]
    chosen = [group for group in chosen if len(group) > 1]
    if not chosen:
        return rows.copy()
    member = np.concatenate(chosen)
    sizes = np.array([len(group) for group in chosen])
    starts = np.cumsum(sizes) - sizes
    degree = np.bincount(member, np.repeat(sizes - 1, sizes), minlength=len(rows))
    has_some, vectors = degree > 0, rows.copy()
    for _ in range(rounds):
        sums = np.repeat(np.add.reduceat(vectors[member], starts, axis=0), sizes, axis=0)
        near = np.zeros_like(vectors)
        np.add.at(near, member, sums - vectors[member])
        vectors[has_some] = (rows[has_some] + near[has_some] / degree[has_some, None]) / 2
    return vectors


def inflection(
    vectors: ReadVectors, analyses: pd.DataFrame, lexicon: str | None = None
) -> pd.DataFrame:
    """Return how often the word nearest to ψ(x) + change is another form of the lemma.

    A change, such as ADJ Gender=Masc → Gender=Fem, is the mean difference of the two forms over
    all *other* lemmas. The lexicon judges: a word is right if an analysis has the lemma and the
    requested features. Only words with a vector of their own take part. Other columns are how often
    the features are right, whatever the lemma; how often the word nearest to ψ(x) alone is right;
    and how often a random word with the features would be. Each kind of change has a row; the last
    is of all. With a `lexicon` the vectors of the same words are retrofitted to it first.
    """
    forms = _forms(vectors, analyses)
    vectors = vectors.retrofitted(lexicon) if lexicon else vectors
    words = np.unique(forms["word"])
    rows = vectors.rows[vectors.signature[words]]
    pairs = _pairs(forms)
    start, goal = (np.searchsorted(words, pairs[name]) for name in ("word", "word_to"))
    change = _mean_of_others(rows[goal] - rows[start], pairs)
    for name, query in (("", rows[start] + change), (" alone", rows[start])):
        cosine = query @ rows.T
        cosine[np.arange(len(pairs)), start] = -np.inf  # the form itself is no answer
        answers = words[cosine.argmax(axis=1)]
        pairs["right" + name] = _is_right(forms, pairs, answers, ["lemma", "upos", "feats"])
        pairs["features" + name] = _is_right(forms, pairs, answers, ["upos", "feats"])
    with_feats = forms.drop_duplicates(["upos", "feats", "word"]).groupby(["upos", "feats"]).size()
    changes = pd.MultiIndex.from_frame(pairs[["upos", "feats_to"]])
    pairs["chance"] = 1 / with_feats.reindex(changes).to_numpy()
    pairs["change"] = [*map(_change, pairs["feats"], pairs["feats_to"])]
    measured = ["right", "features", "right alone", "chance"]
    kinds = pairs.groupby(["upos", "change"])
    table = kinds[measured].mean()
    table.insert(0, "pairs", kinds.size())
    table = table.sort_values("pairs", ascending=False).reset_index()
    whole = {"upos": "all", "change": "", "pairs": len(pairs)} | pairs[measured].mean().to_dict()
    return pd.concat([table, pd.DataFrame([whole])], ignore_index=True)


def _forms(vectors: ReadVectors, analyses: pd.DataFrame) -> pd.DataFrame:
    """Return the lexicon's analyses, without guesses, of words with a vector of their own."""
    is_single = np.bincount(vectors.signature)[vectors.signature] == 1
    is_single[: vectors.first] = False
    chosen = is_single[analyses["word"]] & (analyses["source"] != "guesser")
    return analyses.loc[chosen, ["word", "lemma", "upos", "feats"]].drop_duplicates()


def _pairs(forms: pd.DataFrame) -> pd.DataFrame:
    """Return pairs of forms of a lemma, each with one analysis, if other lemmas change alike."""
    clear = forms.drop_duplicates(["word", "lemma", "upos"], keep=False)
    pairs = clear.merge(clear, on=["lemma", "upos"], suffixes=("", "_to"))
    pairs = pairs[(pairs["word"] != pairs["word_to"]) & (pairs["feats"] != pairs["feats_to"])]
    lemmas = pairs.groupby(CHANGE)["lemma"].transform("nunique")
    return pairs[lemmas >= FEWEST].reset_index(drop=True)


def _is_right(
    forms: pd.DataFrame, pairs: pd.DataFrame, answers: np.ndarray, columns: list[str]
) -> np.ndarray:
    """Return whether the answer of each pair has the features of its second form."""
    goal = pairs.drop(columns="feats").rename(columns={"feats_to": "feats"}).assign(word=answers)
    names = [*columns, "word"]
    return pd.MultiIndex.from_frame(goal[names]).isin(pd.MultiIndex.from_frame(forms[names]))


def _mean_of_others(differences: np.ndarray, pairs: pd.DataFrame) -> np.ndarray:
    """Return the mean difference of each pair's change over all other lemmas."""
    rows = pd.DataFrame(differences.astype(np.float64)).assign(pairs=1)
    change = [pairs[name] for name in CHANGE]
    others = rows.groupby(change).transform("sum")
    others -= rows.groupby([*change, pairs["lemma"]]).transform("sum")
    return others.drop(columns="pairs").div(others["pairs"], axis=0).to_numpy()


def _change(feats: str, feats_to: str) -> str:
    """Return the names of the features that differ: `Gender`, `Number`, `Mood Tense`."""
    pairs = set(feats.split("|")) ^ set(feats_to.split("|"))
    return " ".join(sorted({pair.partition("=")[0] for pair in pairs if pair}))
