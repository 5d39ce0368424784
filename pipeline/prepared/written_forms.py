"""How the training text writes a word most often, where words are then lowercased.

Only the training text is asked: how the other texts write a word is not known before the test.
"""

from collections import Counter
from pathlib import Path

import pandas as pd

WRITTEN = "written.parquet"


def save_written(folder: Path, counts: Counter[str]) -> None:
    """Keep, for each lowercased form, its commonest spelling; without capitals if as common."""
    best: dict[str, tuple[int, str]] = {}
    for word, count in counts.items():
        form = word.lower()
        best[form] = max((count, word), best.get(form, (0, "")))  # capitals sort before others
    rows = [(form, word) for form, (_, word) in sorted(best.items())]
    pd.DataFrame(rows, columns=["form", "written"]).to_parquet(folder / WRITTEN)


def read_written(folder: Path, forms: pd.Series) -> pd.Series:
    """The spelling of each form, null where training does not have it."""
    table = pd.read_parquet(folder / WRITTEN).set_index("form")
    return forms.map(table["written"])
