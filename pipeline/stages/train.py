"""Stage `train`: ids, Φ and b become the weights of a network.

This file and what it imports need only torch, numpy and safetensors: prepared data trains anywhere.
"""

import json
import shutil
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from models.common.batching import Sentences
from models.common.registry import outside_files
from models.recipe import Recipe
from models.spelling.subwords import COUNTS
from models.training.curve import CURVE, Epoch, write_curve
from models.training.files import WEIGHTS
from pipeline.artefacts.model_files import RECIPE
from pipeline.display.progress import say
from pipeline.prepared.encoded import read_text
from pipeline.prepared.labels import VALUES
from pipeline.prepared.special_words import (
    CURVE_NARROW,
    CURVE_PRETRAINING,
    NARROW,
    PRETRAINING,
    PRETRAINING_MASS,
    START_WEIGHTS,
)
from pipeline.stage import Inputs, Stage
from pipeline.stages.training_phases import fit, grow, pretrain
from pipeline.trained import teachers

if TYPE_CHECKING:
    from models.network.background_only import BackgroundOnly
    from models.network.language_model import LanguageModel


def compute(recipe: Recipe, inputs: Inputs, out: Path) -> None:
    import torch  # in functions, here and below, as the stage is also declared where none trains

    from models.background.ngram import FOLDS
    from models.network.background_only import BackgroundOnly
    from models.training import processes
    from pipeline.prepared.background import training_text
    from pipeline.prepared.trained import build

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
    model: "LanguageModel",
    recipe: Recipe,
    inputs: Inputs,
    train: Sentences,
    valid: Sentences,
    out: Path,
) -> None:
    """By gradients: what comes first, if anything does, and the training itself."""
    from models.common.files.weights import load_weights
    from models.training import processes

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


def _solve(model: "LanguageModel", recipe: Recipe, train: Sentences, valid: Sentences) -> None:
    """Find the weights without gradients."""
    from models.common.device import choose_device
    from models.training.gradient_free.evolution import evolve
    from models.training.gradient_free.least_squares import fit_readout

    model.to(choose_device(recipe.device)).eval()
    if recipe.solver == "evolution":
        evolve(model, train, valid, recipe.generations, recipe.seed, say)
    else:
        fit_readout(model, train, valid)


def _keep(
    model: "BackgroundOnly | LanguageModel",
    train: Sentences,
    valid: Sentences,
    seconds: float,
    out: Path,
) -> None:
    """Write down a model that is finished when it is built, as if after one epoch."""
    from models.common.files.weights import parameters_of, save_tensors

    train_nats, valid_nats = (-float(model.score(text).mean()) for text in (train, valid))
    say(f"train: {model.parameter_count():,} numbers counted or solved for, {valid_nats:.3f} nats")
    epoch = Epoch(1, train_nats, valid_nats, 0.0, round(seconds, 3), len(train.ids) / seconds)
    save_tensors(parameters_of(model), out / WEIGHTS)
    write_curve([epoch], out / CURVE)


READ = {
    "encode": (
        *(
            f"{split}.{file}"
            for split in ("train", "valid", PRETRAINING)
            for file in ("ids.npy", "lengths.npy", "form.npy", "subwords.npz", "labels.npy")
        ),
        "subwords.json",
        COUNTS,
        "classes.npy",
        VALUES,
    ),
    "featurise": ("phi.npz", "psi.npz", "letters.npy", START_WEIGHTS),
    "background": (
        "b.npy",
        PRETRAINING_MASS,
        "group.npy",
        "share.npy",
        "about.json",
        "ngrams.npz",
        "factors.npz",
    ),
}


def _files(recipe: Recipe) -> list[Path]:
    return [*outside_files(recipe), *teachers.files(recipe, READ)]


STAGE = Stage(
    name="train",
    help="trains the network to its best validation epoch",
    inputs=READ,
    outputs={
        WEIGHTS: "the best weights",
        RECIPE: "how the network is built and was trained",
        CURVE: "losses and speed by epoch",
        CURVE_PRETRAINING: "the same for the text of corpus.pretraining",
        CURVE_NARROW: "the same of a network while it was narrow, where it has grown",
        "steps.csv": "loss, gradient norm and learning rate by step, where there are steps",
    },
    params=Recipe,
    compute=compute,
    version=1,
    files=_files,
    resumes=True,
)
