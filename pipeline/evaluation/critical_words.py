"""The critical word of pairs whose subject varies and whose verb is the same.

    le chat que les voisins voient dort      les chats que les voisins voient dort

Here the words that differ are not the ones to compare, nor is the word behind them. The verb is
further on: its form is the same in both sentences, and it agrees with the subject of the right one
only. A model that knows this finds log p(dort | le chat …) larger than log p(dort | les chats …).

The word is named by a column of the suite's table, or it is the verb that a lexicon finds.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from accord.corpora.tokenise import tokenised
from accord.errors import AccordError
from accord.lexicon import Analysis, Lexicon
from accord.pipeline.evaluation.suites import Pair, WrittenSuite, pair_table, words_of

VERB, WORD = "verb", "word:"  # values of --score; a column follows WORD
# Each of these begins a clause whose verb agrees with another subject: it is passed over.
# `qui` does not: its verb agrees with the noun before it, which is often the subject itself.
OPENERS = {"que", "qu'", "dont", "où", "quand", "lorsque", "lorsqu'", "puisque", "puisqu'"}
# Adjectives that stand before their noun: after `la petite`, `ferme` is a noun.
BEFORE_NOUNS = {"petit", "grand", "gros", "bon", "mauvais", "beau", "joli", "jeune", "vieux"}
BEFORE_NOUNS |= {"nouveau", "ancien", "autre", "même", "premier", "dernier", "seul", "long"}


class CriticalWords(NamedTuple):
    """For each pair, where the critical word begins and ends in both sentences (P × 2).

    A pair in which it was not found has −1. A word may be several tokens, as `s'endort` is.
    """

    score: str
    good: np.ndarray
    bad: np.ndarray

    @property
    def found(self) -> np.ndarray:
        return self.good[:, 0] >= 0


def find_words(suite: WrittenSuite, score: str, lexicon: Lexicon | None) -> CriticalWords:
    """The critical words for `verb` or `word:COLUMN`."""
    if score.startswith(WORD):
        found = _named_words(suite, score.removeprefix(WORD))
    elif score == VERB and lexicon is not None:
        found = [_verb(pair, lexicon) for pair in suite.pairs]
    else:
        raise AccordError(f"--score: expected {VERB} or {WORD}COLUMN, got {score!r}")
    if not any(found):
        raise AccordError(
            f"--score {score}: expected a word that both sentences of a pair have, from where they "
            f"begin to differ; found none in {suite.source}"
        )
    spans = np.array([each or ((-1, -1), (-1, -1)) for each in found], np.int64)
    return CriticalWords(score, spans[:, 0], spans[:, 1])


Span = tuple[int, int]


def _named_words(suite: WrittenSuite, column: str) -> list[tuple[Span, Span] | None]:
    """The words of a column, each at its first position from the difference on."""
    table = pair_table(suite)
    if column not in table:
        raise AccordError(
            f"--score {WORD}{column}: {suite.source} has no such column; found "
            f"{', '.join(map(str, table.columns))}"
        )
    cells = table[column].fillna("").map(str).tolist()
    found: list[tuple[Span, Span] | None] = []
    for pair, cell in zip(suite.pairs, tokenised(cells), strict=True):
        word = [each.lower() for each in cell]
        first = pair.first_difference()
        spans = [_span(words_of(text.lower()), word, first) for text in (pair.good, pair.bad)]
        found.append((spans[0], spans[1]) if all(spans) else None)
    return found


def _span(words: list[str], word: list[str], first: int) -> Span | None:
    length = len(word)
    starts = range(first, len(words) - length + 1) if word else ()
    return next(((at, at + length) for at in starts if words[at : at + length] == word), None)


def _verb(pair: Pair, lexicon: Lexicon) -> tuple[Span, Span] | None:
    """The first finite verb after the difference that agrees with the right subject."""
    good, bad = words_of(pair.good), words_of(pair.bad)
    first = pair.first_difference()
    shared = _shared_end(good[first:], bad[first:])
    if not shared or first >= min(len(good), len(bad)):
        return None
    subjects = lexicon.analyses(good[first]), lexicon.analyses(bad[first])
    at = _place_of_verb(good[-shared:], subjects, lexicon)
    if at is None:
        return None
    spans = [(len(words) - shared + at, len(words) - shared + at + 1) for words in (good, bad)]
    return spans[0], spans[1]


def _shared_end(good: Sequence[str], bad: Sequence[str]) -> int:
    """How many words both have at their end."""
    count = 0
    while count < min(len(good), len(bad)) and good[-1 - count] == bad[-1 - count]:
        count += 1
    return count


Readings = tuple[Analysis, ...]


def _place_of_verb(
    words: Sequence[str], subjects: tuple[Readings, Readings], lexicon: Lexicon
) -> int | None:
    passed_over = 0  # clauses that were begun and whose verb has not come yet
    noun_due = False  # after a determiner, a preposition
    for place, word in enumerate(words):
        readings = lexicon.analyses(word)
        kinds = {each.upos for each in readings}
        finite = [each for each in readings if each.features.get("VerbForm") == "Fin"]
        is_name = word[:1].isupper()
        if finite and not is_name and (not noun_due or kinds <= {"VERB", "AUX"}):
            if passed_over:
                passed_over -= 1
            elif _agrees(finite, *subjects):
                return place
        passed_over += word.lower() in OPENERS
        before_noun = noun_due and any(each.lemma in BEFORE_NOUNS for each in readings)
        noun_due = bool(kinds & {"DET", "ADP", "NUM"}) or before_noun
    return None


def _agrees(verb: Sequence[Analysis], good: Readings, bad: Readings) -> bool:
    """Whether a reading of the verb has the number and person that only the right subject has."""
    own = {name: _values(good, name) - _values(bad, name) for name in ("Number", "Person")}
    return any(
        all(each.features.get(name) in (None, *own[name]) for name in own if own[name])
        for each in verb
    )


def _values(readings: Readings, name: str) -> set[str]:
    return {each.features[name] for each in readings if name in each.features}
