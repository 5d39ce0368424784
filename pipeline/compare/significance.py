"""Which differences between models are real: a paired bootstrap over the test's sentences.

Sentences are drawn anew with replacement, the same for both models, and with d(s) the difference
of their losses on sentence s and n(s) its words, Σ d(s) / Σ n(s) is computed each time. Where 95 %
of these lie tells how far another test of the same kind would move the difference. It tells
nothing of another training: for that, train with other seeds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from pipeline.compare.scored_models import Scored, check_same_text, find
from pipeline.display.seeds import by_seed

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
        """Whether the interval leaves out no difference at all."""
        return self.low > 0 or self.high < 0


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


def compare(run: Path, against: str | None = None) -> pd.DataFrame:
    """Every model of a finished run against one of them, the first if none is named.

    The seeds of a model are taken together, by their mean losses.
    """
    models = {model.name: model for model in find(str(run))}
    check_same_text([*models.values()])
    seeds = {name: [models[each] for each in found] for name, found in by_seed(models).items()}
    first = against or next(iter(seeds))
    if first not in seeds:
        raise ValueError(f"{run}: expected one of the models {', '.join(seeds)}, got {first}")
    rows = []
    for name, (model, *_) in seeds.items():
        for split in model.splits:
            if split == "valid":
                continue
            lengths = model.sentences(split).lengths
            losses, other = (_losses(seeds[each], split, lengths) for each in (name, first))
            perplexity = np.exp(losses.sum() / lengths.sum())
            rows.append({"model": name, "split": split, "perplexity": f"{perplexity:,.1f}"})
            if name != first:
                rows[-1] |= _shown(paired_bootstrap(losses - other, lengths))
    return pd.DataFrame(rows).fillna("–")


def _shown(found: Difference) -> dict[str, str]:
    return {
        "nats/word more": f"{found.nats:+.4f}",
        "95 % of resamples": f"{found.low:+.4f} to {found.high:+.4f}",
        "perplexity ×": f"{np.exp(found.nats):.3f}",
        "real": "yes" if found.is_real else "no",
    }


def _losses(seeds: Sequence[Scored], split: str, lengths: np.ndarray) -> np.ndarray:
    """−log p of each sentence in nats, the mean over a model's seeds."""
    log_p = np.mean([model.log_p(split) for model in seeds], axis=0)
    return -np.add.reduceat(log_p, np.cumsum(lengths) - lengths)
