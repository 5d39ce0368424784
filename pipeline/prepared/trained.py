"""A model over what the stages prepared: untrained, and with its trained weights."""

import json
from dataclasses import replace
from functools import partial

import numpy as np
import torch

from models.background.base import Background
from models.background.ngram import NGramBackground, Prior
from models.background.prior import discounted
from models.background.unigram import Uniform, Unigram
from models.common.arrays import load_array
from models.common.batching import Sentences
from models.common.device import choose_device
from models.common.weights import WEIGHTS, load_weights
from models.features.phi import Features
from models.network.background_only import BackgroundOnly
from models.network.frozen_background import FrozenModelBackground
from models.network.language_model import LanguageModel
from models.ngram.smoothing import SMOOTHINGS
from models.recipe import Recipe
from models.spelling.subwords import SubwordModel, count_subwords
from pipeline.display.progress import say
from pipeline.prepared.encoded import read_text
from pipeline.prepared.special_words import PRETRAINING
from pipeline.stage import Inputs


def build(recipe: Recipe, inputs: Inputs, folds: int = 0) -> LanguageModel | BackgroundOnly:
    """An untrained model over the features and the background that were prepared.

    To be trained it needs folds, if its background is to be counted on the text it is trained on.
    Where words are spelled in subwords, the model is over these, and they have no features.
    """
    subwords = count_subwords(inputs["encode"])
    features = (
        Features.one_hot(subwords) if subwords else Features.load(inputs["featurise"] / "phi.npz")
    )
    if recipe.output == "background":
        if subwords and _about_background(inputs)["kind"] == "unigram":
            raise ValueError(
                "train.output: background of a model of subwords (encode.merges): expected "
                "background.kind: ngram, or uniform; got unigram, which is one of words"
            )
        return BackgroundOnly(_background(recipe, features, inputs, folds=0))
    if recipe.pretraining == "background":
        uncooled = replace(recipe, temperature=False)  # that of the whole is enough
        below = LanguageModel(uncooled, features, _unigram(features, inputs))
        background = FrozenModelBackground(features, below)
    else:
        background = _background(recipe, features, inputs, folds)
    classes, psi = inputs["encode"] / "classes.npy", inputs["featurise"] / "psi.npz"
    return LanguageModel(
        recipe,
        features,
        background,
        load_array(classes) if classes.exists() and not subwords else None,
        Features.load(psi) if psi.exists() and not subwords else None,
    )


def training_text(recipe: Recipe, inputs: Inputs) -> Sentences:
    """What is trained on, and what n-grams are counted on: all but the fold that is left out."""
    text = read_text(inputs["encode"], "train")
    return text.chosen(text.parts(recipe.folds) != recipe.fold) if recipe.folds else text


def _background(recipe: Recipe, features: Features, inputs: Inputs, folds: int) -> Background:
    about = _about_background(inputs)
    if about["kind"] != "ngram":
        return _unigram(features, inputs)
    texts = [training_text(recipe, inputs)]
    smoothing = partial(SMOOTHINGS.make, about["smoothing"])
    if about["pretraining"]:
        expect_pretraining("background.pretraining", inputs)
        texts.append(read_text(inputs["encode"], PRETRAINING))
    prior = _prior(inputs)
    return NGramBackground.learn(features, texts, about["order"], smoothing, prior, folds)


def _about_background(inputs: Inputs) -> dict:
    return json.loads((inputs["background"] / "about.json").read_text())


def _prior(inputs: Inputs) -> Prior:
    """What lies below the n-grams: of words their discounted counts, of subwords nothing known."""
    if count_subwords(inputs["encode"]):
        return np.ones_like
    group, share = (load_array(inputs["background"] / f"{name}.npy") for name in ("group", "share"))
    return partial(discounted, signature=group, share=share)


def _unigram(features: Features, inputs: Inputs) -> Unigram:
    """The prior mass of words; subwords have none, and are alike before anything is read."""
    if count_subwords(inputs["encode"]):
        return Uniform(features)
    return Unigram(features, load_array(inputs["background"] / "b.npy"))


def load_trained(
    inputs: Inputs, weights: str = WEIGHTS
) -> LanguageModel | BackgroundOnly | SubwordModel:
    """The model with its best weights, ready to score."""
    recipe = Recipe(**json.loads((inputs["train"] / "recipe.json").read_text()))
    model = build(recipe, inputs)
    load_weights(model, inputs["train"] / weights)
    model = model.to(_device(recipe.device)).eval()
    return SubwordModel(model) if count_subwords(inputs["encode"]) else model


def _device(trained_on: str) -> torch.device:
    """Where a model was trained, or the best that is here."""
    try:
        return choose_device(trained_on)
    except ValueError:
        here = choose_device("auto")
        say(f"the model was trained on {trained_on}, which is not here: it answers on {here}")
        return here


def expect_pretraining(key: str, inputs: Inputs) -> None:
    if not (inputs["encode"] / f"{PRETRAINING}.ids.npy").exists():
        raise ValueError(f"{key} expects a text; set corpus.pretraining")
