"""A pattern of whole sentences: a regular expression over parts of speech, features and words.

    DET ADJ* NOUN                       a determiner, any number of adjectives, a noun
    le|la NOUN&Number=Sing . "."        a word as it is, several tests of one word, any word, a stop

`*`, `+`, `?`, `|` and brackets are those of all regular expressions; blanks part words. A word that
has such signs, or looks like a part of speech, stands in double quotes. A word has a part of
speech and features if one of its analyses has them all.
"""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pandas as pd

from models.network.constraint import Automaton
from models.network.regular_expression import Expression
from pipeline.inference.constraints import EVERY, FORBIDDEN, Constraint, groups_of, known_upos
from pipeline.prepared.special_words import END_ID, is_unknown

ANY = "."


def pattern_automaton(
    pattern: str,
    start: int,
    types: pd.DataFrame,
    analyses: pd.DataFrame,
    as_read: Callable[[Iterable[str]], Sequence[str]],
    spelled: bool = False,
) -> Automaton:
    """After `start` given words, which may be any, what the pattern allows; no sentence is empty.

    Words are looked up `as_read` by the model. Those that are not known may come only if they are
    `spelled`.
    """
    expression = Expression(pattern)
    known = spelled | ~types["form"].map(is_unknown).to_numpy()
    masks = [
        _constraint(test, as_read).allowed(types, analyses) & known for test in expression.tests
    ]
    for mask in masks:
        mask[END_ID] = False
    is_end = np.arange(len(types)) == END_ID
    group, first = groups_of([is_end, *masks])
    end = int(group[END_ID])
    obeys = np.array([mask[first] for mask in masks], bool).reshape(-1, len(first))
    follow = expression.automaton(obeys, end)
    if not start:
        follow[0, end] = FORBIDDEN
        if (follow[0] == FORBIDDEN).all():
            raise ValueError(f"'{pattern:.100}': expected a pattern that a word matches")
    given = np.repeat(np.arange(1, start + 1)[:, None], len(first), axis=1)
    return Automaton(group, np.concatenate([given, np.where(follow >= 0, follow + start, follow)]))


def _constraint(test: str, as_read: Callable[[Iterable[str]], Sequence[str]]) -> Constraint:
    """A test of one word, or several joined by `&`."""
    upos, feats, words = None, set(), set()
    for part in [test] if test.startswith('"') else test.split("&"):
        if part.startswith('"'):
            words.add(part[1:-1])
        elif "=" in part:
            feats.add(part)
        elif part.isupper():
            upos = known_upos(part)
        elif part != ANY:
            words.add(part)
    return Constraint(EVERY, upos, frozenset(feats), frozenset(as_read(words)))
