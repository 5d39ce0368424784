"""Stage `background`: the prior mass b of every known word, and the spelling of all others."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from models.features import Features
from models.spelling import Spelling
from pipeline.arrow import word_counts
from pipeline.stage import Inputs, Stage

UNSEEN_SIGNATURE = 0.5  # the count a signature has when none of its words was seen in training


@dataclass(frozen=True)
class Params:
    # unigram: training counts, what discounting frees going to the words of the same signature;
    # uniform: every known word alike, as in a softmax;
    # ngram: n-grams of the training ids, words that they lack sharing as in unigram.
    kind: Literal["unigram", "uniform", "ngram"] = "unigram"
    order: int = 5  # of the n-grams: so many words, the predicted one included
    smoothing: Literal["kneser-ney", "jelinek-mercer", "add-alpha"] = "kneser-ney"  # of the n-grams
    spelling_order: int = 5  # letters of the spelling model's n-grams


def compute(params: Params, inputs: Inputs, out: Path) -> None:
    counts = pd.read_parquet(inputs["analyse"] / "types.parquet")["count"].to_numpy(np.float64)
    features = Features.load(inputs["featurise"] / "phi.npz")
    if params.kind == "uniform":
        mass = np.full(len(counts), 1 / len(counts))
    else:
        mass = unigram(counts, features.signature)
    np.save(out / "b.npy", mass)
    (out / "about.json").write_text(json.dumps(asdict(params), indent=1))
    training = word_counts(inputs["tokenise"] / "train.arrow")
    once = sorted(word for word, count in training.items() if count == 1) or sorted(training)
    Spelling.learn(once, params.spelling_order).save(out / "spelling.json")


def unigram(counts: np.ndarray, signature: np.ndarray) -> np.ndarray:
    """Absolute discounting: what words of a signature lose goes to its words not seen.

    b(x) = max(c(x) − D, 0) / N for a word that was seen, D·T_s / U_s / N for one that was not,
    T_s and U_s being how many words of its signature s were and were not; where all were seen,
    all share alike. A signature keeps the mass of its words, whatever their number.
    """
    once, twice = np.sum(counts == 1), np.sum(counts == 2)
    discount = once / (once + 2 * twice) if once and twice else 0.5
    seen = np.bincount(signature, weights=counts > 0)
    unseen = np.bincount(signature, weights=counts == 0)
    freed = np.where(seen > 0, discount * seen, UNSEEN_SIGNATURE)
    shares = freed / np.where(unseen > 0, unseen, seen)
    receives = (counts == 0) | (unseen[signature] == 0)
    mass = np.maximum(counts - discount, 0) + np.where(receives, shares[signature], 0)
    return mass / mass.sum()


STAGE = Stage(
    name="background",
    help="gives every known word its prior mass b, and learns to spell the others",
    inputs={
        "tokenise": ("train.arrow",),
        "analyse": ("types.parquet",),
        "featurise": ("phi.npz",),
    },
    outputs={
        "b.npy": "the prior mass of each word",
        "about.json": "the kind of background, from which training counts its n-grams",
        "spelling.json": "the spelling model",
    },
    params=Params,
    compute=compute,
)
