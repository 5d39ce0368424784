"""Stage `background`: the prior mass b of every known word, and the spelling of all others."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from models.features import Features
from models.prior import unigram
from models.spelling import Spelling
from pipeline.arrow import word_counts
from pipeline.stage import Inputs, Stage


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
    types = pd.read_parquet(inputs["analyse"] / "types.parquet")
    counts, share = (types[name].to_numpy(np.float64) for name in ("count", "share"))
    features = Features.load(inputs["featurise"] / "phi.npz")
    if params.kind == "uniform":
        mass = np.full(len(counts), 1 / len(counts))
    else:
        mass = unigram(counts, features.signature, share)
    np.save(out / "b.npy", mass)
    np.save(out / "share.npy", share)
    (out / "about.json").write_text(json.dumps(asdict(params), indent=1))
    training = word_counts(inputs["tokenise"] / "train.arrow")
    once = sorted(word for word, count in training.items() if count == 1) or sorted(training)
    Spelling.learn(once, params.spelling_order).save(out / "spelling.json")


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
        "share.npy": "what each word has, unseen, of its signature's mass for unseen words",
        "about.json": "the kind of background, from which training counts its n-grams",
        "spelling.json": "the spelling model",
    },
    params=Params,
    compute=compute,
)
