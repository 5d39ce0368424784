"""Stage `train`: ids, Φ and b become the weights of a network.

This file and what it imports need only torch, numpy and safetensors: prepared data trains anywhere.
"""

import json
import shutil
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from models.common.batching import Sentences
from models.common.registry import outside_files
from models.recipe import Recipe
from models.spelling.subwords import COUNTS
from models.training.curve import CURVE, Epoch, write_curve
from pipeline.display.progress import meter, say
from pipeline.prepared import teachers
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

if TYPE_CHECKING:
    from models.network.background_only import BackgroundOnly
    from models.network.language_model import LanguageModel
    from models.training.teachers import TaughtText

PRETRAINING_BATCH = 4  # times as many texts side by side, as there are more of them


def compute(recipe: Recipe, inputs: Inputs, out: Path) -> None:
    import torch  # in functions, here and below, as the stage is also declared where none trains

    from models.background.ngram import FOLDS
    from models.common.weights import load_weights
    from models.network.background_only import BackgroundOnly
    from models.training import processes
    from pipeline.prepared.trained import build, training_text

    if processes.is_first():
        names = [Path(teacher).name for teacher in recipe.teacher]  # no paths of this machine
        kept = {**asdict(recipe), "teacher": names, "start": None}
        (out / "recipe.json").write_text(json.dumps(kept, indent=1))
    train, valid = training_text(recipe, inputs), read_text(inputs["encode"], "valid")
    torch.manual_seed(recipe.seed)
    began = time.monotonic()
    model = build(recipe, inputs, FOLDS)
    if isinstance(model, BackgroundOnly):
        if processes.is_first():
            _keep(model, train, valid, time.monotonic() - began, out)
        return
    if recipe.solver != "gradient":
        if processes.is_first():
            _solve(model, recipe, train, valid)
            _keep(model, train, valid, time.monotonic() - began, out)
        return
    say(f"train: {model.parameter_count():,} parameters, {len(train.ids):,} words an epoch")
    is_done = processes.total(processes.is_first() and (out / CURVE).exists())
    if recipe.pretraining != "none" and not is_done:
        _pretrain(model, recipe, inputs, valid, out / PRETRAINING)
    if recipe.growth > 1 and not is_done:
        _grow(model, recipe, inputs, train, valid, out / NARROW)
    start = inputs["featurise"] / START_WEIGHTS
    if start.exists():
        load_weights(model, start)
    teach = teachers.teaching(recipe, inputs, model, train, is_training_text=True)
    _fit(model, recipe, train, valid, out, teach, goes_on=start.exists())
    if processes.is_first():
        if (out / NARROW / CURVE).exists():
            (out / NARROW / CURVE).replace(out / CURVE_NARROW)
        shutil.rmtree(out / NARROW, ignore_errors=True)
        if (out / PRETRAINING / CURVE).exists():
            (out / PRETRAINING / CURVE).replace(out / CURVE_PRETRAINING)
        shutil.rmtree(out / PRETRAINING, ignore_errors=True)


def _pretrain(
    model: "LanguageModel", recipe: Recipe, inputs: Inputs, valid: Sentences, out: Path
) -> None:
    """Train on the text of corpus.pretraining: the model, or the one that is its background.

    While that text is read b is one of its words, which the corpus need not have.
    """
    from models.common.weights import load_weights, parameters_of
    from models.training import processes
    from pipeline.prepared.trained import build_pretraining, expect_pretraining

    expect_pretraining(f"train.pretraining: {recipe.pretraining}", inputs)
    text = read_text(inputs["encode"], PRETRAINING)
    say(f"train: {len(text.ids):,} words to pretrain on")
    if processes.is_first():
        out.mkdir(exist_ok=True)
    first = replace(
        recipe,
        epochs=recipe.pretraining_epochs,
        batch=recipe.batch * PRETRAINING_BATCH,
        temperature=False,  # of the finished model alone
    )
    reading = build_pretraining(recipe, inputs)
    is_background = recipe.pretraining == "background"
    later = model.output.background.model if is_background else model
    load_weights(reading, parameters_of(later))
    teach = None
    if not is_background:
        teach = teachers.teaching(recipe, inputs, model, text, is_training_text=False)
    _fit(reading, first, text, valid, out, teach)
    load_weights(later, parameters_of(reading))


def _grow(
    model: "LanguageModel",
    recipe: Recipe,
    inputs: Inputs,
    train: Sentences,
    valid: Sentences,
    out: Path,
) -> None:
    """Train a narrower model first, and give the wide one what it has learned."""
    from models.background.ngram import FOLDS
    from models.training import processes
    from models.training.growth import widen
    from pipeline.prepared.trained import build

    if processes.is_first():
        out.mkdir(exist_ok=True)
    first = replace(
        recipe,
        hidden=recipe.hidden // recipe.growth,
        growth=1,
        epochs=recipe.growth_epochs,
        temperature=False,  # of the finished model alone
    )
    narrow = build(first, inputs, FOLDS)
    say(f"train: {narrow.parameter_count():,} parameters at first")
    _fit(narrow, first, train, valid, out)
    widen(model.to(next(narrow.parameters()).device), narrow)


def _fit(
    model: "LanguageModel",
    recipe: Recipe,
    train: Sentences,
    valid: Sentences,
    out: Path,
    teach: "Callable[[], TaughtText] | None" = None,
    goes_on: bool = False,
) -> None:
    from models.training.trainer import Trainer

    advance = meter("words", len(train.ids))

    def on_epoch(row: Epoch) -> None:
        nonlocal advance
        advance(0)
        advance = meter("words", len(train.ids))
        trained = (
            f"train {row.train_nats:.3f}, valid {row.valid_nats:.3f} nats, "
            f"{row.words_per_second:,.0f} words/s, {row.seconds:.1f} s"
        )
        as_given = f"valid {row.valid_nats:.3f} nats, before the first step"
        say(f"  epoch {row.epoch}: {trained if row.epoch else as_given}")

    trainer = Trainer(model, recipe, out, lambda words: advance(words), on_epoch, say)
    trainer.fit(train, valid, teach, goes_on)


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
    from models.common.weights import WEIGHTS, parameters_of, save_tensors

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
        "weights.safetensors": "the best weights",
        "recipe.json": "how the network is built and was trained",
        CURVE: "losses and speed by epoch",
        CURVE_PRETRAINING: "the same for the text of corpus.pretraining",
        CURVE_NARROW: "the same of a network while it was narrow, where it has grown",
        "steps.csv": "loss, gradient norm and learning rate by step, where there are steps",
    },
    params=Recipe,
    compute=compute,
    files=_files,
    resumes=True,
    exported=("weights.safetensors", "recipe.json", CURVE, CURVE_PRETRAINING, CURVE_NARROW),
)
