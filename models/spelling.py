"""A distribution over all strings: a character n-gram model that gives any string a probability."""

import json
import math
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

START, STOP = "\x02", "\x03"  # pad the word; as letters of a word they count like any other
CODE_POINTS = 0x110000


class Spelling:
    """Interpolated Witten-Bell over the letters of a word and its end.

    p(c | h) = [n(hc) + t(h)·p(c | h′)] / [n(h) + t(h)],  t(h) = how many letters were seen after h,
    h′ = h without its first letter; below the empty context, uniform over Unicode and the end.
    The empty word is left out: the first letter is never the end.
    """

    def __init__(self, order: int, counts: dict[str, int]):
        self.order = order
        self.counts = counts
        self.followers: dict[str, tuple[int, int]] = {}  # context -> n(h), t(h)
        for ngram, count in counts.items():
            total, kinds = self.followers.get(ngram[:-1], (0, 0))
            self.followers[ngram[:-1]] = (total + count, kinds + 1)

    @classmethod
    def learn(cls, words: Iterable[str], order: int) -> "Spelling":
        counts: Counter[str] = Counter()
        for word in words:
            padded = START + word + STOP
            for end in range(2, len(padded) + 1):
                counts.update(padded[start:end] for start in range(max(0, end - order), end))
        return cls(order, dict(counts))

    def save(self, path: Path) -> None:
        path.write_text(json.dumps({"order": self.order, "counts": self.counts}))

    @classmethod
    def load(cls, path: Path) -> "Spelling":
        return cls(**json.loads(path.read_text()))

    @lru_cache(maxsize=100_000)  # noqa: B019 - one model lives as long as the program
    def log_prob(self, word: str) -> float:
        """log spell(word), in nats."""
        if not word:
            raise ValueError("expected a word to spell, found the empty string")
        padded = START + word + STOP
        total = -math.log1p(-self._letter(START, STOP))
        for end in range(1, len(padded)):
            context = padded[max(0, end - self.order + 1) : end]
            total += math.log(self._letter(context, padded[end]))
        return total

    def _letter(self, context: str, letter: str) -> float:
        probability = 1 / (CODE_POINTS + 1)
        for start in range(len(context), -1, -1):
            total, kinds = self.followers.get(context[start:], (0, 0))
            if total:
                seen = self.counts.get(context[start:] + letter, 0)
                probability = (seen + kinds * probability) / (total + kinds)
        return probability
