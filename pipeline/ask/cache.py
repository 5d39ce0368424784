"""A continuous cache: a word of the text so far is likelier where the model's state is alike.

    p'(x | K) = (1 − λ)·p(x | K) + λ·c(x | K),    c(x | K) = Σ_{j<t} w_j·[x_j = x] / Σ_{j<t} w_j
    w_j = exp(θ·cos(h_t, h_j))                                              (Grave et al. 2017)

h_j is the state before x_j, a word of the same text; x may be any string, a spelled one too. Where
nothing was read yet λ is 0, and an end is never kept. So p' sums to one over all strings.
"""

import numpy as np

from accord.models.data import Sentences
from accord.models.inference.interface import expect_words
from accord.models.spelling import WrittenText
from accord.pipeline.ask.scorer import Scorer

# The likeliest on the first third of 36 novels (results/log/context.md).
WEIGHT = 0.06  # λ
SHARPNESS = 10.0  # θ
REACH = 2000  # words that are kept
QUERIES_AT_ONCE = 256  # positions that are compared with the kept words together


class CachedScorer(Scorer):
    """A scorer that reads each text with a cache of its words."""

    def __init__(self, scorer: Scorer):
        expect_words(scorer.model)
        vars(self).update(vars(scorer))

    def score_encoded(self, batch: Sentences, text: WrittenText) -> tuple[np.ndarray, np.ndarray]:
        log_p, spelled = super().score_encoded(batch, text)
        h = self._states(batch)
        for start, length in zip(*batch.texts(), strict=True):
            part = slice(start, start + length)
            log_p[part] = with_cache(log_p[part], h[part], text.positions[part])
        return log_p, spelled

    def _states(self, batch: Sentences) -> np.ndarray:
        """Return the states before all words, of length one: (N × H)."""
        model = expect_words(self.model)
        rows = [(read.positions, np.asarray(read.h)) for read in model.states(batch)]
        h = np.empty((len(batch.ids), rows[0][1].shape[1]), np.float32)
        for positions, states in rows:
            h[positions] = states / np.linalg.norm(states, axis=1, keepdims=True)
        return h


def with_cache(log_p: np.ndarray, h: np.ndarray, forms: np.ndarray) -> np.ndarray:
    """Return log p' of the words of one text from log p, by the states before them.

    `forms` has the number of each word's form, −1 for an end.
    """
    mixed = log_p.copy()
    for start in range(0, len(log_p), QUERIES_AT_ONCE):
        now = slice(start, start + QUERIES_AT_ONCE)
        kept = slice(max(0, start - REACH), now.stop)
        place = np.arange(len(log_p))
        weights = np.exp(SHARPNESS * (h[now] @ h[kept].T - 1), dtype=np.float64)
        weights *= (place[kept] < place[now, None]) & (forms[kept] >= 0)
        total = weights.sum(axis=1)
        same = (weights * (forms[kept] == forms[now, None])).sum(axis=1)
        has_words = total > 0
        with np.errstate(divide="ignore"):
            cached = np.log(same[has_words] / total[has_words])
        of_model = mixed[now]
        of_model[has_words] = np.logaddexp(
            np.log1p(-WEIGHT) + of_model[has_words], np.log(WEIGHT) + cached
        )
    return mixed
