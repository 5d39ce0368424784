"""Planted errors and a recogniser's channel.

    score(words) = Σ log f(word) − cost · edits

f is how often Lexique meets a word: a recogniser whose language model knows words one by one. By
the phonetic channel a word becomes one that sounds the same, or an elided word and another become
one (*l'a*, *la*) and back, for nothing; by the spelling channel one that is a letter away.
"""

import math
import re
from collections.abc import Container, Iterable, Iterator, Sequence

import numpy as np
import pandas as pd

from accord.errors import AccordError
from accord.lexicon.dictionaries.homophones import Homophones
from accord.pipeline.correct.candidates import SELDOM, Candidates
from accord.pipeline.correct.nbest import Arc, Lattice
from accord.pipeline.evaluation.suites import text_of

UNSEEN = 0.01  # occurrences per million words: the least that Lexique counts
MILLION = 1e6
COST = 6.0  # nats: about one word in 400 is mistyped
LETTERS = "abcdefghijklmnopqrstuvwxyzàâçéèêëîïôùûü"
WORD = re.compile(r"[^\W\d_][\w'-]*")


class Channel:
    """Makes lattices from sentences; with a vocabulary, only its words occur."""

    def __init__(
        self,
        homophones: Homophones,
        spelling: bool = False,
        vocabulary: Container[str] | None = None,
    ):
        self.homophones = homophones
        self.spelling = spelling
        self.vocabulary = homophones if vocabulary is None else vocabulary

    def lattice(self, name: str, words: Sequence[str]) -> Lattice:
        """The lattice of all words that may have been heard; odd nodes are inside a word."""
        arcs = []
        for place, word in enumerate(words):
            start, middle, end = 2 * place, 2 * place + 1, 2 * place + 2
            arcs.append(self._arc(start, end, word))
            for other, cost in self._heard(word).items():
                arcs.append(self._arc(start, end, other, cost))
            for elided, other in self.homophones.parted(word):
                if elided in self.vocabulary and other in self.vocabulary:
                    arcs += [self._arc(start, middle, elided), self._arc(middle, end, other)]
            for other in self.homophones.joined(word, *words[place + 1 : place + 2] or [""]):
                if other in self.vocabulary:
                    arcs.append(self._arc(start, end + 2, other))
        return Lattice(name, tuple(dict.fromkeys(arcs)), {2 * len(words): 0.0})

    def _heard(self, word: str) -> dict[str, float]:
        """The other words that a word may become, and their costs."""
        typed = dict.fromkeys(self.typed(word), COST) if self.spelling else {}
        heard = typed | dict.fromkeys(self.homophones.of(word), 0.0)
        return {other: cost for other, cost in heard.items() if other in self.vocabulary}

    def typed(self, word: str) -> Iterator[str]:
        """The words at one edit from a word: a letter added, dropped, replaced or swapped."""
        if not WORD.fullmatch(word):
            return
        for at in range(len(word) + 1):
            before, letter, after = word[:at], word[at : at + 1], word[at + 1 :]
            edits = [before + new + letter + after for new in LETTERS]
            if letter:
                edits += [before + new + after for new in ("", *LETTERS)]
                edits.append(before + after[:1] + letter + after[1:])
            yield from (other for other in edits if other in self.homophones and other != word)

    def _arc(self, start: int, end: int, word: str, cost: float = 0.0) -> Arc:
        frequency = max(self.homophones.count(word), UNSEEN) / MILLION
        return Arc(start, end, word, math.log(frequency) - cost)


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
