"""Stage `train`: ids, Φ and b become the weights of a network, phase by phase.

This file and what it imports need only torch, numpy and safetensors: prepared data trains anywhere.
"""

import shutil
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import torch
from torch import Tensor

from accord.errors import AccordError
from accord.models.background import FOLDS, Background
from accord.models.common.arrays import load_array
from accord.models.common.files import CURVE, WEIGHTS
from accord.models.common.schema import Range
from accord.models.common.weights import (
    choose_device,
    load_tensors,
    load_weights,
    parameters_of,
    save_tensors,
)
from accord.models.data import Sentences
from accord.models.gpu import processes
from accord.models.inference.torch_model import in_torch
from accord.models.model import LanguageModel
from accord.models.parts import PHASES, SOLVERS
from accord.models.recipe import Recipe
from accord.models.regularisers import Distillation, LossTerm
from accord.models.train import Epoch, Trainer, write_curve
from accord.pipeline.base.artefact import Inputs
from accord.pipeline.base.messages import meter, say
from accord.pipeline.base.names import PRETRAINING, PRETRAINING_MASS, START_WEIGHTS
from accord.pipeline.data.encoded import read_text, weighted
from accord.pipeline.model.find import find_teachers
from accord.pipeline.model.folder import (
    ModelFolder,
    open_folder,
    prepare,
    write_config,
    write_prepared,
)
from accord.pipeline.model.network import build, build_pretraining, for_queries, load_trained

PRETRAINING_BATCH = 4  # times as many texts side by side, as there are more of them


def compute(recipe: Recipe, inputs: Inputs, out: Path) -> None:
    """Write the folder of a model, and train it there."""
    train, valid = training_text(recipe, inputs), read_text(inputs["encode"], "valid")
    pretraining = read_pretraining(recipe, inputs)
    start = inputs["featurise"] / START_WEIGHTS
    initial = load_tensors(start) if start.exists() else None
    config = prepare(recipe, inputs)
    texts = [train]
    if config["background"]["pretraining"]:
        texts.append(pretraining.expected("background.pretraining"))
    if processes.is_first():
        write_prepared(config, inputs, texts, out)
    processes.total(0)  # the others wait until the folder is written
    folder = ModelFolder(out, config)
    if recipe.text == "backward":
        train, valid = train.backwards(), valid.backwards()
    torch.manual_seed(recipe.seed)
    began = time.monotonic()
    training = Training(recipe, folder, texts, train, valid, pretraining)
    model = training.build(recipe)
    is_counted = isinstance(model, Background)
    if not is_counted and recipe.solver == "gradient":
        _train(model, training, initial, out)
    elif processes.is_first():
        if not is_counted:
            model.to(choose_device(recipe.device)).eval()
            SOLVERS.make(recipe.solver, model, train, valid, recipe.seed, say)
        _keep(model, train, valid, time.monotonic() - began, out)
    if processes.is_first():
        write_config(config, out)


def training_text(recipe: Recipe, inputs: Inputs) -> Sentences:
    """Read the text for training and for counting n-grams: all but the fold that is left out."""
    text = read_text(inputs["encode"], "train")
    if recipe.source_weights:
        text = weighted(text, inputs["encode"], recipe.source_weights)
    return text.chosen(text.parts(recipe.folds) != recipe.fold) if recipe.folds else text


@dataclass(frozen=True)
class Pretraining:
    """The text of corpus.pretraining and b while it is read, if there is one."""

    text: Sentences | None = None
    mass: np.ndarray | None = None

    def expected(self, key: str) -> Sentences:
        """Return the text, which a key of the configuration needs."""
        if self.text is None:
            raise AccordError(f"{key} expects a text; set corpus.pretraining")
        return self.text


def read_pretraining(recipe: Recipe, inputs: Inputs) -> Pretraining:
    """Read the text of corpus.pretraining and its b."""
    if not (inputs["encode"] / f"{PRETRAINING}.ids.npy").exists():
        return Pretraining()
    mass = inputs["background"] / PRETRAINING_MASS
    text = read_text(inputs["encode"], PRETRAINING)
    return Pretraining(text, load_array(mass) if mass.exists() else None)


