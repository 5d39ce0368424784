"""A pattern of whole sentences: a regular expression over parts of speech, features and words.

    DET ADJ* NOUN                       a determiner, any number of adjectives, a noun
    le|la NOUN&Number=Sing . "."        a word as it is, several tests of one word, any word, a stop
    NOUN&/an.*eur/                      a noun that is written so (accord.models.constraints.letters)

`*`, `+`, `?`, `|` and brackets are those of all regular expressions; blanks part words. A word that
has such signs, or looks like a part of speech, stands in double quotes. A word has a part of
speech and features if one of its analyses has them all. Words that are spelled have the classes of
unknown words for analyses; what is between slashes holds for them too, by the exact mass of all
strings that match.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from accord.models.constraints.matching import Matching
from accord.models.network.constraint import Automaton
from accord.models.network.regular_expression import Expression
from accord.models.spelling.strings import Spelling
from accord.pipeline.inference.held.constraints import EVERY, FORBIDDEN, Constraint, groups_of, known_upos
from accord.pipeline.prepared.special_words import END_ID, UNKNOWN_ID, is_special
from accord.pipeline.prepared.vocabulary import Vocabulary

ANY = "."
PARTS = re.compile(r"/(?:\\.|[^/\\])+/|[^&]+")  # of a test of one word


class Held(NamedTuple):
    """What sentences are held to, and by the state after a spelled word what it was to match."""

    automaton: Automaton
    strings: dict[int, Matching]


def pattern_automaton(
    pattern: str,
    start: int,
    vocabulary: Vocabulary,
    analyses: pd.DataFrame,
    as_read: Callable[[Iterable[str]], Sequence[str]],
    spelling: Spelling | None = None,
) -> Held:
    """After `start` given words, which may be any, what the pattern allows; no sentence is empty.

    Words are looked up `as_read` by the model. Those that are not known may come only if there is
    a `spelling` of them.
    """
    expression = Expression(pattern)
    unknown = UNKNOWN_ID + np.arange(len(vocabulary.unknown))
    written = _Written(vocabulary.forms, unknown, as_read, spelling)
    masks = [
        _constraint(test, as_read).allowed(vocabulary, analyses) & written.allowed(test)
        for test in expression.tests
    ]
    for mask in masks:
        mask[END_ID] = False
    is_end = np.arange(len(vocabulary.forms)) == END_ID
    group, first = groups_of([is_end, *masks])
    if written.strings:  # what matches has another mass in each class
        group[unknown] = len(first) + np.arange(len(unknown))
        first = np.concatenate([first, unknown])
    end = int(group[END_ID])
    obeys = np.array([mask[first] for mask in masks], bool).reshape(-1, len(first))
    follow = expression.automaton(obeys, end)
    if not start:
        follow[0, end] = FORBIDDEN
        if (follow[0] == FORBIDDEN).all():
            raise ValueError(f"'{pattern:.100}': expected a pattern that a word matches")
    weight, strings = written.weights(expression, follow, group)
    given = np.repeat(np.arange(1, start + 1)[:, None], len(first), axis=1)
    follow = np.concatenate([given, np.where(follow >= 0, follow + start, follow)])
    weight = np.concatenate([np.zeros(given.shape), weight])
    return Held(
        Automaton(group, follow, weight), {state + start: each for state, each in strings.items()}
    )


class _Written:
    """How words have to be written by each test: `/an.*eur/`, known ones and spelled ones alike."""

    def __init__(
        self,
        forms: Sequence[str],
        unknown: np.ndarray,
        as_read: Callable[[Iterable[str]], Sequence[str]],
        spelling: Spelling | None,
    ):
        self.forms, self.unknown, self.as_read, self.spelling = forms, unknown, as_read, spelling
        self.strings: dict[str, Matching] = {}  # by expression

    def allowed(self, test: str) -> np.ndarray:
        """Whether each word may be written so."""
        expression = self._expression(test)
        allowed = np.ones(len(self.forms), bool)
        if expression is not None:
            try:
                pattern = re.compile(expression, re.DOTALL)
            except re.error as error:
                raise ValueError(f"/{expression}/: expected an expression, but {error}") from None
            match = [not is_special(form) and bool(pattern.fullmatch(form)) for form in self.forms]
            allowed = np.array(match)
        allowed[self.unknown] = self.spelling is not None
        if expression is not None and self.spelling is not None:
            if expression not in self.strings:
                self.strings[expression] = Matching(self.spelling, expression)
            allowed[self.unknown] = np.isfinite(self.strings[expression].log_mass)
        return allowed

    def weights(
        self, expression: Expression, follow: np.ndarray, group: np.ndarray
    ) -> tuple[np.ndarray, dict[int, Matching]]:
        """log m of each group of words in each state, 0 where all strings will do (Q × G)."""
        weight, strings = np.zeros(follow.shape), {}
        for state in range(1, len(follow)):
            tests = [expression.tests[at] for at in expression.states[state]]
            written = {self._expression(test) for test in tests}
            if written == {None} or not self.strings:
                continue
            from_states, kinds = np.nonzero(follow[:, group[self.unknown]] == state)
            if len(written) > 1 and len(kinds):
                raise ValueError(
                    f"'{expression.text}': a spelled word could be one of {', '.join(tests)} in "
                    f"the same place; expected one /…/ for it, such as /.*eur|.*euse/"
                )
            strings[state] = self.strings[written.pop()]
            weight[from_states, group[self.unknown[kinds]]] = strings[state].log_mass[kinds]
        return weight, strings

    def _expression(self, test: str) -> str | None:
        found = [part[1:-1] for part in PARTS.findall(test) if _is_written(part)]
        if test.startswith('"') or not found:
            return None
        if len(found) > 1:
            raise ValueError(f"'{test}': expected one /…/ for a word, found {len(found)}")
        return self.as_read(found)[0]


def _is_written(part: str) -> bool:
    return len(part) > 2 and part.startswith("/") and part.endswith("/")


def _constraint(test: str, as_read: Callable[[Iterable[str]], Sequence[str]]) -> Constraint:
    """A test of one word, or several joined by `&`."""
    upos, feats, words = None, set(), set()
    for part in [test] if test.startswith('"') else PARTS.findall(test):
        if part.startswith('"'):
            words.add(part[1:-1])
        elif _is_written(part):
            continue
        elif "=" in part:
            feats.add(part)
        elif part.isupper():
            upos = known_upos(part)
        elif part != ANY:
            words.add(part)
    return Constraint(EVERY, upos, frozenset(feats), frozenset(as_read(words)))
