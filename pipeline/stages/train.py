"""Stage `train`: ids, Φ and b become the weights of a network.

This file and what it imports need only torch, numpy and safetensors: prepared data trains anywhere.
"""

import json
import shutil
import time
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import torch

from models import processes
from models.arrays import load_array
from models.background import Background
from models.background_alone import BackgroundModel
from models.background_network import ModelBackground
from models.background_ngram import FOLDS, NGramBackground
from models.background_unigram import Uniform, Unigram
from models.batching import Sentences
from models.curve import CURVE, Epoch, write_curve
from models.features import Features
from models.language_model import LanguageModel
from models.ngram_smoothing import SMOOTHINGS
from models.prior import discounted
from models.recipe import Recipe
from models.trainer import WEIGHTS, Trainer, choose_device
from models.units import UnitModel, count_units
from models.weights import load_weights, save_tensors
from pipeline.encoded import read_sentences, read_text
from pipeline.progress import meter, say
from pipeline.special_words import BESIDE
from pipeline.stage import Inputs, Stage

CURVE_BESIDE = f"{BESIDE}.csv"
BESIDE_BATCH = 4  # times as many texts side by side, as there are more of them


def compute(recipe: Recipe, inputs: Inputs, out: Path) -> None:
    if processes.is_first():
        (out / "recipe.json").write_text(json.dumps(asdict(recipe), indent=1))
    train, valid = (read_text(inputs["encode"], split) for split in ("train", "valid"))
    torch.manual_seed(recipe.seed)
    start = time.monotonic()
    model = build(recipe, inputs, FOLDS)
    if isinstance(model, BackgroundModel):
        if processes.is_first():
            _keep(model, train, valid, time.monotonic() - start, out)
        return
    say(f"train: {model.parameter_count():,} parameters, {len(train.ids):,} words an epoch")
    is_done = processes.total(processes.is_first() and (out / CURVE).exists())
    if recipe.beside != "unread" and not is_done:
        _read_beside(model, recipe, inputs, valid, out / BESIDE)
    _fit(model, recipe, train, valid, out)
    if processes.is_first():
        if (out / BESIDE / CURVE).exists():
            (out / BESIDE / CURVE).replace(out / CURVE_BESIDE)
        shutil.rmtree(out / BESIDE, ignore_errors=True)


def _read_beside(
    model: LanguageModel, recipe: Recipe, inputs: Inputs, valid: Sentences, out: Path
) -> None:
    """Train on the text beside: the model itself, or the one that is its background."""
    _expect_beside(f"train.beside: {recipe.beside}", inputs)
    text = read_text(inputs["encode"], BESIDE)
    say(f"train: {len(text.ids):,} words beside")
    if processes.is_first():
        out.mkdir(exist_ok=True)
    below = model if recipe.beside == "start" else model.output.background.model
    below.requires_grad_(True)
    batch = recipe.batch * BESIDE_BATCH
    _fit(below, replace(recipe, epochs=recipe.beside_epochs, batch=batch), text, valid, out)
    below.requires_grad_(below is model)


def _expect_beside(key: str, inputs: Inputs) -> None:
    if not (inputs["encode"] / f"{BESIDE}.ids.npy").exists():
        raise ValueError(f"{key} expects a text; set corpus.beside")


def _fit(
    model: LanguageModel, recipe: Recipe, train: Sentences, valid: Sentences, out: Path
) -> None:
    advance = meter("words", len(train.ids))

    def on_epoch(row: Epoch) -> None:
        nonlocal advance
        advance(0)
        advance = meter("words", len(train.ids))
        say(
            f"  epoch {row.epoch}: train {row.train_nats:.3f}, valid {row.valid_nats:.3f} nats, "
            f"{row.words_per_second:,.0f} words/s, {row.seconds:.1f} s"
        )

    trainer = Trainer(model, recipe, out, lambda words: advance(words), on_epoch, say)
    trainer.fit(train, valid)


def _keep(
    model: BackgroundModel, train: Sentences, valid: Sentences, seconds: float, out: Path
) -> None:
    """Write down a model that is finished when it is built, as if after one epoch."""
    train_nats, valid_nats = (-float(model.score(text).mean()) for text in (train, valid))
    say(f"train: {model.parameter_count():,} probabilities counted, valid {valid_nats:.3f} nats")
    epoch = Epoch(1, train_nats, valid_nats, 0.0, round(seconds, 3), len(train.ids) / seconds)
    save_tensors({}, out / WEIGHTS)
    write_curve([epoch], out / CURVE)


def build(recipe: Recipe, inputs: Inputs, folds: int = 0) -> LanguageModel | BackgroundModel:
    """An untrained model over the features and the background that were prepared.

    To be trained it needs folds, if its background is to be counted on the text it is trained on.
    Where words are spelled in units, the model is over these, and they have no features.
    """
    if units := count_units(inputs["encode"]):
        features = Features.one_hot(units)
        return LanguageModel(recipe, features, Uniform(features))
    features = Features.load(inputs["featurise"] / "phi.npz")
    if recipe.output == "background":
        return BackgroundModel(_background(features, inputs, folds=0))
    if recipe.beside == "background":
        below = LanguageModel(recipe, features, _unigram(features, inputs))
        background = ModelBackground(features, below)
    else:
        background = _background(features, inputs, folds)
    classes = inputs["encode"] / "classes.npy"
    return LanguageModel(
        recipe,
        features,
        background,
        load_array(classes) if classes.exists() else None,
    )


def _background(features: Features, inputs: Inputs, folds: int) -> Background:
    about = json.loads((inputs["background"] / "about.json").read_text())
    if about["kind"] != "ngram":
        return _unigram(features, inputs)
    texts, smoothing = [read_sentences(inputs["encode"], "train")], SMOOTHINGS[about["smoothing"]]
    if about["beside"]:
        _expect_beside("background.beside", inputs)
        texts.append(read_sentences(inputs["encode"], BESIDE))
    group, share = (load_array(inputs["background"] / f"{name}.npy") for name in ("group", "share"))
    prior = partial(discounted, signature=group, share=share)
    return NGramBackground.learn(features, texts, about["order"], smoothing, prior, folds)


def _unigram(features: Features, inputs: Inputs) -> Unigram:
    return Unigram(features, load_array(inputs["background"] / "b.npy"))


def load_trained(
    inputs: Inputs, weights: str = WEIGHTS
) -> LanguageModel | BackgroundModel | UnitModel:
    """The model with its best weights, ready to score."""
    recipe = Recipe(**json.loads((inputs["train"] / "recipe.json").read_text()))
    model = build(recipe, inputs)
    load_weights(model, inputs["train"] / weights)
    model = model.to(choose_device(recipe.device)).eval()
    return UnitModel(model) if count_units(inputs["encode"]) else model


STAGE = Stage(
    name="train",
    help="trains the network to its best validation epoch",
    inputs={
        "encode": (
            *(
                f"{split}.{file}"
                for split in ("train", "valid", BESIDE)
                for file in ("ids.npy", "lengths.npy", "form.npy", "units.npz")
            ),
            "units.json",
            "classes.npy",
        ),
        "featurise": ("phi.npz",),
        "background": ("b.npy", "group.npy", "share.npy", "about.json"),
    },
    outputs={
        "weights.safetensors": "the best weights",
        "recipe.json": "how the network is built and was trained",
        CURVE: "losses and speed by epoch",
        CURVE_BESIDE: "the same for a text beside, which is read first",
        "steps.csv": "loss, gradient norm and learning rate by step, where there are steps",
    },
    params=Recipe,
    compute=compute,
    resumes=True,
)
