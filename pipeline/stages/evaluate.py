"""Stage `evaluate`: the trained model scores every split it was not trained on, and every suite.

This file and what it imports need only torch, numpy and safetensors: a model is measured where it
was trained.
"""

import json
from pathlib import Path

import numpy as np

from accord.models.common.files.weights import load_weights
from accord.models.spelling.open_vocabulary import load_spelling
from accord.pipeline.artefacts.artefact import Inputs
from accord.pipeline.artefacts.model_files import FIGURES
from accord.pipeline.display.progress import say
from accord.pipeline.evaluation.agreement import measure_agreement
from accord.pipeline.evaluation.measure import (
    OF_START,
    measure,
    measure_parts,
    training_figures,
)
from accord.pipeline.evaluation.metrics.normalisation import normalisation
from accord.pipeline.prepared.encoded import held_out, read_sentences
from accord.pipeline.prepared.encoded_forms import suites
from accord.pipeline.prepared.special_words import START_WEIGHTS
from accord.pipeline.prepared.trained import load_trained
from accord.pipeline.sections import EvaluateParams


def compute(params: EvaluateParams, inputs: Inputs, out: Path) -> None:
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
