"""What a lexicon can say, and how much of a text it knows, in running and in distinct words."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from lexicon.analysis import Lexicon


def features(lexicon: Lexicon) -> list[str]:
    """Every `Name=Value` that an analysis of the lexicon may have."""
    feats = lexicon.lookup(list(lexicon))["feats"].unique()
    return sorted({pair for each in feats for pair in each.split("|") if pair})


def known(lexicon: Lexicon, forms: Sequence[str]) -> np.ndarray:
    """Whether the lexicon has an analysis of each form."""
    return np.isin(np.arange(len(forms)), lexicon.lookup(forms)["word"])


def coverage(lexicon: Lexicon, words: pd.DataFrame) -> pd.DataFrame:
    """Tokens and types, all and covered: a row for the whole and one for each part of speech.

    A row of `words` has a form and its count, or a form as one part of speech (upos) and its count.
    """
    is_known = known(lexicon, words["form"].tolist())
    counted = pd.DataFrame(
        {
            "upos": words.get("upos", "all"),
            "tokens": words["count"],
            "tokens_covered": words["count"] * is_known,
            "types": 1,
            "types_covered": is_known.astype(int),
        }
    )
    table = counted.groupby("upos").sum().sort_values("tokens", ascending=False)
    if "upos" in words:
        table = pd.concat([table.sum().to_frame("all").T, table]).rename_axis("upos")
    table["token_share"] = table["tokens_covered"] / table["tokens"]
    table["type_share"] = table["types_covered"] / table["types"]
    return table.reset_index()


def gaps(lexicon: Lexicon, words: pd.DataFrame, most: int) -> pd.DataFrame:
    """The most frequent forms that the lexicon does not know, with their counts."""
    counts = words.groupby("form", as_index=False)["count"].sum()
    unknown = counts[~known(lexicon, counts["form"].tolist())]
    return unknown.sort_values(["count", "form"], ascending=[False, True]).head(most)
