"""A model over what the stages prepared: untrained, and with its trained weights."""

from collections.abc import Callable
from functools import partial

import torch

from models.background.base import Background
from models.background.ngram import NGramBackground
from models.background.prior import discounted
from models.background.unigram import Uniform, Unigram
from models.common.arrays import load_array
from models.common.device import choose_device
from models.common.json_file import load_json
from models.common.weights import WEIGHTS, Shapes, load_weights, shapes_of
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

RECIPE = "recipe.json"
CURVE_PRETRAINING = f"{PRETRAINING}.csv"


def build(recipe: Recipe, inputs: Inputs, folds: int = 0) -> LanguageModel | BackgroundOnly:
    """An untrained model over the features and the background that were prepared.

    To be trained it needs folds, if its background is to be counted on the text it is trained on.
    """
    return _network(recipe, inputs, lambda features, few: _background(features, inputs, few), folds)


def parameter_shapes(recipe: Recipe, inputs: Inputs) -> Shapes:
    """Of the model that `build` makes, with no room taken: a recipe may ask for more than there is.

    No background has parameters but a model of its own, so that any other will do.
    """
    with torch.device("meta"):
        model = _network(recipe, inputs, lambda features, _: Uniform(features), folds=0)
    return shapes_of(dict(model.named_parameters()))


def _network(
    recipe: Recipe,
    inputs: Inputs,
    background_of: Callable[[Features, int], Background],
    folds: int,
) -> LanguageModel | BackgroundOnly:
    """Where words are spelled in subwords, it is over these, and they have no features."""
    if subwords := count_subwords(inputs["encode"]):
        features = Features.one_hot(subwords)
        return LanguageModel(recipe, features, Uniform(features))
    features = Features.load(inputs["featurise"] / "phi.npz")
    if recipe.output == "background":
        return BackgroundOnly(background_of(features, 0))
    if recipe.pretraining == "background":
        below = LanguageModel(recipe, features, _unigram(features, inputs))
        background = FrozenModelBackground(features, below)
    else:
        background = background_of(features, folds)
    classes = inputs["encode"] / "classes.npy"
    return LanguageModel(
        recipe,
        features,
        background,
        load_array(classes) if classes.exists() else None,
    )


def _background(features: Features, inputs: Inputs, folds: int) -> Background:
    about = load_json(inputs["background"] / "about.json", dict)
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
    recipe = Recipe(**load_json(inputs["train"] / RECIPE, dict))
    model = build(recipe, inputs)
    load_weights(model, inputs["train"] / weights)
    model = model.to(choose_device(recipe.device)).eval()
    return SubwordModel(model) if count_subwords(inputs["encode"]) else model


def expect_pretraining(key: str, inputs: Inputs) -> None:
    if not (inputs["encode"] / f"{PRETRAINING}.ids.npy").exists():
        raise ValueError(f"{key} expects a text; set corpus.pretraining")
