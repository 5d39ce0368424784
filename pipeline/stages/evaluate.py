"""Stage `evaluate`: the trained model scores every split it was not trained on, and every suite.

This file and what it imports need only torch, numpy and safetensors: a model is measured where it
was trained.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from models.spelling.open_vocabulary import load_spelling
from models.training.curve import CURVE
from models.training.files import WEIGHTS
from pipeline.artefacts.model_files import FIGURES, RECIPE
from pipeline.display.progress import say
from pipeline.evaluation.agreement import measure_agreement
from pipeline.evaluation.measure import (
    OF_START,
    measure,
    measure_parts,
    training_figures,
)
from pipeline.evaluation.metrics import METRICS
from pipeline.prepared.encoded import held_out, read_sentences
from pipeline.prepared.encoded_forms import suites
from pipeline.prepared.special_words import CURVE_NARROW, CURVE_PRETRAINING, START_WEIGHTS
from pipeline.stage import Inputs, Stage


@dataclass(frozen=True)
class Params:
    pass


def compute(params: Params, inputs: Inputs, out: Path) -> None:
    from models.common.files.weights import load_weights
    from pipeline.evaluation.metrics.normalisation import normalisation
    from pipeline.prepared.trained import load_trained

    model = load_trained(inputs)
    figures = {"train": training_figures(model, inputs["train"])}
    encoded, spelling = inputs["encode"], load_spelling(inputs["background"])
    for split in held_out(encoded):
        figures[split], scored = measure(model, spelling, encoded, split)
        np.save(out / f"{split}.log_p.npy", scored.log_p.astype(np.float32))
        figures |= measure_parts(encoded, split, scored)
        figures[split] |= normalisation(model, read_sentences(encoded, split))
        say(f"evaluate: perplexity {figures[split]['perplexity']:.1f} on {split}")
    for suite in suites(encoded):
        figures[suite], margins = measure_agreement(model, spelling, encoded, suite)
        np.save(out / f"{suite}.margins.npy", margins.astype(np.float32))
        say(
            f"evaluate: accuracy {figures[suite].get('accuracy', np.nan):.3f} on {suite}, "
            f"{figures[suite]['pairs judged per second']:,.0f} pairs a second"
        )
    start = inputs["featurise"] / START_WEIGHTS
    if start.exists():
        load_weights(model, start)
        for split in held_out(encoded):
            figures[split][OF_START] = measure(model, spelling, encoded, split)[0]["perplexity"]
    (out / FIGURES).write_text(json.dumps(figures, indent=1, ensure_ascii=False), encoding="utf-8")


def _files(params: Params) -> list[Path]:
    """Those of the metrics that other packages bring."""
    return [part.file for name, part in METRICS.parts().items() if not METRICS.is_own(name)]


STAGE = Stage(
    name="evaluate",
    help="scores the validation and test sentences, and judges the agreement suites",
    inputs={
        "train": (WEIGHTS, RECIPE, CURVE, CURVE_PRETRAINING, CURVE_NARROW),
        "encode": (),
        "featurise": ("phi.npz", "psi.npz", "letters.npy", START_WEIGHTS),
        "background": (),
    },
    outputs={
        FIGURES: "every metric of every split, every source in it, and every suite",
        "*.log_p.npy": "the log-probability of each word of each split, in nats",
        "*.margins.npy": "by how many nats the right sentence of each pair of a suite, and its "
        "critical word, is likelier",
    },
    params=Params,
    compute=compute,
    version=1,
    files=_files,
)
