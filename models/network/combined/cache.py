"""The unigram cache: words of late come again (Kuhn & De Mori 1990)."""

import math

import numpy as np
import torch
from torch import Tensor

from accord.models.common.batching import END, Sentences


class Cache:
    """p(x | K) = Σ_{j<t} δ^{t−j}·[x_j = x] / Σ_{j<t} δ^{t−j}, j over all words that were read.

    Sentences are therefore taken in their order. A word counts half as much after `half_life`
    words; a sentence's end is never held, hence impossible, and before the first word all are
    alike: the cache is of use as part of a mixture only.
    """

    def __init__(self, words: int, half_life: float):
        self.words, self.decay = words, 0.5 ** (1 / half_life)

    def score(self, sentences: Sentences) -> np.ndarray:
        log_p = np.full(len(sentences.ids), -np.inf)
        mass: dict[int, tuple[float, int]] = {}  # of each word, and when that was
        total, now = 0.0, 0
        for place, word in enumerate(sentences.ids.tolist()):
            if not total:
                log_p[place] = -np.log(self.words)
            if word == END:
                continue
            held, then = mass.get(word, (0.0, now))
            held *= self.decay ** (now - then)
            if held:
                log_p[place] = math.log(held) - math.log(total)
            total, now = (total + 1) * self.decay, now + 1
            mass[word] = (held + 1) * self.decay, now
        return log_p

    def log_distributions(self, sentences: Sentences) -> Tensor:
        mass = torch.zeros(self.words, dtype=torch.float64)
        rows = []
        for word in sentences.ids.tolist():
            rows.append(mass / mass.sum() if mass.any() else torch.full_like(mass, 1 / self.words))
            if word != END:
                mass = mass * self.decay
                mass[word] += self.decay
        return torch.stack(rows).log()
