"""The input vectors of words, ψ(x) = φ(x)·W, and how well they capture inflection."""

import numpy as np
import pandas as pd

from accord.models.common.checks import check_finite
from accord.models.inference.interface import InferenceModel
from accord.pipeline.inference.scorer import Scorer

SHORTEST = 1e-12  # what a vector is divided by at least: one of zeros stays so
NAMED = 3  # so many words stand for all that have one vector
FEWEST = 3  # lemmas that a change must have been seen in
CHANGE = ["upos", "feats", "feats_to"]


class ReadVectors:
    """One vector of length 1 for each signature; words of one signature have the same."""

    def __init__(self, scorer: Scorer):
        if not isinstance(scorer.model, InferenceModel):
            found = type(scorer.model).__name__
            raise ValueError(f"expected a model that reads words by vectors, got {found}")
        read = scorer.model.vectors()
        rows = read.rows.astype(np.float64)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        self.rows, self.signature = rows / np.maximum(lengths, SHORTEST), read.signature
        check_finite("a vector", self.rows)
        self.scorer = scorer
        self.ids, self.forms = scorer.vocabulary.known, scorer.vocabulary.forms
        self.first = len(self.forms) - len(self.ids)  # of the words that are written

    def nearest(self, word: str, most: int = 10) -> pd.DataFrame:
        """The nearest vectors by cosine: the most frequent words of each, and how many it has.

        The first row is that of the word and of words with the same vector; up to `most` others
        follow.
        """
        (word,) = self.scorer.as_read([word])
        if word not in self.ids:
            raise ValueError(f"'{word}' has no vector: it is not known to this model")
        cosine = self.rows @ self.rows[self.signature[self.ids[word]]]
        cosine[self.signature[self.ids[word]]] = 2  # before all others
        written = np.unique(self.signature[self.first :])
        nearest = written[np.argsort(-cosine[written], kind="stable")]
        return pd.DataFrame([self._row(s, cosine[s]) for s in nearest[: most + 1]])

    def _row(self, signature: int, cosine: float) -> dict:
        found = np.flatnonzero(self.signature[self.first :] == signature)
        members = self.first + found  # ids fall in frequency
        named = ", ".join(self.forms[each] for each in members[:NAMED])
        return {"words": named, "of": len(members), "cosine": min(cosine, 1.0)}


def nearest(model: Scorer, word: str, most: int = 10) -> pd.DataFrame:
    """The words whose vectors are nearest to that of a word; its own row comes first."""
    return ReadVectors(model).nearest(word, most)


def inflection(vectors: ReadVectors, analyses: pd.DataFrame) -> pd.DataFrame:
    """From one form of a lemma to another: is the word nearest to ψ(x) + change the right one?

    A change, such as ADJ Gender=Masc → Gender=Fem, is the mean difference of the two forms over
    all *other* lemmas. The lexicon judges: a word is right if an analysis has the lemma and the
    features asked for. Only words with a vector of their own take part. Beside it stand how often
    the features are right, whatever the lemma; how often the word nearest to ψ(x) alone is right;
    and how often a random word with the features would be. A row for each kind of change, the last
    for all.
    """
    forms = _forms(vectors, analyses)
    words = np.unique(forms["word"])
    rows = vectors.rows[vectors.signature[words]]
    pairs = _pairs(forms)
    start, goal = (np.searchsorted(words, pairs[name]) for name in ("word", "word_to"))
    change = _mean_of_others(rows[goal] - rows[start], pairs)
    for name, query in (("", rows[start] + change), (" alone", rows[start])):
        cosine = query @ rows.T
        cosine[np.arange(len(pairs)), start] = -np.inf  # the form itself is no answer
        found = words[cosine.argmax(axis=1)]
        pairs["right" + name] = _has(forms, pairs, found, ["lemma", "upos", "feats"])
        pairs["features" + name] = _has(forms, pairs, found, ["upos", "feats"])
    with_feats = forms.drop_duplicates(["upos", "feats", "word"]).groupby(["upos", "feats"]).size()
    asked = pd.MultiIndex.from_frame(pairs[["upos", "feats_to"]])
    pairs["chance"] = 1 / with_feats.reindex(asked).to_numpy()
    pairs["change"] = [
        _changed(*each) for each in zip(pairs["feats"], pairs["feats_to"], strict=True)
    ]
    measured = ["right", "features", "right alone", "chance"]
    table = pairs.groupby(["upos", "change"])[measured].mean()
    table.insert(0, "pairs", pairs.groupby(["upos", "change"]).size())
    table = table.sort_values("pairs", ascending=False).reset_index()
    whole = {"upos": "all", "change": "", "pairs": len(pairs)} | pairs[measured].mean().to_dict()
    return pd.concat([table, pd.DataFrame([whole])], ignore_index=True)


def _forms(vectors: ReadVectors, analyses: pd.DataFrame) -> pd.DataFrame:
    """The lexicon's analyses, without guesses, of the words that have a vector of their own."""
    own = np.bincount(vectors.signature)[vectors.signature] == 1
    own[: vectors.first] = False
    chosen = own[analyses["word"]] & (analyses["source"] != "guesser")
    return analyses.loc[chosen, ["word", "lemma", "upos", "feats"]].drop_duplicates()


def _pairs(forms: pd.DataFrame) -> pd.DataFrame:
    """Two forms of a lemma, each with one analysis in it, whose change other lemmas have too."""
    clear = forms.drop_duplicates(["word", "lemma", "upos"], keep=False)
    pairs = clear.merge(clear, on=["lemma", "upos"], suffixes=("", "_to"))
    pairs = pairs[(pairs["word"] != pairs["word_to"]) & (pairs["feats"] != pairs["feats_to"])]
    lemmas = pairs.groupby(CHANGE)["lemma"].transform("nunique")
    return pairs[lemmas >= FEWEST].reset_index(drop=True)


def _has(forms: pd.DataFrame, pairs: pd.DataFrame, found: np.ndarray, asked: list[str]) -> list:
    """Whether the word found for each pair has the features of its second form."""
    have = set(forms[[*asked, "word"]].itertuples(index=False, name=None))
    wanted = pairs[[{"feats": "feats_to"}.get(name, name) for name in asked]]
    rows = wanted.itertuples(index=False, name=None)
    return [(*row, word) in have for row, word in zip(rows, found.tolist(), strict=True)]


def _mean_of_others(differences: np.ndarray, pairs: pd.DataFrame) -> np.ndarray:
    """The mean difference of each pair's change over all other lemmas."""
    rows = pd.DataFrame(differences.astype(np.float64)).assign(pairs=1)
    change = [pairs[name] for name in CHANGE]
    others = rows.groupby(change).transform("sum")
    others -= rows.groupby([*change, pairs["lemma"]]).transform("sum")
    return others.drop(columns="pairs").div(others["pairs"], axis=0).to_numpy()


def _changed(before: str, after: str) -> str:
    """The names of the features that differ: `Gender`, `Number`, `Mood Tense`."""
    pairs = set(before.split("|")) ^ set(after.split("|"))
    return " ".join(sorted({pair.partition("=")[0] for pair in pairs if pair}))
