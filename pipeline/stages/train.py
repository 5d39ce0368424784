"""Stage `train`: ids, Φ and b become the weights of a network, phase by phase.

This file and what it imports need only torch, numpy and safetensors: prepared data trains anywhere.
"""

import json
import shutil
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

import torch

from accord.errors import AccordError
from accord.models.background import FOLDS, Background
from accord.models.common.device import choose_device
from accord.models.common.files import WEIGHTS
from accord.models.common.schema import Range
from accord.models.common.weights import load_weights, parameters_of, save_tensors
from accord.models.data import Sentences
from accord.models.distillation import Distillation
from accord.models.gpu import processes
from accord.models.inference.torch_model import in_torch
from accord.models.log import CURVE, Epoch, write_curve
from accord.models.model import LanguageModel
from accord.models.parts import PHASES, SOLVERS
from accord.models.recipe import Recipe
from accord.models.regularisers import LossTerm
from accord.models.train import Trainer
from accord.pipeline.base.artefact import Inputs
from accord.pipeline.base.messages import meter, say
from accord.pipeline.base.names import PRETRAINING, RECIPE, START_WEIGHTS
from accord.pipeline.data.encoded import read_text
from accord.pipeline.model.earlier_models import check_same_words, find_teachers
from accord.pipeline.model.encoding import FullEncoding
from accord.pipeline.model.network import (
    build,
    build_pretraining,
    expect_pretraining,
    for_queries,
    load_trained,
    training_text,
)

PRETRAINING_BATCH = 4  # times as many texts side by side, as there are more of them


def compute(recipe: Recipe, inputs: Inputs, out: Path) -> None:
    if processes.is_first():
        _write_recipe(recipe, out)
    train, valid = training_text(recipe, inputs), read_text(inputs["encode"], "valid")
    if recipe.text == "backward":
        train, valid = train.backwards(), valid.backwards()
    torch.manual_seed(recipe.seed)
    began = time.monotonic()
    model = build(recipe, inputs, FOLDS)
    is_counted = isinstance(model, Background)
    if not is_counted and recipe.solver == "gradient":
        _train(model, Training(recipe, inputs, train, valid), out)
    elif processes.is_first():
        if not is_counted:
            model.to(choose_device(recipe.device)).eval()
            SOLVERS.make(recipe.solver, model, train, valid, recipe.seed, say)
        _keep(model, train, valid, time.monotonic() - began, out)


def _write_recipe(recipe: Recipe, out: Path) -> None:
    kept = asdict(recipe)
    names = [Path(teacher).name for teacher in recipe.teachers.models]  # no paths of this machine
    kept["teachers"]["models"], kept["start"] = names, None
    (out / RECIPE).write_text(json.dumps(kept, indent=1))


@dataclass(frozen=True)
class Training:
    """A training by gradients, with the data that phases need."""

    recipe: Recipe
    inputs: Inputs
    train: Sentences
    valid: Sentences

    def build(self, recipe: Recipe) -> LanguageModel:
        """An untrained model of another recipe over the same words."""
        return build(recipe, self.inputs, FOLDS)

    def fit(
        self,
        model: LanguageModel,
        recipe: Recipe,
        text: Sentences,
        out: Path,
        terms: Sequence[LossTerm] = (),
        goes_on: bool = False,
    ) -> None:
        """Train a model on a text into a folder, and say how it goes."""
        if processes.is_first():
            out.mkdir(exist_ok=True)
        say(f"train: {model.parameter_count():,} parameters, {len(text.ids):,} words an epoch")
        advance = meter("words", len(text.ids))

        def on_epoch(row: Epoch) -> None:
            nonlocal advance
            advance(0)
            advance = meter("words", len(text.ids))
            trained = (
                f"train {row.train_nats:.3f}, valid {row.valid_nats:.3f} nats, "
                f"{row.words_per_second:,.0f} words/s, {row.seconds:.1f} s"
            )
            as_given = f"valid {row.valid_nats:.3f} nats, before the first step"
            say(f"  epoch {row.epoch}: {trained if row.epoch else as_given}")

        trainer = Trainer(model, recipe, out, lambda words: advance(words), on_epoch, say, terms)
        trainer.fit(text, self.valid, goes_on)


