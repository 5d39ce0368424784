"""Constraints on generated words: a part of speech, features, a list of words, in some place.

    2: NOUN Gender=Fem Number=Plur      the second generated word is a feminine plural noun
    DET                                 the next word in turn is a determiner
    *: words=le,la,chat,dort            every word is one of these

A word has a part of speech and features if one of its analyses has them all.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from accord.lexicon.analysis import UPOS
from accord.models.network.constraint import Automaton
from accord.pipeline.display.nearest import nearest
from accord.pipeline.prepared.special_words import END_ID, UNKNOWN_ID
from accord.pipeline.prepared.vocabulary import Vocabulary

EVERY = 0  # the place that stands for all
LONGEST = 50  # words; few sentences are longer, and none that is generated
PLACE = re.compile(r"\s*(?:(\d+|\*)\s*:)?\s*(.*)", re.DOTALL)
FORBIDDEN = -1


@dataclass(frozen=True)
class Constraint:
    place: int  # of a generated word, the first being 1; or EVERY
    upos: str | None = None
    feats: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()

    def allowed(self, vocabulary: Vocabulary, analyses: pd.DataFrame) -> np.ndarray:
        """Whether each known word obeys."""
        allowed = np.ones(len(vocabulary.forms), bool)
        if self.upos or self.feats:
            feats = analyses["feats"].cat  # each combination is asked once, not each analysis
            has = np.array([self.feats.issubset(each.split("|")) for each in feats.categories])
            fits = has[feats.codes]
            if self.upos:
                fits &= (analyses["upos"] == self.upos).to_numpy()
            allowed = np.zeros(len(allowed), bool)
            allowed[analyses["word"].to_numpy()[fits]] = True
        if self.words:
            is_named = np.zeros(len(allowed), bool)
            is_named[self._ids(vocabulary)] = True
            allowed &= is_named
        if not allowed.any():
            raise ValueError(f"constraint on place {self.place or '*'}: {self._why_none(analyses)}")
        return allowed

    def _ids(self, vocabulary: Vocabulary) -> list[int]:
        if unknown := sorted(self.words - vocabulary.known.keys()):
            raise ValueError(
                f"constraint on place {self.place or '*'}: expected known words, the model does "
                f"not know {', '.join(map(repr, unknown)):.200}"
            )
        return [vocabulary.known[word] for word in self.words]

    def _why_none(self, analyses: pd.DataFrame) -> str:
        """What no known word has, or that none has it all."""
        there_are = set("|".join(analyses["feats"].cat.categories).split("|"))
        for feature in sorted(self.feats - there_are):
            found = nearest(feature[:100], sorted(there_are - {""}))
            return f"no known word has '{feature:.100}'{found}"
        return "no known word obeys it"


def parse(constraints: Sequence[str]) -> list[Constraint]:
    """Constraints as they are typed; those without a place take the positions in turn."""
    parsed: list[Constraint] = []
    turn = 0
    for text in constraints:
        place, what = PLACE.fullmatch(text).groups()
        turn += place is None
        number = turn if place is None else EVERY if place == "*" else int(place[:9])
        if place != "*" and not 1 <= number <= LONGEST:
            raise ValueError(
                f"'{text:.100}': expected a place from 1 to {LONGEST}, or *; got {number}"
            )
        parsed.append(_parse(number, what, text))
    return parsed


def _parse(place: int, what: str, text: str) -> Constraint:
    upos, feats, words = None, set(), set()
    for part in what.split():
        name, equals, value = part.partition("=")
        if not equals:
            upos = known_upos(part)
        elif name == "words":
            words |= {*filter(None, value.split(","))}
        else:
            feats.add(part)
    if not (upos or feats or words):
        raise ValueError(
            f"'{text:.100}': expected a part of speech, Name=Value or words=a,b; got none"
        )
    return Constraint(place, upos, frozenset(feats), frozenset(words))


def known_upos(name: str) -> str:
    if name not in UPOS:
        raise ValueError(f"unknown part of speech '{name:.100}'{nearest(name[:100], UPOS)}")
    return name


def automaton(
    constraints: Sequence[Constraint],
    start: int,
    vocabulary: Vocabulary,
    analyses: pd.DataFrame | None,
    spelled: bool = False,
) -> Automaton:
    """Counts positions: `start` given words, which may be any, then those under constraint.

    `analyses` of the known words are needed where there are constraints.

    No sentence is empty or ends before its last constrained place. Words that are not known may
    come only if they are `spelled`.
    """
    masks = [written(vocabulary, spelled)]
    masks += [each.allowed(vocabulary, analyses) for each in constraints]
    for mask, each in zip(masks[1:], constraints, strict=True):
        mask[END_ID] = each.place == EVERY
    is_end = np.arange(len(vocabulary.forms)) == END_ID
    group, first = groups_of([is_end, *masks])
    ends, *obeys = [mask[first] for mask in (is_end, *masks)]
    positions = max((each.place for each in constraints), default=0)
    follow = np.full((start + max(positions, 1) + 1, len(first)), FORBIDDEN)
    for state in range(len(follow)):
        place = state - start + 1
        allowed = obeys[0] & ~(ends & (place <= positions or state == 0))
        for each, obeyed in zip(constraints, obeys[1:], strict=True):
            if each.place in (EVERY, place):
                allowed &= obeyed
        if not allowed.any():
            raise ValueError(f"constraints: expected words that all allow, word {place} has none")
        allowed |= place < 1
        follow[state, allowed] = min(state + 1, len(follow) - 1)
    return Automaton(group, follow)


def written(vocabulary: Vocabulary, spelled: bool) -> np.ndarray:
    """Whether each known word can be written: an unknown one only if it may be spelled."""
    can = np.ones(len(vocabulary.forms), bool)
    can[UNKNOWN_ID : UNKNOWN_ID + len(vocabulary.unknown)] = spelled
    return can


def groups_of(masks: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Words that no mask tells apart: the group of each word, and the first word of each group."""
    group = np.zeros(len(masks[0]), np.int64)
    for mask in reversed(masks):  # one after the other, as the bits of a number hold only so many
        _, first, group = np.unique(2 * group + mask, return_index=True, return_inverse=True)
    return group, first
