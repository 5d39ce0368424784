"""How well the guesser guesses: on the forms of lemmas that it was not shown."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from lexicon.analysis import Lexicon
from lexicon.guesser import OPEN, everything, learned_guesser


@dataclass(frozen=True)
class GuesserFigures:
    """Shares of held-out forms guessed right: the likeliest value is one the form really has."""

    forms: int
    pos: float
    gender_of_nouns: float
    number: float


def evaluate_guesser(lexicon: Lexicon, seed: int = 0) -> GuesserFigures:
    """Leaves out a random tenth of the lemmas, learns from the others, and asks for their forms.

    A form that a lemma shown also has is not asked: the lexicon would know it.
    """
    rows = everything(lexicon)
    rows = rows[rows["upos"].isin(OPEN)]
    lemmas = np.array(sorted(set(rows["lemma"])), dtype=object)
    hidden = lemmas[np.random.default_rng(seed).random(len(lemmas)) < 0.1]
    hide = rows["lemma"].isin(hidden)
    shown, asked = rows[~hide], rows[hide]
    asked = asked[~asked["form"].isin(shown["form"])]
    word, forms = pd.factorize(asked["form"])
    asked = asked.assign(word=word)
    guessed = learned_guesser(shown, lexicon.licence).lookup(np.asarray(forms, dtype=object))
    nouns = asked[asked["upos"] == "NOUN"], guessed[guessed["upos"] == "NOUN"]
    return GuesserFigures(
        forms=len(forms),
        pos=right(asked, guessed, "upos").mean(),
        gender_of_nouns=right(*(with_feature(rows, "Gender") for rows in nouns), "Gender").mean(),
        number=right(*(with_feature(rows, "Number") for rows in (asked, guessed)), "Number").mean(),
    )


def with_feature(rows: pd.DataFrame, name: str) -> pd.DataFrame:
    """The rows that have a feature, with its value as a column."""
    values = rows["feats"].str.extract(rf"(?:^|\|){name}=([^|]+)", expand=False)
    return rows.assign(**{name: values}).dropna(subset=[name])


def right(asked: pd.DataFrame, guessed: pd.DataFrame, column: str) -> pd.Series:
    """For each word that has a value of the column: whether the likeliest guess is one of them."""
    weights = guessed.groupby(["word", column], as_index=False)["weight"].sum()
    best = weights.sort_values(["weight", column], ascending=[False, True])
    best = best.drop_duplicates("word").set_index("word")[column]
    truth = asked[["word", column]].drop_duplicates()
    truth = truth.assign(right=truth[column].to_numpy() == best.reindex(truth["word"]).to_numpy())
    return truth.groupby("word")["right"].any()
