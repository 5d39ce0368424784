"""Stage `evaluate`: score the splits, judge the suites.

This file and what it imports need only torch, numpy and safetensors: a model is measured where it
was trained.
"""

import json
from pathlib import Path

import numpy as np
import torch

from accord.models.common.weights import load_weights
from accord.models.data import Model, Sentences
from accord.models.inference.torch_model import TorchModel
from accord.models.softmax import SelfNormalised, SignatureOutput
from accord.pipeline.base.artefact import Inputs
from accord.pipeline.base.messages import say
from accord.pipeline.base.names import FIGURES, START_WEIGHTS
from accord.pipeline.config.sections import EvaluateParams
from accord.pipeline.data.encoded import held_out, read_encoded_suite, read_held_out, suites
from accord.pipeline.model.folder import open_folder
from accord.pipeline.model.metrics import (
    OF_START,
    measure,
    measure_agreement,
    measure_alone,
    measure_parts,
    training_figures,
)
from accord.pipeline.model.network import for_queries, load_trained


@torch.inference_mode()
def normalisation(model: Model, sentences: Sentences) -> dict[str, float]:
    """Return how far log Z is from 0 on a text, and the cost of its words if log Z were 0.

    Empty for models that are not self-normalised.
    """
    if not isinstance(model, TorchModel) or not isinstance(model.output, SignatureOutput):
        return {}
    output = model.output.within
    if not isinstance(output, SelfNormalised):
        return {}
    log_z, scores = [], []
    for read in model.states(sentences):
        words = torch.from_numpy(sentences.ids[read.positions].astype(np.int64)).to(model.device)
        signatures = model.output.signature[words]
        score = output.score_of(read.h, signatures)
        log_z.append((score - output.log_prob_of(read.h, signatures)).cpu())
        scores.append((score + model.output.log_share[words]).cpu())
    log_z, scores = torch.cat(log_z).double(), torch.cat(scores).double()
    return {
        "log Z, root mean square": float(log_z.square().mean().sqrt()),
        "nats per word without normalising": float(-scores.mean()),
    }


def compute(params: EvaluateParams, inputs: Inputs, out: Path) -> None:
    """Write the figures of a model on every held-out split and every suite."""
    encoded, start = inputs["encode"], inputs["featurise"] / START_WEIGHTS
    splits = [read_held_out(encoded, split) for split in held_out(encoded)]
    folder = open_folder(inputs["train"])
    network = load_trained(folder)
    model, spelling = for_queries(network, folder), folder.spelling
    figures = {"train": training_figures(model, inputs["train"])}
    for split in splits:
        figures[split.name], scored = measure(model, spelling, split)
        np.save(out / f"{split.name}.log_p.npy", scored.log_p.astype(np.float32))
        figures |= measure_parts(split, scored)
        for part, alone in measure_alone(model, spelling, split).items():
            figures[part] |= alone
        figures[split.name] |= normalisation(model, split.sentences)
        say(f"evaluate: perplexity {figures[split.name]['perplexity']:.1f} on {split.name}")
    for name in suites(encoded):
        judged, margins = measure_agreement(model, spelling, *read_encoded_suite(encoded, name))
        figures[name] = judged
        np.save(out / f"{name}.margins.npy", margins.astype(np.float32))
        say(
            f"evaluate: accuracy {judged.get('accuracy', np.nan):.3f} on {name}, "
            f"{judged['ties']:,.0f} ties, {judged['pairs judged per second']:,.0f} pairs a second"
        )
    if start.exists():
        load_weights(network, start)
        for split in splits:
            figures[split.name][OF_START] = measure(model, spelling, split)[0]["perplexity"]
    (out / FIGURES).write_text(json.dumps(figures, indent=1, ensure_ascii=False), encoding="utf-8")
