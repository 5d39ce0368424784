"""Stage `evaluate`: the trained model scores every split but the one it was trained on."""

import csv
import json
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from models.scoring import score
from models.spelling import Spelling
from pipeline.metrics import summary
from pipeline.progress import say
from pipeline.stage import Inputs, Stage
from pipeline.train import load_trained, read_sentences
from pipeline.vocabulary import END_ID, UNKNOWN_ID


@dataclass(frozen=True)
class Params:
    pass


def compute(params: Params, inputs: Inputs, out: Path) -> None:
    model = load_trained(inputs)
    about = json.loads((inputs["encode"] / "about.json").read_text())
    spelling = Spelling.load(inputs["background"] / "spelling.json")
    rows = _training_rows(inputs["train"] / "curve.csv")
    rows.append({"split": "train", "metric": "parameters", "value": model.parameter_count()})
    for split in about:
        if split == "train":
            continue
        sentences = read_sentences(inputs["encode"], split)
        spelled = json.loads((inputs["encode"] / f"{split}.spelled.json").read_text())
        start = time.monotonic()
        log_p, _ = score(model, sentences, END_ID)
        rate = len(log_p) / (time.monotonic() - start)
        log_p[sentences.ids == UNKNOWN_ID] += [spelling.log_prob(word) for word in spelled]
        unseen = np.load(inputs["encode"] / f"{split}.unseen.npy")
        figures = summary(log_p, sentences.ids == END_ID, unseen, about[split]["characters"])
        figures["words scored per second"] = rate
        figures["share of words spelled"] = len(spelled) / figures["words"]
        rows += [{"split": split, "metric": name, "value": v} for name, v in figures.items()]
        np.save(out / f"{split}.log_p.npy", log_p)
        say(f"evaluate: perplexity {figures['perplexity']:.1f} on {split}")
    pd.DataFrame(rows).to_parquet(out / "scores.parquet")


def _training_rows(path: Path) -> list[dict]:
    with path.open() as file:
        curve = list(csv.DictReader(file))
    best = min(curve, key=lambda row: float(row["valid_nats"]))
    seconds = [float(row["seconds"]) for row in curve]
    figures = {
        "best epoch": int(best["epoch"]),
        "seconds": sum(seconds),
        "seconds to the best epoch": sum(seconds[: int(best["epoch"])]),
        "words trained per second": np.median([float(row["words_per_second"]) for row in curve]),
    }
    return [{"split": "train", "metric": name, "value": v} for name, v in figures.items()]


STAGE = Stage(
    name="evaluate",
    help="scores the validation and test sentences",
    inputs={
        "train": ("weights.safetensors", "curve.csv", "recipe.json"),
        "encode": (),
        "featurise": ("phi.npz",),
        "background": ("b.npy", "spelling.json"),
    },
    outputs={
        "scores.parquet": "one row per split and metric",
        "*.log_p.npy": "the log-probability of each word of each split, in nats",
    },
    params=Params,
    compute=compute,
)
