"""What a trained network loses as its smallest weights become zeros."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from accord.models.network.background_only import BackgroundOnly
from accord.models.spelling.open_vocabulary import load_spelling
from accord.models.training.pruning import prune
from accord.pipeline.compare.scored_models import Scored
from accord.pipeline.evaluation.measure import score
from accord.pipeline.prepared.encoded_forms import read_forms
from accord.pipeline.prepared.trained import load_trained


def pruned(scored: Scored, shares: Sequence[float]) -> pd.DataFrame:
    """Perplexity on each split with growing shares of zeros, nothing being trained again."""
    loaded = load_trained(scored.folders)
    network = getattr(loaded, "model", loaded)  # which a model of subwords has within
    if isinstance(network, BackgroundOnly):
        raise ValueError(f"{scored.name}: expected a network, whose weights can be zero")
    spelling, rows = load_spelling(scored.folders["background"]), []
    for share in sorted({0.0, *shares}):
        prune(network, share)
        kept = sum(int(weight.count_nonzero()) for weight in network.parameters())
        row = {"zeros": f"{share:.0%}", "weights left": f"{kept:,}"}
        for split in scored.splits:
            forms = read_forms(scored.folders["encode"], split)
            log_p, _ = score(loaded, spelling, scored.sentences(split), forms)
            row[split] = f"{np.exp(-log_p.mean()):,.1f}"
        rows.append(row)
    return pd.DataFrame(rows)
