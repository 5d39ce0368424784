"""Every model of a run against one of them, by the paired bootstrap of their losses."""

from pathlib import Path

import numpy as np
import pandas as pd

from accord.pipeline.compare.scored_models import check_same_text, find
from accord.pipeline.display.seeds import by_seed
from accord.pipeline.evaluation.bootstrap import paired_bootstrap, sentence_losses


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
            losses, other = (
                sentence_losses([model.log_p(split) for model in seeds[each]], lengths)
                for each in (name, first)
            )
            perplexity = np.exp(losses.sum() / lengths.sum())
            rows.append({"model": name, "split": split, "perplexity": f"{perplexity:,.1f}"})
            if name != first:
                rows[-1] |= paired_bootstrap(losses - other, lengths).shown
    return pd.DataFrame(rows).fillna("–")
