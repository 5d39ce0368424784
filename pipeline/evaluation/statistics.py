"""Which differences between models are real: a paired bootstrap over the test's sentences.

Sentences are drawn anew with replacement, the same for both models, and with d(s) the difference
of their losses on sentence s and n(s) its words, Σ d(s) / Σ n(s) is computed each time. Where 95 %
of these lie tells how far another test of the same kind would move the difference. It tells
nothing of another training: for that, train with other seeds.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from accord.models.common.arrays import load_array
from accord.pipeline.base.tables import by_seed
from accord.pipeline.data.encoded import is_same_text

RESAMPLES = 10_000
AT_ONCE = 500  # resamples drawn together: a matrix of so many rows, a column for each sentence
LEVEL = 0.95


@dataclass(frozen=True)
class Difference:
    """Nats per word by which the first model loses more than the second, and its interval."""

    nats: float
    low: float
    high: float

    @property
    def is_real(self) -> bool:
        """Whether the interval excludes zero."""
        return self.low > 0 or self.high < 0

    @property
    def shown(self) -> dict[str, str]:
        """As columns of a table."""
        return {
            "nats/word more": f"{self.nats:+.4f}",
            "95 % of resamples": f"{self.low:+.4f} to {self.high:+.4f}",
            "perplexity ×": f"{np.exp(self.nats):.3f}",
            "real": "yes" if self.is_real else "no",
        }


def paired_bootstrap(
    differences: np.ndarray, words: np.ndarray, resamples: int = RESAMPLES, seed: int = 1
) -> Difference:
    """The mean difference per word of two models, from each sentence's difference and words."""
    sentences = len(words)
    generator = np.random.default_rng(seed)
    means = []
    for start in range(0, resamples, AT_ONCE):
        size = min(AT_ONCE, resamples - start)
        drawn = generator.multinomial(sentences, np.full(sentences, 1 / sentences), size)
        means.append(drawn @ differences / (drawn @ words))
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(np.concatenate(means), [tail, 1 - tail])
    return Difference(float(differences.sum() / words.sum()), float(low), float(high))


def sentence_losses(log_p: Sequence[np.ndarray], lengths: np.ndarray) -> np.ndarray:
    """−log p of each sentence in nats, the mean over a model's seeds, from log p of its words."""
    mean = np.mean(log_p, axis=0, dtype=np.float64)
    return -np.add.reduceat(mean, np.cumsum(lengths) - lengths)


@dataclass(frozen=True)
class Compared:
    """Two models on one test."""

    model: str
    against: str
    split: str
    difference: Difference

    @property
    def row(self) -> dict[str, str]:
        """As a row of a table."""
        names = {"model": self.model, "against": self.against, "on": self.split}
        return names | self.difference.shown

    @property
    def factor(self) -> str:
        """The ratio of the perplexities of `against` and `model`, in a line."""
        found = self.difference
        factor, low, high = np.exp([-found.nats, -found.high, -found.low])
        return (
            f"{self.against} / {self.model}, perplexity on {self.split}: {factor:.3f} "
            f"({LEVEL:.0%} of {RESAMPLES:,} paired resamples of sentences: {low:.3f} to {high:.3f})"
        )


def compare_with_first(
    evaluated: Mapping[str, Path], encoded: Mapping[str, Path], splits: Iterable[str]
) -> list[Compared]:
    """Each model but the first against the first on each test, the seeds of a model together.

    Models that scored other sentences, or none of a test, cannot be paired and are left out.
    """
    found = []
    for split in splits:
        scored = [name for name in evaluated if (evaluated[name] / f"{split}.log_p.npy").exists()]
        texts, losses = {}, {}
        for model, seeds in by_seed(scored).items():
            texts[model] = encoded[seeds[0]]
            log_p = [_read(evaluated[each], split, "log_p") for each in seeds]
            losses[model] = sentence_losses(log_p, _read(texts[model], split, "lengths"))
        first, *others = losses
        for name in others:
            if is_same_text(texts[name], texts[first], split):
                lengths = _read(texts[first], split, "lengths")
                difference = paired_bootstrap(losses[name] - losses[first], lengths)
                found.append(Compared(name, first, split, difference))
    return found


def _read(folder: Path, split: str, what: str) -> np.ndarray:
    return load_array(folder / f"{split}.{what}.npy")