@dataclass(frozen=True)
class Training:
    """A training by gradients, with the data that phases need."""

    recipe: Recipe
    folder: ModelFolder
    texts: Sequence[Sentences]  # that b is counted on
    train: Sentences
    valid: Sentences
    pretraining: Pretraining

    def build(self, recipe: Recipe) -> LanguageModel:
        """Return an untrained model of a recipe over the same words."""
        return build(recipe, self.folder, self.texts, FOLDS)

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
            figures = f"valid {row.valid_nats:.3f} nats, before the first step"
            if row.epoch:
                figures = (
                    f"train {row.train_nats:.3f}, valid {row.valid_nats:.3f} nats, "
                    f"{row.words_per_second:,.0f} words/s, {row.seconds:.1f} s"
                )
            say(f"  epoch {row.epoch}: {figures}")

        trainer = Trainer(model, recipe, out, lambda words: advance(words), on_epoch, say, terms)
        trainer.fit(text, self.valid, goes_on)


def _train(
    model: LanguageModel, training: Training, initial: dict[str, Tensor] | None, out: Path
) -> None:
    """Train by gradients: first the phases, if there are any, then the training itself.

    `initial` are the weights of an initial checkpoint.
    """
    recipe, text = training.recipe, training.train
    if not processes.total(processes.is_first() and (out / CURVE).exists()):
        for name, settings in recipe.phases.items():
            text = PHASES.make({"kind": name, **settings}, model, training, out / name) or text
    if initial is not None:
        load_weights(model, initial)
    terms = distillation(recipe, training.folder, model, is_training_text=True)
    training.fit(model, recipe, text, out, terms, goes_on=initial is not None)
    for name in recipe.phases if processes.is_first() else ():  # only their losses are kept
        if (out / name / CURVE).exists():
            (out / name / CURVE).replace(out / f"{name}.csv")
        shutil.rmtree(out / name, ignore_errors=True)


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
    recipe, folder = training.recipe, training.folder
    text = training.pretraining.expected(f"train.phases.pretraining.use: {use}")
    first = replace(recipe.unfitted(), epochs=epochs, batch=recipe.batch * PRETRAINING_BATCH)
    reading = build_pretraining(recipe, folder, training.pretraining.mass)
    is_background = use == "background"
    later = model.output.background.model if is_background else model
    load_weights(reading, parameters_of(later))
    terms = []
    if not is_background:
        terms = distillation(recipe, folder, reading, is_training_text=False)
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
    recipe: Recipe, folder: ModelFolder, model: LanguageModel, is_training_text: bool
) -> list[Distillation]:
    """Return the term that draws a model towards its teachers, if it has some."""
    if not recipe.teachers.models:
        return []

    def load() -> list[LanguageModel]:
        device = model.embedding.weight.device
        return [teacher.to(device) for teacher in _teachers(recipe.teachers.models, folder)]

    return [Distillation(recipe, load, is_training_text)]


def _teachers(names: Iterable[str], student: ModelFolder) -> list[LanguageModel]:
    teachers, words = [], student.words
    models = [(name, model) for name in names for model in find_teachers(name)]
    for name, trained in models:
        folder = open_folder(trained.folder)
        has_same_ids = np.array_equal(folder.words.place, words.place)
        if not has_same_ids or folder.words.forms.letters != words.forms.letters:
            raise AccordError(
                f"train.teachers: expected a model over the same words with the same ids; "
                f"{name} has others"
            )
        teacher = load_trained(folder, FOLDS)
        if not folder.reads_words or not isinstance(teacher, LanguageModel):
            raise AccordError(
                f"train.teachers: expected networks over words, {name} has a "
                f"{type(for_queries(teacher, folder)).__name__}"
            )
        teachers.append(teacher)
    return teachers
