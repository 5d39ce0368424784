"""Unigram cache, nearest neighbours (kNN-LM)."""

import math
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from accord.models.common.batching import END, Sentences
from accord.models.network.language_model import LanguageModel
from accord.models.network.states import states


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


NEAREST = 256  # states; four times as many are worth nothing (results/log/calibration.md)
STATES_AT_ONCE = 512  # that are compared with all of the text
MOST_NUMBERS = 1 << 30  # of the states of a text: 4 GiB


class Neighbourhood(NamedTuple):
    """The words that followed the states nearest to some others, x_i, and how near these are."""

    words: np.ndarray  # (N × k)
    distances: np.ndarray  # ‖h − h_i‖², the nearest first (N × k)

    def log_p(self, words: np.ndarray, temperature: float) -> np.ndarray:
        """log p of one word after each of the N states, which none may have followed: (N)."""
        nearer = np.exp((self.distances[:, :1] - self.distances) / temperature)
        of_word = np.where(self.words == words[:, None], nearer, 0).sum(axis=1)
        with np.errstate(divide="ignore"):
            return np.log(of_word) - np.log(nearer.sum(axis=1))


class Neighbours:
    """p(x | K) = Σ_i [x_i = x]·exp(−‖h − h_i‖²/T) / Σ_i exp(−‖h − h_i‖²/T)

    h is a network's state after K, h_i are the states before the words x_i of a text, the nearest
    ones alone (Khandelwal et al. 2020). Other words than theirs are impossible: neighbours are of
    use as part of a mixture only.
    """

    def __init__(self, network: LanguageModel, text: Sentences):
        self.network, self.text = network, text
        self.h = _states(network, text)
        self.squared = self.h.pow(2).sum(dim=1)  # ‖h_i‖²

    @torch.inference_mode()
    def after(self, sentences: Sentences) -> Neighbourhood:
        """The words after the states nearest to those before each word of some sentences."""
        k = min(NEAREST, len(self.h))
        found = []
        for h in _states(self.network, sentences).split(STATES_AT_ONCE):
            # The nearest have the largest h·h_i − ‖h_i‖²/2, as ‖h‖² is the same for all.
            nearest = (h @ self.h.T).sub_(self.squared / 2).topk(k, dim=1)
            distances = (h.pow(2).sum(dim=1, keepdim=True) - 2 * nearest.values).clamp(min=0)
            found.append((nearest.indices.cpu().numpy(), distances.cpu().numpy()))
        indices, distances = (np.concatenate(each) for each in zip(*found, strict=True))
        return Neighbourhood(self.text.ids[indices], distances)


@torch.inference_mode()
def _states(network: LanguageModel, text: Sentences) -> Tensor:
    """The states before all words, in their order: (N × H)."""
    h: Tensor | None = None
    for read in states(network, text):
        if h is None:
            most = MOST_NUMBERS // read.h.shape[1]
            if len(text.ids) > most:
                raise ValueError(
                    f"neighbours: expected a text of at most {most:,} words, whose states have "
                    f"{MOST_NUMBERS:,} numbers; got {len(text.ids):,}"
                )
            h = read.h.new_empty(len(text.ids), read.h.shape[1])
        h[read.positions] = read.h
    if h is None:
        raise ValueError("neighbours: expected a text with words, got none")
    return h
