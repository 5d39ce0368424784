"""Planted errors: suites of sentences and the same sentences with words taken for others."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from accord.errors import AccordError
from accord.pipeline.correct.candidates import SELDOM, Candidates
from accord.pipeline.evaluation.suites import text_of

AGREEMENT, HOMOPHONE, PARTICIPLE = "agreement", "homophone", "participle"
SEVERAL = {2: "two_errors", 3: "three_errors"}
HEARD = 0.15  # how often people write a form that sounds otherwise, beside one that does not
LENGTHS = range(5, 41)  # words of a sentence
PAST = ("VerbForm=Part", "Tense=Past")
INVARIABLE = {"ADP", "ADV", "CCONJ", "SCONJ", "INTJ"}


def plant(
    sentences: Iterable[Sequence[str]],
    candidates: Candidates,
    errors: int = 1,
    seed: int = 1,
    limit: int | None = None,
) -> pd.DataFrame:
    """A suite: construction, good, bad; sentences with too few words to confuse are left out.

    The sentences get one to `errors` errors in turn. An error is of one of three kinds, each as
    likely: a form that agrees otherwise, a homophone of another lemma, another form of a past
    participle. Words with a capital may be names, and stay.
    """
    random = np.random.default_rng(seed)
    rows: list[tuple[str, str, str]] = []
    for words in sentences:
        if len(words) in LENGTHS:
            wanted = 1 + len(rows) % errors
            planted = _planted(words, candidates, wanted, random)
            if planted:
                bad, kinds = planted
                rows.append((SEVERAL.get(wanted, kinds[0]), text_of(words), text_of(bad)))
        if len(rows) == limit:
            break
    if not rows:
        raise AccordError("expected sentences with words that can be taken for others, found none")
    return pd.DataFrame(rows, columns=["construction", "good", "bad"])


def _planted(
    words: Sequence[str], candidates: Candidates, errors: int, random: np.random.Generator
) -> tuple[list[str], list[str]] | None:
    """A sentence with so many errors, and their kinds; None if it offers fewer."""
    offered: dict[str, dict[int, dict[str, float]]] = {}
    for place, word in enumerate(words):
        if word == word.lower():
            for kind, others in _mistakes(word, candidates).items():
                offered.setdefault(kind, {})[place] = others
    bad, kinds = list(words), []
    for _ in range(errors):
        if not offered:
            return None
        kinds.append(str(random.choice(sorted(offered))))
        place = int(random.choice(sorted(offered[kinds[-1]])))
        others = offered[kinds[-1]][place]
        weights = np.array([*others.values()])
        bad[place] = str(random.choice([*others], p=weights / weights.sum()))
        for kind in [*offered]:
            offered[kind].pop(place, None)
            if not offered[kind]:
                del offered[kind]
    return bad, kinds


def _mistakes(word: str, candidates: Candidates) -> dict[str, dict[str, float]]:
    """The words that may be written for a word by kinds of error, and how often each is.

    A homophone of another lemma is frequent, as both of those that people confuse are. A word that
    may be invariable (*entre*) is not inflected, and no form is planted that hardly occurs.
    """
    is_participle = candidates.has(word, *PAST)
    is_inflected = not candidates.uposes(word) & INVARIABLE
    found: dict[str, dict[str, float]] = {}
    for other, kinds in candidates.instead_of(word).items():
        count = candidates.homophones.count(other)
        weight = HEARD if "audible" in kinds else 1.0
        if "other word" in kinds:
            found.setdefault(HOMOPHONE, {})[other] = count
        elif is_inflected and count >= SELDOM and not {"rare word", "pronoun"} & {*kinds}:
            if is_participle:
                found.setdefault(PARTICIPLE, {})[other] = weight
            elif "tense" not in kinds:
                found.setdefault(AGREEMENT, {})[other] = weight
    return found
