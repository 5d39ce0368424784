"""Small texts with many repeats, and modified Kneser-Ney written down word by word."""

from collections import Counter, defaultdict

import numpy as np

from accord.models.data import Sentences

WORDS = 9  # the last two never occur


def random_sentences(seed=0, count=120, words=WORDS - 2) -> Sentences:
    generator = np.random.default_rng(seed)
    lengths = generator.integers(1, 9, size=count)
    ids = np.minimum(generator.geometric(0.35, size=lengths.sum()), words - 1)
    ids[np.cumsum(lengths) - 1] = 0
    return Sentences(ids.astype(np.int32), lengths)


def rising_prior(counts: np.ndarray) -> np.ndarray:
    return np.arange(1.0, len(counts) + 1)


def as_lists(sentences: Sentences) -> list[list[int]]:
    return [part.tolist() for part in np.split(sentences.ids, np.cumsum(sentences.lengths)[:-1])]


class KneserNey:
    """p(w | h) by the definition, with "<s>" for the start of a sentence."""

    def __init__(self, sentences: Sentences, order: int, words: int):
        self.order, self.words = order, words
        texts = [["<s>", *sentence] for sentence in as_lists(sentences)]
        raw: Counter[tuple] = Counter()
        for text in texts:
            for end in range(2, len(text) + 1):
                raw.update(tuple(text[start:end]) for start in range(max(0, end - order), end))
        left = defaultdict(set)
        for ngram in raw:
            if len(ngram) > 1:
                left[ngram[1:]].add(ngram[0])
        self.counts = {
            ngram: count if len(ngram) == order or ngram[0] == "<s>" else len(left[ngram])
            for ngram, count in raw.items()
        }
        self.discounts = {length: self._discounts(length) for length in range(1, order + 1)}

    def _discounts(self, length: int) -> list[float]:
        n = Counter(count for ngram, count in self.counts.items() if len(ngram) == length)
        if not all(n[k] for k in (1, 2, 3, 4)):
            return [0.5, 1, 1.5]
        y = n[1] / (n[1] + 2 * n[2])
        found = [k - (k + 1) * y * n[k + 1] / n[k] for k in (1, 2, 3)]
        usable = all(0 <= discount <= k for k, discount in enumerate(found, start=1))
        return found if usable else [0.5, 1, 1.5]

    def p(self, word: int, context: tuple) -> float:
        """The context's oldest words are dropped until it is short enough."""
        context = context[max(0, len(context) - self.order + 1) :]
        below = self.p(word, context[1:]) if context else 1 / self.words
        after = {w: self.counts.get((*context, w), 0) for w in range(self.words)}
        total = sum(after.values())
        if not total:
            return below
        lost = {w: self._lost(len(context) + 1, count) for w, count in after.items()}
        return (after[word] - lost[word] + sum(lost.values()) * below) / total

    def _lost(self, length: int, count: int) -> float:
        return self.discounts[length][min(count, 3) - 1] if count else 0.0
