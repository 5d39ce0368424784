"""A guess at any string, from its longest known suffix, its capitals and its shape.

Learned from the lexicons before it in the chain. With s the last k letters of a form, a an
analysis, c(s, a) the number of forms ending in s that have it, and n(s) how many analyses s has,

    P(a | s) = (c(s, a) + n(s) · P(a | s less its first letter)) / (c(s) + n(s))

A form with several analyses counts for each by its share. Open classes only: no new article is
ever met. The guess does not depend on whether the form was in a lexicon or in a training text.

The last functions measure how much of a text a lexicon covers, and how well guessers analyse the
rest: forms of lemmas that they were not trained on, and words of a treebank.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from accord.errors import AccordError
from accord.lexicon.analysis import (
    Analysis,
    Lexicon,
    LexiconError,
    Request,
    absent,
    agrees,
    everything,
    moved,
    stack,
)
from accord.lexicon.closed import LIKELY, looks
from accord.lexicon.index import MEANING, Index, build, cached, fingerprint, pa, pc

VERSION = 1  # raised when the same lexicons give a different guesser
OPEN = ("ADJ", "ADV", "INTJ", "NOUN", "PROPN", "VERB", "X")
LONGEST = 7  # letters of a suffix
FEWEST = 2  # forms that a suffix needs
SMALLEST = 0.01  # share below which an analysis is not worth keeping
PRIOR = 1000  # weight of the shape of a capitalised word, in forms of the lexicon


class LookGuesser(Lexicon):
    """Weighted analyses for any form whatever; the weights of a form sum to one.

    All guessers treat the shape of a form alike; they differ in `_of_look`.
    """

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def find(self, forms: np.ndarray) -> pd.DataFrame:
        return self.guess(looks(forms), forms)

    def guess(self, look: np.ndarray, forms: np.ndarray) -> pd.DataFrame:
        """Return the rows of forms of these shapes; the last letters of a form are enough."""
        sure = np.array([LIKELY[name].surety for name in look], dtype=np.float32)
        mixed = np.flatnonzero(sure < 1)
        if not len(mixed):
            return self._of_look(look, forms, sure)
        # The ending decides the rest, as for a word in lower case.
        small = np.full(len(mixed), "small", dtype=object)
        by_ending = moved(self._of_look(small, forms[mixed], 1 - sure[mixed]), mixed)
        return merged(stack([self._of_look(look, forms, sure), by_ending]))

    def lookup(self, forms: Sequence[str]) -> pd.DataFrame:
        return self.find(np.asarray(forms, dtype=object))

    def _of_look(self, look: np.ndarray, forms: np.ndarray, share: np.ndarray) -> pd.DataFrame:
        """Return the analyses of forms with these shapes; the weights of a form sum to `share`."""
        raise NotImplementedError


class Guesser(LookGuesser):
    """Guesses by the longest known suffix."""

    name = "guesser"

    def __init__(self, suffixes: Index):
        self.suffixes = suffixes
        self.licence = suffixes.licence

    def _of_look(self, look: np.ndarray, forms: np.ndarray, share: np.ndarray) -> pd.DataFrame:
        """Return the analyses of the longest known suffix of each form."""
        prefix = pa.array(look + " ", pa.string())
        lower = pc.utf8_lower(pa.array(forms, pa.string()))
        rows = np.full(len(forms), -1)
        unknown = np.arange(len(forms))
        for length in range(LONGEST, -1, -1):
            place = pa.array(unknown)
            endings = suffixes(lower.take(place), length)
            keys = pc.binary_join_element_wise(prefix.take(place), endings, "").dictionary_encode()
            known, row = self.suffixes.positions(keys.dictionary.to_numpy(zero_copy_only=False))
            row_of_key = np.full(len(keys.dictionary), -1)
            row_of_key[known] = row
            rows[unknown] = row_of_key[keys.indices.to_numpy()]
            unknown = unknown[rows[unknown] < 0]
        table = self.suffixes.take(np.arange(len(forms)), rows)
        weight = table.pop("count").to_numpy() * share[table["word"].to_numpy()]
        source = pa.repeat(self.name, len(table)).to_pandas()
        return table.assign(weight=weight.astype(np.float32), source=source)


def suffixes(forms: pa.StringArray, length: int) -> pa.StringArray:
    return pc.utf8_slice_codeunits(forms, -length) if length else pa.repeat("", len(forms))


def merged(rows: pd.DataFrame) -> pd.DataFrame:
    """Add up the weights of rows of the same word and analysis."""
    keys = ["word", "lemma", "upos", "feats", "source"]
    again = rows.duplicated(keys)
    if again.any():
        rows["weight"] = rows.groupby(keys, sort=False)["weight"].transform("sum")
    return rows[~again].reset_index(drop=True)


def learn(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the shares of the analyses of every suffix of rows of form, lemma, upos and feats."""
    learned = [learn_look(look, taught) for look, taught in teaching(rows).items()]
    return pd.concat(learned, ignore_index=True)


