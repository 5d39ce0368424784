"""Paradigms: from one form of a lemma to another that differs in one feature."""

from collections import defaultdict
from collections.abc import Mapping
from functools import cached_property

import numpy as np
import pandas as pd

from accord.lexicon.analysis import Analysis, Lexicon, join_feats

AGREEING = ("Gender", "Number", "Person")


class Paradigms:
    """The forms of every lemma of a lexicon by their features. Auxiliaries count as verbs."""

    def __init__(self, lexicon: Lexicon):
        self.lexicon = lexicon

    @cached_property
    def _forms(self) -> dict[tuple[str, str, str], set[str]]:
        forms = list(self.lexicon)
        rows = inflected(self.lexicon.lookup(forms))
        found = defaultdict(set)
        columns = (rows[name].tolist() for name in ("word", "lemma", "upos", "feats"))
        for place, *cell in zip(*columns, strict=True):
            found[tuple(cell)].add(forms[place])
        return dict(found)

    def readings(self, form: str, upos: str, given: Mapping[str, str]) -> list[Analysis]:
        """The analyses of a form as this part of speech that do not contradict some features."""
        return [
            each
            for each in self.lexicon.analyses(form)
            if _verb(each.upos) == _verb(upos) and agrees(each, given)
        ]

    def flip(
        self, form: str, upos: str, given: Mapping[str, str], feature: str, value: str
    ) -> str | None:
        """The form of the same lemma that has another value of one feature.

        `given` is what is known of the form in its place, the feature among it. None if there is no
        such form or more than one, or if the form would be right in that place too. A form that is
        flipped twice must be itself again, otherwise the result is None as well.
        """
        there = self._others(form, upos, given, feature, value)
        if len(there) != 1 or form in there:
            return None
        (other,) = there
        decisive = {*AGREEING, feature}
        if given.get("VerbForm") == "Part":  # after an auxiliary nothing else can stand
            decisive.add("VerbForm")
        agreeing = {name: value for name, value in given.items() if name in decisive}
        if self.readings(other, upos, agreeing):
            return None
        if self.readings(form, upos, {**agreeing, feature: value}):  # an infinitive, say
            return None
        back = self._others(other, upos, {**given, feature: value}, feature, given[feature])
        return other if back == {form} else None

    def _others(
        self, form: str, upos: str, given: Mapping[str, str], feature: str, value: str
    ) -> set[str]:
        """The forms that the readings of a form turn into."""
        found = set()
        for reading in self.readings(form, upos, given):
            if feature in reading.features:
                turned = {**reading.features, feature: value}
                feats = join_feats(*(f"{name}={each}" for name, each in turned.items()))
                found |= self._forms.get((reading.lemma, _verb(reading.upos), feats), set())
        return found


def agrees(analysis: Analysis, given: Mapping[str, str]) -> bool:
    """Whether an analysis has no other value of any of these features."""
    values = analysis.features
    return all(values.get(name, value) == value for name, value in given.items())


def inflected(rows: pd.DataFrame) -> pd.DataFrame:
    """The analyses that are forms of a lemma: auxiliaries count as verbs, contractions do not.

    A contraction (du) is two words at once, and no form of either.
    """
    rows = rows.assign(upos=rows["upos"].map(_verb).astype(str))
    contracted = np.intersect1d(*(rows["word"][rows["upos"] == each] for each in ("ADP", "DET")))
    return rows[~rows["word"].isin(contracted)]


def _verb(upos: str) -> str:
    return "VERB" if upos == "AUX" else upos
