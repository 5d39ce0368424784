"""Guessers side by side: they learn from the same lemmas and are asked the same words."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

import lexicon
from lexicon.evaluation import LEARNERS, compare_guessers, held_out, unknown_to
from pipeline.data.folders import folder_of

COUNTS = ("forms", "per_second")
SHARES = ("pos", "analysis", "among_three", "gender", "gender_of_nouns", "number")
SHARES += ("tense", "mood", "person")


def guesser_table(
    name: str, kinds: Sequence[str], treebanks: Sequence[Path], seed: int, lowercase: bool
) -> pd.DataFrame:
    """Figures on held-out lemmas of a lexicon, and on words of treebanks that it lacks."""
    for kind in kinds:
        if kind not in LEARNERS:
            raise ValueError(f"--kinds: expected some of {', '.join(LEARNERS)}, got {kind!r}")
    asked = {}
    shown, asked["held-out lemmas"] = held_out(_load([name], lowercase), seed)
    if treebanks:
        known = _load(["closed", name], lowercase)
        texts = _load([f"treebank:{path}" for path in treebanks], lowercase)
        asked["treebank, unknown"] = unknown_to(known, texts)
    table = compare_guessers(kinds, shown, asked)
    for column in COUNTS:
        table[column] = table[column].map("{:,.0f}".format)
    for column in SHARES:
        table[column] = table[column].map("{:.1%}".format)
    table["nats"] = table["nats"].map("{:.3f}".format)
    table["seconds"] = table["seconds"].map("{:.0f}".format)
    return table.rename(columns=lambda column: column.replace("_", " "))


def _load(names: Sequence[str], lowercase: bool) -> lexicon.Lexicon:
    return lexicon.load(names, folder=folder_of, join="union", lowercase=lowercase)
