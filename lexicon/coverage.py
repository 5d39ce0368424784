"""What a lexicon can say, and how much of a text it knows, in running and in distinct words."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from lexicon.analysis import Lexicon, absent


def features(lexicon: Lexicon) -> list[str]:
    """Every `Name=Value` that an analysis of the lexicon may have."""
    feats = lexicon.lookup(list(lexicon))["feats"].unique()
    return sorted({pair for each in feats for pair in each.split("|") if pair})


def known(lexicon: Lexicon, forms: Sequence[str]) -> np.ndarray:
    """Whether the lexicon has an analysis of each form."""
    mask = np.ones(len(forms), dtype=bool)
    mask[absent(lexicon.lookup(forms), len(forms))] = False
    return mask


def coverage(
    lexicon: Lexicon,
    forms: Sequence[str],
    counts: Sequence[int],
    upos: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Tokens and types, all and covered: a row for the whole and one for each part of speech.

    `forms` are distinct, or distinct with their `upos`; `counts` say how often each occurs.
    """
    words = pd.DataFrame({"tokens": np.asarray(counts), "known": known(lexicon, forms)})
    words["upos"] = "all" if upos is None else np.asarray(upos)
    words["types"] = 1
    words["tokens_covered"] = words["tokens"] * words["known"]
    words["types_covered"] = words["known"].astype(int)
    sums = ["tokens", "tokens_covered", "types", "types_covered"]
    table = words.groupby("upos")[sums].sum().sort_values("tokens", ascending=False)
    if upos is not None:
        table = pd.concat([words[sums].sum().to_frame("all").T, table]).rename_axis("upos")
    table["token_share"] = table["tokens_covered"] / table["tokens"]
    table["type_share"] = table["types_covered"] / table["types"]
    return table.reset_index()


def gaps(
    lexicon: Lexicon, forms: Sequence[str], counts: Sequence[int], most: int = 50
) -> pd.DataFrame:
    """The most frequent forms that the lexicon does not know."""
    words = pd.DataFrame({"form": np.asarray(forms, dtype=object), "count": np.asarray(counts)})
    unknown = words[~known(lexicon, forms)]
    return unknown.sort_values(["count", "form"], ascending=[False, True]).head(most)