def _train(model: LanguageModel, training: Training, out: Path) -> None:
    """By gradients: the phases that come first, if there are any, and the training itself."""
    recipe, text = training.recipe, training.train
    if not processes.total(processes.is_first() and (out / CURVE).exists()):
        for name, settings in recipe.phases.items():
            text = PHASES.make({"kind": name, **settings}, model, training, out / name) or text
    start = training.inputs["featurise"] / START_WEIGHTS
    if start.exists():
        load_weights(model, start)
    terms = distillation(recipe, training.inputs, model, is_training_text=True)
    training.fit(model, recipe, text, out, terms, goes_on=start.exists())
    if processes.is_first():
        for name in recipe.phases:
            _keep_curve(out / name, out / f"{name}.csv")


def _keep_curve(phase: Path, curve: Path) -> None:
    """Keep only the losses of a phase, if there was one."""
    if (phase / CURVE).exists():
        (phase / CURVE).replace(curve)
    shutil.rmtree(phase, ignore_errors=True)


def pretrain(
    model: LanguageModel,
    training: Training,
    out: Path,
    *,
    use: Annotated[
        Literal["initialise", "background"],
        "initialise: its weights are the start; background: it trains the background of this one",
    ] = "initialise",
    epochs: Annotated[int, Range(ge=1), "over the text, at most"] = 4,
) -> None:
    """Train on the text of corpus.pretraining first, the model or its future background.

    While that text is read b is one of its words, which the corpus need not have.
    """
    recipe, inputs = training.recipe, training.inputs
    expect_pretraining(f"train.phases.pretraining.use: {use}", inputs)
    text = read_text(inputs["encode"], PRETRAINING)
    first = replace(recipe.unfitted(), epochs=epochs, batch=recipe.batch * PRETRAINING_BATCH)
    reading = build_pretraining(recipe, inputs)
    is_background = use == "background"
    later = model.output.background.model if is_background else model
    load_weights(reading, parameters_of(later))
    terms = []
    if not is_background:
        terms = distillation(recipe, inputs, reading, is_training_text=False)
    training.fit(reading, first, text, out, terms)
    load_weights(later, parameters_of(reading))


def _keep(
    model: Background | LanguageModel,
    train: Sentences,
    valid: Sentences,
    seconds: float,
    out: Path,
) -> None:
    """Save a model that needs no training, as if after one epoch."""
    scorer = in_torch(model)
    train_nats, valid_nats = (-float(scorer.score(text).mean()) for text in (train, valid))
    say(f"train: {scorer.parameter_count():,} numbers counted or solved for, {valid_nats:.3f} nats")
    epoch = Epoch(1, train_nats, valid_nats, 0.0, round(seconds, 3), len(train.ids) / seconds)
    save_tensors(parameters_of(model), out / WEIGHTS)
    write_curve([epoch], out / CURVE)


def distillation(
    recipe: Recipe, inputs: Inputs, model: LanguageModel, is_training_text: bool
) -> list[Distillation]:
    """The term that draws a model towards its teachers, if it has some."""
    if not recipe.teachers.models:
        return []

    def load() -> list[LanguageModel]:
        device = model.embedding.weight.device
        return [each.to(device) for each in _teachers(recipe.teachers.models, inputs)]

    return [Distillation(recipe, load, is_training_text)]


def _teachers(names: Iterable[str], inputs: Inputs) -> list[LanguageModel]:
    loaded = []
    for name in names:
        for found in find_teachers(name):
            check_same_words(name, found, inputs)
            encoding = FullEncoding(found.folders, found.weights.name)
            teacher = load_trained(encoding, FOLDS)
            reads_words = not encoding.subwords and encoding.recipe.text != "backward"
            if not reads_words or not isinstance(teacher, LanguageModel):
                raise AccordError(
                    f"train.teachers: expected networks over words, {name} has a "
                    f"{type(for_queries(teacher, encoding)).__name__}"
                )
            loaded.append(teacher)
    return loaded
