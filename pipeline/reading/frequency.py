"""How common French as a whole finds a word, by Lexique's films and books."""

from collections.abc import Sequence

import numpy as np

from accord import lexicon
from accord.pipeline.data.folders import MissingData, folder_of
from accord.pipeline.display.progress import say

LEXICON = "lexique"


def log_frequency(forms: Sequence[str], lowercase: bool) -> np.ndarray:
    """log10 of how often each form comes in a million words; NaN if Lexique lacks it."""
    try:
        counted = lexicon.load([LEXICON], folder=folder_of, lowercase=lowercase)
    except MissingData:
        say(f"log_frequency is left empty: `accord fetch {LEXICON}` brings the frequencies")
        return np.full(len(forms), np.nan)
    distinct, which = np.unique(np.asarray(forms, dtype=object), return_inverse=True)
    per_million = counted.frequency(distinct.tolist())
    return np.log10(np.where(per_million > 0, per_million, np.nan))[which]
