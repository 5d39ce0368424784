"""A model over what the stages prepared: untrained, and with its trained weights."""

import json
from functools import partial

from models.background.base import Background
from models.background.ngram import NGramBackground
from models.background.prior import discounted
from models.background.unigram import Uniform, Unigram
from models.common.arrays import load_array
from models.common.device import choose_device
from models.common.weights import WEIGHTS, load_weights
from models.features.phi import Features
from models.network.background_only import BackgroundOnly
from models.network.frozen_background import FrozenModelBackground
from models.network.language_model import LanguageModel
from models.ngram.smoothing import SMOOTHINGS
from models.recipe import Recipe
from models.spelling.subwords import SubwordModel, count_subwords
from pipeline.prepared.encoded import read_sentences
from pipeline.prepared.special_words import PRETRAINING
from pipeline.stage import Inputs


def build(recipe: Recipe, inputs: Inputs, folds: int = 0) -> LanguageModel | BackgroundOnly:
    """An untrained model over the features and the background that were prepared.

    To be trained it needs folds, if its background is to be counted on the text it is trained on.
    Where words are spelled in subwords, the model is over these, and they have no features.
    """
    if subwords := count_subwords(inputs["encode"]):
        features = Features.one_hot(subwords)
        return LanguageModel(recipe, features, Uniform(features))
    features = Features.load(inputs["featurise"] / "phi.npz")
    if recipe.output == "background":
        return BackgroundOnly(_background(features, inputs, folds=0))
    if recipe.pretraining == "background":
        below = LanguageModel(recipe, features, _unigram(features, inputs))
        background = FrozenModelBackground(features, below)
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
    if about["pretraining"]:
        expect_pretraining("background.pretraining", inputs)
        texts.append(read_sentences(inputs["encode"], PRETRAINING))
    group, share = (load_array(inputs["background"] / f"{name}.npy") for name in ("group", "share"))
    prior = partial(discounted, signature=group, share=share)
    return NGramBackground.learn(features, texts, about["order"], smoothing, prior, folds)


def _unigram(features: Features, inputs: Inputs) -> Unigram:
    return Unigram(features, load_array(inputs["background"] / "b.npy"))


def load_trained(
    inputs: Inputs, weights: str = WEIGHTS
) -> LanguageModel | BackgroundOnly | SubwordModel:
    """The model with its best weights, ready to score."""
    recipe = Recipe(**json.loads((inputs["train"] / "recipe.json").read_text()))
    model = build(recipe, inputs)
    load_weights(model, inputs["train"] / weights)
    model = model.to(choose_device(recipe.device)).eval()
    return SubwordModel(model) if count_subwords(inputs["encode"]) else model


def expect_pretraining(key: str, inputs: Inputs) -> None:
    if not (inputs["encode"] / f"{PRETRAINING}.ids.npy").exists():
        raise ValueError(f"{key} expects a text; set corpus.pretraining")
