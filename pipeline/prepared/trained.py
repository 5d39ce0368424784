"""A model over what the stages prepared: untrained, and with its trained weights."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import torch

from models.background import arpa
from models.background.base import Background
from models.background.history import HISTORIES
from models.background.history.given import Given
from models.background.ngram import Prior
from models.background.prior import discounted
from models.background.unigram import Uniform, Unigram
from models.common.arrays import load_array, load_arrays
from models.common.batching import Sentences
from models.common.device import choose_device
from models.common.json_file import load_json
from models.common.registry import Choice, parted
from models.common.weights import WEIGHTS, Shapes, load_weights, shapes_of
from models.features.choice import LETTERS, Psi
from models.features.phi import Features
from models.network.background_only import BackgroundOnly
from models.network.frozen_background import FrozenModelBackground
from models.network.language_model import LanguageModel
from models.ngram.smoothing import SMOOTHINGS
from models.recipe import Recipe
from models.spelling.subwords import (
    SubwordModel,
    count_subwords,
    ends_of_words,
    subword_mass,
)
from pipeline.display.progress import say
from pipeline.prepared.encoded import read_text
from pipeline.prepared.labels import read_values
from pipeline.prepared.special_words import PRETRAINING, PRETRAINING_MASS
from pipeline.stage import Inputs

RECIPE = "recipe.json"


def build(recipe: Recipe, inputs: Inputs, folds: int = 0) -> LanguageModel | BackgroundOnly:
    """An untrained model over the features and the background that were prepared.

    To be trained it needs folds, if its background is to be counted on the text it is trained on.
    """
    background_of = partial(_background, recipe, inputs)
    return _network(recipe, inputs, background_of, folds)


def build_pretraining(recipe: Recipe, inputs: Inputs) -> LanguageModel:
    """The model, or the one that is to be its background, as it reads the text before."""
    alone = replace(recipe, pretraining="none")
    if recipe.pretraining == "background":
        alone = _below(alone)
    return _network(
        alone, inputs, lambda features, _: _unigram(features, inputs, PRETRAINING_MASS), folds=0
    )


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
    subwords = count_subwords(inputs["encode"])
    features = (
        Features.one_hot(subwords) if subwords else Features.load(inputs["featurise"] / "phi.npz")
    )
    if recipe.output == "background":
        if _about_background(inputs)["kind"] == "arpa":
            raise ValueError(
                "train.output: background expects a b that sums to one; that of an ARPA file need "
                "not, as it may have words that the vocabulary lacks"
            )
        return BackgroundOnly(background_of(features, 0))
    labels = _label_counts(recipe, inputs)
    ends = ends_of_words(inputs["encode"]) if subwords else None
    if recipe.pretraining == "background":
        below = LanguageModel(
            _below(recipe), features, _unigram(features, inputs), ends=ends, labels=labels
        )
        background = FrozenModelBackground(features, below)
    else:
        background = background_of(features, folds)
    return LanguageModel(
        recipe,
        features,
        background,
        _classes(inputs),
        None if subwords else _psi(recipe, inputs),
        ends,
        labels,
    )


def _below(recipe: Recipe) -> Recipe:
    """Of a model that is the background of another, whose temperature and expert are enough."""
    return replace(recipe, temperature=False, expert="none")


def _label_counts(recipe: Recipe, inputs: Inputs) -> list[int]:
    """How many labels of each kind the network is told apart, none where it is told nothing."""
    if recipe.condition == "none":
        return []
    values = read_values(inputs["encode"])
    if not values:
        raise ValueError(
            f"train.condition: {recipe.condition} expects labels of the sentences; set "
            f"corpus.labels"
        )
    return [*map(len, values.values())]


def _psi(recipe: Recipe, inputs: Inputs) -> Psi | None:
    """What is read of every word, where that is not Φ."""
    features, letters = (inputs["featurise"] / name for name in ("psi.npz", "letters.npy"))
    if recipe.input in LETTERS:
        return load_array(letters) if letters.exists() else None
    return Features.load(features) if features.exists() else None


def training_text(recipe: Recipe, inputs: Inputs) -> Sentences:
    """What is trained on, and what n-grams are counted on: all but the fold that is left out."""
    text = read_text(inputs["encode"], "train")
    return text.chosen(text.parts(recipe.folds) != recipe.fold) if recipe.folds else text


def _background(recipe: Recipe, inputs: Inputs, features: Features, folds: int) -> Background:
    about = _about_background(inputs)
    if about["kind"] == "arpa":
        if count_subwords(inputs["encode"]):
            raise ValueError("background.kind: arpa is one of words; a model of subwords has none")
        return arpa.load(features, inputs["background"], about["order"])
    if about["kind"] != "ngram":
        return _unigram(features, inputs)
    texts = [training_text(recipe, inputs)]
    smoothing = partial(SMOOTHINGS.make, about["smoothing"])
    if about["pretraining"]:
        expect_pretraining("background.pretraining", inputs)
        texts.append(read_text(inputs["encode"], PRETRAINING))
    history = about.get("history", "words")  # which older models do not tell
    return HISTORIES.make(
        history,
        Given(
            features,
            texts,
            about["order"],
            smoothing,
            prior_of(inputs),
            folds,
            _classes(inputs),
            _factors(history, inputs),
        ),
    )


def _classes(inputs: Inputs) -> np.ndarray | None:
    """Those of words, which subwords have not."""
    path = inputs["encode"] / "classes.npy"
    return load_array(path) if path.exists() and not count_subwords(inputs["encode"]) else None


def _factors(history: Choice, inputs: Inputs) -> dict[str, np.ndarray] | None:
    path = inputs["background"] / "factors.npz"
    if not path.exists() or count_subwords(inputs["encode"]):
        return None
    return load_arrays(path, parted(history)[1]["factors"].split())


def _about_background(inputs: Inputs) -> dict:
    return load_json(inputs["background"] / "about.json", dict)


def prior_of(inputs: Inputs) -> Prior:
    """What lies below the n-grams: of words their discounted counts, of subwords nothing known."""
    if count_subwords(inputs["encode"]):
        return np.ones_like
    group, share = (load_array(inputs["background"] / f"{name}.npy") for name in ("group", "share"))
    return partial(discounted, signature=group, share=share)


def _unigram(features: Features, inputs: Inputs, mass: str = "b.npy") -> Unigram:
    """The prior mass of words, or of the subwords that spell them."""
    if count_subwords(inputs["encode"]):
        counted = subword_mass(inputs["encode"])  # which older models do without
        uniform = counted is None or _about_background(inputs)["kind"] == "uniform"
        return Uniform(features) if uniform else Unigram(features, counted)
    return Unigram(features, load_array(inputs["background"] / mass))


def load_trained(
    inputs: Inputs, weights: str = WEIGHTS
) -> LanguageModel | BackgroundOnly | SubwordModel:
    """The model with its best weights, ready to score."""
    recipe = Recipe(**load_json(inputs["train"] / RECIPE, dict))
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
