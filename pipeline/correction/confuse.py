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

from accord.lexicon.dictionaries.lexique import Homophones
from accord.pipeline.correction.nbest import Arc, Lattice
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


INFLECTED, OTHER_WORD = "homophone_inflected", "homophone_other_word"


def plant(
    sentences: Iterable[Sequence[str]], homophones: Homophones, seed: int = 1
) -> pd.DataFrame:
    """A suite: construction, good, bad; sentences without a word to confuse are left out.

    Every word that has homophones is as likely to go wrong; which one is written instead goes by
    how often it occurs. Words with a capital may be names, and stay.
    """
    random = np.random.default_rng(seed)
    rows = []
    for words in sentences:
        confused = {
            place: others
            for place, word in enumerate(words)
            if word == word.lower() and (others := _known(homophones.of(word), homophones))
        }
        if confused:
            place = random.choice(list(confused))
            counts = np.array([homophones.count(other) for other in confused[place]])
            wrong = str(random.choice(confused[place], p=counts / counts.sum()))
            same_word = homophones.share_lemma(words[place], wrong)
            bad = [*words[:place], wrong, *words[place + 1 :]]
            rows.append((INFLECTED if same_word else OTHER_WORD, text_of(words), text_of(bad)))
    if not rows:
        raise ValueError("expected sentences with words that sound like others, found none")
    return pd.DataFrame(rows, columns=["construction", "good", "bad"])


def _known(others: Sequence[str], homophones: Homophones) -> list[str]:
    """The words that occur at all."""
    return [other for other in others if homophones.count(other) > 0]
