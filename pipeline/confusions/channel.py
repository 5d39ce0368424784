"""What a recogniser may have heard, or a hurried writer have typed, instead of a sentence.

    score(words) = Σ log f(word) − cost · edits

f is how often Lexique meets a word: a recogniser whose language model knows words one by one. By
the phonetic channel a word becomes one that sounds the same, or an elided word and another become
one (*l'a*, *la*) and back, for nothing; by the spelling channel one that is a letter away.
"""

import math
import re
from collections.abc import Iterator, Sequence

from lexicon.homophones import Homophones
from pipeline.confusions.lattice import Arc, Lattice

UNSEEN = 0.01  # occurrences per million words: the least that Lexique counts
MILLION = 1e6
COST = 6.0  # nats: about one word in 400 is mistyped
LETTERS = "abcdefghijklmnopqrstuvwxyzàâçéèêëîïôùûü"
WORD = re.compile(r"[^\W\d_][\w'-]*")


class Channel:
    """Makes lattices out of sentences."""

    def __init__(self, homophones: Homophones, spelling: bool = False):
        self.homophones = homophones
        self.spelling = spelling

    def lattice(self, name: str, words: Sequence[str]) -> Lattice:
        """All that may have been heard; nodes with odd numbers stand within a word."""
        arcs = []
        for place, word in enumerate(words):
            start, middle, end = 2 * place, 2 * place + 1, 2 * place + 2
            heard = {word: 0.0} | dict.fromkeys(self.homophones.of(word), 0.0)
            if self.spelling:
                heard = dict.fromkeys(self.typed(word), COST) | heard
            arcs += [self._arc(start, end, other, cost) for other, cost in heard.items()]
            for elided, other in self.homophones.parted(word):
                arcs += [self._arc(start, middle, elided), self._arc(middle, end, other)]
            for other in self.homophones.joined(word, *words[place + 1 : place + 2] or [""]):
                arcs.append(self._arc(start, end + 2, other))
        return Lattice(name, tuple(dict.fromkeys(arcs)), {2 * len(words): 0.0})

    def typed(self, word: str) -> Iterator[str]:
        """The words that are one letter too many, too few, another or swapped away from a word."""
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
