"""How much of a text a lexicon covers, and how well guessers analyse the rest.

Guessers are tested on forms of lemmas that they were not trained on, and on words of a treebank.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import entry_points

import numpy as np
import pandas as pd

from accord.errors import AccordError
from accord.lexicon.analysis import Analysis, Lexicon, absent, agrees, everything
from accord.lexicon.guesser import OPEN, learned_guesser


def features(lexicon: Lexicon) -> list[str]:
    """Return every `Name=Value` that an analysis of the lexicon may have."""
    feats = lexicon.lookup(list(lexicon))["feats"].unique()
    return sorted({pair for text in feats for pair in text.split("|") if pair})


def known(lexicon: Lexicon, forms: Sequence[str]) -> np.ndarray:
    """Return whether the lexicon has an analysis of each form."""
    return np.isin(np.arange(len(forms)), lexicon.lookup(forms)["word"])


def coverage(lexicon: Lexicon, words: pd.DataFrame) -> pd.DataFrame:
    """Count tokens and types, all and covered, in the whole and by part of speech.

    A row of `words` has a form and its count, or a form as one part of speech (upos) and its count.
    """
    is_known = known(lexicon, words["form"].tolist())
    counted = pd.DataFrame(
        {
            "upos": words.get("upos", "all"),
            "tokens": words["count"],
            "tokens_covered": words["count"] * is_known,
            "types": 1,
            "types_covered": is_known.astype(int),
        }
    )
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
    return right(with_feature(true, name), with_feature(guessed, name), name).mean()


def with_feature(rows: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return the rows that have a feature, with its value as a column."""
    values = rows["feats"].str.extract(rf"(?:^|\|){name}=([^|]+)", expand=False)
    return rows.assign(**{name: values}).dropna(subset=[name])


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
    best = guessed.sort_values(
        ["word", "weight", "upos", "feats"], ascending=[True, False, True, True]
    )
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
