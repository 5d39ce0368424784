"""Stage `featurise`: analyses become Φ, a sparse row of features for every known word."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from models.features.phi import Features
from pipeline.display.progress import say
from pipeline.stage import Inputs, Stage
from pipeline.stages.templates import fill

MORPHOLOGY = ("form", "pos", "gender", "number", "tense", "mood", "person", "verbform")


@dataclass(frozen=True)
class Params:
    # form, suffix, shape, number-class; frequency (see analyse.frequency); source (which lexicon
    # answered), lemma, pos, or a feature of the lexicon: gender, number, tense, mood, person,
    # verbform, prontype and so on. a×b crosses two or more of what the lexicon says.
    templates: tuple[str, ...] = MORPHOLOGY
    without: tuple[str, ...] = ()  # templates left out, and crossed ones that hold them
    # M: so many most frequent words have a feature of their own; null: all seen more than once.
    # The others share one, `@notTop`.
    forms: int | None = 2500
    lemmas: int = 1000  # so many most frequent lemmas have a feature, where `lemma` is a template
    # An ambiguous word carries the union of its analyses, or each by its share (weighted).
    values: Literal["union", "weighted"] = "union"
    steps: int = 4  # shares are rounded to 1/steps, so that guessed words have signatures in common


def compute(params: Params, inputs: Inputs, out: Path) -> None:
    types = pd.read_parquet(inputs["analyse"] / "types.parquet")
    analyses = pd.read_parquet(inputs["analyse"] / "analyses.parquet")
    features, names = build(params, types, analyses)
    features.save(out / "phi.npz")
    written = json.dumps(names, ensure_ascii=False, indent=0)
    (out / "names.json").write_text(written, encoding="utf-8")
    say(
        f"featurise: {features.vocabulary_size:,} words, {features.feature_count:,} features, "
        f"{features.signature_count:,} signatures"
    )


def build(
    params: Params, types: pd.DataFrame, analyses: pd.DataFrame
) -> tuple[Features, list[str]]:
    """Φ of the words of a table, and the names of its features."""
    filled = fill(params, types, analyses)
    names, codes = filled["feature"].cat.categories, filled["feature"].cat.codes.to_numpy()
    indptr = np.zeros(len(types) + 1, dtype=np.int64)
    np.cumsum(np.bincount(filled["word"], minlength=len(types)), out=indptr[1:])
    values = filled["value"].to_numpy(np.float32)
    return Features.from_rows(indptr, codes, values, len(names)), names.tolist()


STAGE = Stage(
    name="featurise",
    help="turns analyses into the sparse vectors φ",
    inputs={"analyse": ("types.parquet", "analyses.parquet")},
    outputs={
        "phi.npz": "Φ by signature in CSR, and the signature of each word",
        "names.json": "the name of each feature",
    },
    params=Params,
    compute=compute,
    exported=("*",),
    audited={"φ": ("*",)},
)
