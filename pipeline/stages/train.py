"""Stage `train`: ids, Φ and b become the weights of a network.

This file and what it imports need only torch, numpy and safetensors: prepared data trains anywhere.
"""

import json
import shutil
import time
from dataclasses import asdict
from pathlib import Path

import torch

from models.background.ngram import FOLDS
from models.common.batching import Sentences
from models.common.device import choose_device
from models.common.files.weights import load_weights, parameters_of, save_tensors
from models.network.background_only import BackgroundOnly
from models.network.language_model import LanguageModel
from models.recipe import Recipe
from models.training import processes
from models.training.curve import CURVE, Epoch, write_curve
from models.training.files import WEIGHTS
from models.training.gradient_free.evolution import evolve
from models.training.gradient_free.least_squares import fit_readout
from pipeline.artefacts.artefact import Inputs
from pipeline.artefacts.model_files import RECIPE
from pipeline.display.progress import say
from pipeline.prepared.background import training_text
from pipeline.prepared.encoded import read_text
from pipeline.prepared.special_words import (
    CURVE_NARROW,
    CURVE_PRETRAINING,
    NARROW,
    PRETRAINING,
    START_WEIGHTS,
)
from pipeline.prepared.trained import build
from pipeline.stages.training_phases import fit, grow, pretrain
from pipeline.trained import teachers


def compute(recipe: Recipe, inputs: Inputs, out: Path) -> None:
    if processes.is_first():
        _write_recipe(recipe, out)
    train, valid = training_text(recipe, inputs), read_text(inputs["encode"], "valid")
    torch.manual_seed(recipe.seed)
    began = time.monotonic()
    model = build(recipe, inputs, FOLDS)
    is_counted = isinstance(model, BackgroundOnly)
    if not is_counted and recipe.solver == "gradient":
        _train(model, recipe, inputs, train, valid, out)
    elif processes.is_first():
        if not is_counted:
            _solve(model, recipe, train, valid)
        _keep(model, train, valid, time.monotonic() - began, out)


def _write_recipe(recipe: Recipe, out: Path) -> None:
    names = [Path(teacher).name for teacher in recipe.teacher]  # no paths of this machine
    kept = {**asdict(recipe), "teacher": names, "start": None}
    (out / RECIPE).write_text(json.dumps(kept, indent=1))


def _train(
    model: LanguageModel,
    recipe: Recipe,
    inputs: Inputs,
    train: Sentences,
    valid: Sentences,
    out: Path,
) -> None:
    """By gradients: what comes first, if anything does, and the training itself."""
    say(f"train: {model.parameter_count():,} parameters, {len(train.ids):,} words an epoch")
    is_done = processes.total(processes.is_first() and (out / CURVE).exists())
    if recipe.pretraining != "none" and not is_done:
        pretrain(model, recipe, inputs, valid, out / PRETRAINING)
    if recipe.growth > 1 and not is_done:
        grow(model, recipe, inputs, train, valid, out / NARROW)
    start = inputs["featurise"] / START_WEIGHTS
    if start.exists():
        load_weights(model, start)
    terms = teachers.distillation(recipe, inputs, model, is_training_text=True)
    fit(model, recipe, train, valid, out, terms, goes_on=start.exists())
    if processes.is_first():
        for phase, curve in {PRETRAINING: CURVE_PRETRAINING, NARROW: CURVE_NARROW}.items():
            _keep_curve(out / phase, out / curve)


def _keep_curve(phase: Path, curve: Path) -> None:
    """Of a phase that came first keep its losses alone, and those if there was one."""
    if (phase / CURVE).exists():
        (phase / CURVE).replace(curve)
    shutil.rmtree(phase, ignore_errors=True)


def _solve(model: LanguageModel, recipe: Recipe, train: Sentences, valid: Sentences) -> None:
    """Find the weights without gradients."""
    model.to(choose_device(recipe.device)).eval()
    if recipe.solver == "evolution":
        evolve(model, train, valid, recipe.generations, recipe.seed, say)
    else:
        fit_readout(model, train, valid)


def _keep(
    model: BackgroundOnly | LanguageModel,
    train: Sentences,
    valid: Sentences,
    seconds: float,
    out: Path,
) -> None:
    """Write down a model that is finished when it is built, as if after one epoch."""
    train_nats, valid_nats = (-float(model.score(text).mean()) for text in (train, valid))
    say(f"train: {model.parameter_count():,} numbers counted or solved for, {valid_nats:.3f} nats")
    epoch = Epoch(1, train_nats, valid_nats, 0.0, round(seconds, 3), len(train.ids) / seconds)
    save_tensors(parameters_of(model), out / WEIGHTS)
    write_curve([epoch], out / CURVE)
