"""How good models are by how much text they were trained on, where a run asks that."""

import re
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from accord.pipeline.display.seeds import without_seed
from accord.pipeline.prepared.encoded import read_sizes


def by_size(scores: pd.DataFrame, split: str, encoded: Mapping[str, Path]) -> pd.DataFrame:
    """The perplexity of every model with its kind and its training sentences.

    Models that are called alike but for a number, `adapted-300` and `adapted-3000`, are of one
    kind; there are no rows if no kind was trained on texts of different size.
    """
    rows = scores[(scores["split"] == split) & (scores["metric"] == "perplexity")]
    rows = rows.assign(
        kind=[re.sub(r"-\d+$", "", without_seed(model)) for model in rows["model"]],
        sentences=[read_sizes(encoded[model])["train"]["sentences"] for model in rows["model"]],
    )
    sizes = rows.groupby("kind")["sentences"].nunique()
    return rows[rows["kind"].isin(sizes[sizes > 1].index)]