def teaching(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the training rows for each shape; none if the shape alone decides."""
    rows = rows[rows["upos"].isin(OPEN)]
    # An ending shows the inflection of a word, not its meaning.
    inflection = rows["feats"].str.replace(MEANING, "", regex=True).str.strip("|")
    rows = rows.assign(feats=inflection)
    look = looks(rows["form"].to_numpy(dtype=object))
    names = rows["upos"] == "PROPN"
    # The endings of capitals without small letters, and of digits, do not show gender.
    taught = {"small": rows[look == "small"], "capital": rows[(look == "capital") & names]}
    if taught["small"].empty:
        raise LexiconError(
            "the guesser has nothing to learn from: name a lexicon before it with nouns, verbs, "
            "adjectives or adverbs in small letters"
        )
    return {name: taught.get(name, rows[:0]) for name in LIKELY}


def weighed(rows: pd.DataFrame) -> pd.DataFrame:
    """Return each form in lower case with its tags, the share of each tag and its weight."""
    rows = rows.assign(form=rows["form"].str.lower(), tag=rows["upos"] + " " + rows["feats"])
    rows = rows.sort_values("lemma", kind="stable").drop_duplicates(["form", "tag"])
    share = 1 / rows.groupby("form")["form"].transform("size").to_numpy()
    # A verb has forty forms and a noun two, but new words are mostly nouns: the forms of a lemma
    # count together as the square root of their number.
    family = rows.groupby(["lemma", "upos"])["form"].transform("size").to_numpy()
    return rows.assign(share=share, weight=share / np.sqrt(family))


def learn_look(look: str, rows: pd.DataFrame) -> pd.DataFrame:
    """Learn the suffixes of the forms of one shape, shortest first, each smoothed by the last."""
    rows = weighed(rows)
    share, weight = rows["share"].to_numpy(), rows["weight"].to_numpy()
    prior = {f"{upos} ": PRIOR * share for upos, share in LIKELY[look].shares.items()}
    tags = pd.Index(sorted({*rows["tag"], *prior}))
    tag = tags.get_indexer(rows["tag"])
    root = pd.Series(prior, dtype=float).reindex(tags, fill_value=0.0).to_numpy()
    root = root + np.bincount(tag, weights=weight, minlength=len(tags))
    shares = (root / max(root.sum(), 1))[None, :]
    levels = [kept(look, [""], shares, tags)]
    forms = pa.array(rows["form"].to_numpy(dtype=object), pa.string())
    shorter = np.zeros(len(forms), dtype=int)
    for length in range(1, LONGEST + 1):
        ending = suffixes(forms, length).dictionary_encode()
        suffix = ending.indices.to_numpy()
        whole = pc.greater_equal(pc.utf8_length(forms), length).to_numpy(False)
        known = np.bincount(suffix, weights=share * whole, minlength=len(ending.dictionary))
        known = known >= FEWEST
        use = known[suffix] & whole
        names = ending.dictionary.to_numpy(zero_copy_only=False)[known]
        suffix = (np.cumsum(known) - 1)[suffix[use]]
        forms = forms.filter(pa.array(use))
        tag, share, weight, shorter = (column[use] for column in (tag, share, weight, shorter))
        # c(s, a): forms by suffix and analysis, weighted by lemma, in sum the forms.
        size, cell = (len(names), len(tags)), suffix * len(tags) + tag
        counts = np.bincount(cell, weights=weight, minlength=size[0] * size[1]).reshape(size)
        count = np.bincount(suffix, weights=share, minlength=size[0])
        counts = counts * (count / counts.sum(axis=1))[:, None]
        analyses = (counts > 0).sum(axis=1, keepdims=True)
        parent = np.zeros(len(names), dtype=int)
        parent[suffix] = shorter
        total = counts.sum(axis=1, keepdims=True)
        shares = (counts + analyses * shares[parent]) / (total + analyses)
        levels.append(kept(look, names, shares, tags))
        shorter = suffix
    return pd.concat(levels, ignore_index=True)


def kept(look: str, names: Sequence[str], shares: np.ndarray, tags: pd.Index) -> pd.DataFrame:
    """Return the shares worth keeping, as rows of an index; those of a suffix sum to one."""
    shares = np.where(shares >= SMALLEST, shares, 0)
    shares /= shares.sum(axis=1, keepdims=True)
    suffix, tag = np.nonzero(shares)
    upos, feats = np.array([name.split(" ") for name in tags], dtype=object).T
    form = np.array([f"{look} {name}" for name in names], dtype=object)[suffix]
    texts = {"form": form, "lemma": "", "upos": upos[tag], "feats": feats[tag]}
    return pd.DataFrame({**texts, "count": shares[suffix, tag]})


def guesser(request: Request) -> Guesser:
    """Return a guesser that learned from the open-class lexicons before it in the chain."""
    teachers = [lexicon for lexicon in request.earlier if lexicon.name != "closed"]
    if not teachers:
        raise LexiconError("the guesser has nothing to learn from: name a lexicon before it")
    key = fingerprint([], f"guesser {VERSION}", *(teacher.identity() for teacher in teachers))
    key = f"guesser-{key}"
    content = cached(key, lambda: build(learn(pd.concat(map(everything, teachers)))))
    licence = ", ".join(dict.fromkeys(teacher.licence for teacher in teachers))
    return Guesser(Index.open("guesser", licence, content, key))


def learned_guesser(rows: pd.DataFrame, licence: str) -> Guesser:
    """Learn a guesser from rows of form, lemma, upos and feats, kept in memory only."""
    return Guesser(Index("guesser", licence, build(learn(rows))))


def values(lexicon: Lexicon) -> tuple[list[str], list[str]]:
    """Return every part of speech and every `Name=Value` that an analysis may have."""
    analyses = lexicon.lookup(list(lexicon))
    pairs = {pair for text in analyses["feats"].unique() for pair in text.split("|") if pair}
    return sorted(analyses["upos"].unique()), sorted(pairs)


def known(lexicon: Lexicon, forms: Sequence[str]) -> np.ndarray:
    """Return whether the lexicon has an analysis of each form."""
    return np.isin(np.arange(len(forms)), lexicon.lookup(forms)["word"])


def coverage(lexicon: Lexicon, words: pd.DataFrame) -> pd.DataFrame:
    """Count tokens and types, all and covered, in the whole and by part of speech.

    A row of `words` has a form and its count, or a form as one part of speech (upos) and its count.
    """
    is_known = known(lexicon, words["form"].tolist())
    tokens = {"tokens": words["count"], "tokens_covered": words["count"] * is_known}
    types = {"types": 1, "types_covered": is_known.astype(int)}
    counted = pd.DataFrame({"upos": words.get("upos", "all"), **tokens, **types})
    table = counted.groupby("upos").sum().sort_values("tokens", ascending=False)
    if "upos" in words:
        table = pd.concat([table.sum().to_frame("all").T, table]).rename_axis("upos")
    table["token_share"] = table["tokens_covered"] / table["tokens"]
    table["type_share"] = table["types_covered"] / table["types"]
    return table.reset_index()


def gaps(lexicon: Lexicon, words: pd.DataFrame, most: int) -> pd.DataFrame:
    """Return the most frequent forms that the lexicon does not know, with their counts."""
    counts = words.groupby("form", as_index=False)["count"].sum()
    unknown = counts[~known(lexicon, counts["form"].tolist())]
    return unknown.sort_values(["count", "form"], ascending=[False, True]).head(most)


Learner = Callable[[pd.DataFrame, str], Lexicon]  # from rows of form, lemma, upos, feats; licence
GROUP = "accord.guessers"
LEAST = 0.001  # that a share counts as, so that an omission from a guess has a finite cost


def learners(names: Sequence[str]) -> dict[str, Learner]:
    """Return the kinds of guesser of these names: Accord's own, or of an entry point."""
    from importlib.metadata import entry_points  # here, as to guess needs none

    points = entry_points(group=GROUP)
    known = ["guesser", *points.names]
    if unknown := [name for name in names if name not in known]:
        raise AccordError(f"--guesser: expected some of {', '.join(known)}, got {unknown[0]!r}")
    return {name: learned_guesser if name == "guesser" else points[name].load() for name in names}


def compare_guessers(
    learners: Mapping[str, Learner], training: pd.DataFrame, tests: Mapping[str, pd.DataFrame]
) -> pd.DataFrame:
    """Return figures of guessers that learn from the same rows and are tested on the same words.

    `seconds` is the processor time for learning, `per_second` the number of words analysed per
    second.
    """
    table = []
    for name, learn in learners.items():
        start = time.process_time()
        guesser = learn(training, "")
        seconds = time.process_time() - start
        for words, rows in tests.items():
            start = time.process_time()
            guessed = guesser.lookup(rows["form"].unique().astype(object))
            per_second = rows["word"].nunique() / (time.process_time() - start)
            row = {"words": words, "guesser": name, **figures(rows, guessed)}
            table.append(row | {"seconds": seconds, "per_second": per_second})
    return pd.DataFrame(table).sort_values("words", kind="stable", ignore_index=True)


def held_out(lexicon: Lexicon, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the rows of nine tenths of the lemmas for training, and the others for testing.

    A form that a training lemma also has is not tested: the lexicon would know it.
    """
    rows = everything(lexicon)
    rows = rows[rows["upos"].isin(OPEN)]
    lemmas = np.array(sorted(set(rows["lemma"])), dtype=object)
    hidden = lemmas[np.random.default_rng(seed).random(len(lemmas)) < 0.1]
    is_hidden = rows["lemma"].isin(hidden)
    training, test = rows[~is_hidden], rows[is_hidden]
    return training, _numbered(test[~test["form"].isin(training["form"])])


def unknown_to(known: Lexicon, treebank: Lexicon) -> pd.DataFrame:
    """Return the rows of a treebank's words that a chain of lexicons does not know."""
    rows = everything(treebank)
    forms = rows["form"].unique()
    return _numbered(rows[rows["form"].isin(forms[absent(known.lookup(forms), len(forms))])])


def _numbered(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.assign(word=pd.factorize(rows["form"])[0])


JUDGED = ("Gender", "Number", "Tense", "Mood", "Person")


def figures(true: pd.DataFrame, guessed: pd.DataFrame) -> dict[str, float]:
    """Return the shares of forms guessed right: the likeliest value is one of the form's true ones.

    A whole analysis is right if it has the part of speech of a true one and contradicts none of its
    features. Treebanks and lexicons do not give words the same features.
    """
    nouns = true[true["upos"] == "NOUN"], guessed[guessed["upos"] == "NOUN"]
    gender, *others = ((name.lower(), right_feature(true, guessed, name)) for name in JUDGED)
    return {
        "forms": true["word"].nunique(),
        "pos": right(true, guessed, "upos").mean(),
        **whole_analyses(true, guessed),
        **dict([gender]),
        "gender_of_nouns": right_feature(*nouns, "Gender"),
        **dict(others),
    }


def right_feature(true: pd.DataFrame, guessed: pd.DataFrame, name: str) -> float:
    """Return the share of right guesses among the words that have a feature."""
    with_value = []
    for rows in (true, guessed):
        values = rows["feats"].str.extract(rf"(?:^|\|){name}=([^|]+)", expand=False)
        with_value.append(rows.assign(**{name: values}).dropna(subset=[name]))
    return right(*with_value, name).mean()


def right(true: pd.DataFrame, guessed: pd.DataFrame, column: str) -> pd.Series:
    """Return whether the likeliest guess at each word is a true value of the column."""
    weights = guessed.groupby(["word", column], as_index=False)["weight"].sum()
    best = weights.sort_values(["weight", column], ascending=[False, True])
    best = best.drop_duplicates("word").set_index("word")[column]
    truth = true[["word", column]].drop_duplicates()
    truth = truth.assign(right=truth[column].to_numpy() == best.reindex(truth["word"]).to_numpy())
    return truth.groupby("word")["right"].any()


def whole_analyses(truth: pd.DataFrame, guessed: pd.DataFrame) -> dict[str, float]:
    """Return how often the likeliest analysis, or one of the three likeliest, is right, and nats.

    The nats are −log of the share of a true analysis, the mean over those of a form.
    """
    true = truth[["word", "upos", "feats"]].drop_duplicates(ignore_index=True).reset_index()
    order = ["word", "weight", "upos", "feats"]
    best = guessed.sort_values(order, ascending=[True, False, True, True])
    best = best.assign(rank=best.groupby("word").cumcount())
    pairs = true.merge(best, on="word", suffixes=("", "_guessed"))
    pairs = pairs[agreeing(pairs)]
    first = pairs.groupby("word")["rank"].min().reindex(true["word"].unique())
    share = pairs.groupby("index")["weight"].sum().reindex(true["index"], fill_value=0.0)
    nats = -np.log(share.clip(LEAST, 1))
    return {
        "analysis": (first < 1).mean(),
        "among_three": (first < 3).mean(),
        "nats": nats.groupby(true["word"].to_numpy()).mean().mean(),
    }


def agreeing(pairs: pd.DataFrame) -> np.ndarray:
    """Return whether the true and the guessed analysis of each pair can be the same."""
    columns = ["upos", "feats", "upos_guessed", "feats_guessed"]
    which, distinct = pd.factorize(pd.MultiIndex.from_frame(pairs[columns]))
    answers = [
        upos == upos_guessed
        and agrees(Analysis("", upos_guessed, feats_guessed), Analysis("", upos, feats).features)
        for upos, feats, upos_guessed, feats_guessed in distinct
    ]
    return np.array(answers, dtype=bool)[which]
