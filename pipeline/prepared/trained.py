"""A model over what the stages prepared: untrained, and with its trained weights."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import torch

from accord.models.background.base import Background
from accord.models.background.unigram import Uniform
from accord.models.common.device import choose_device
from accord.models.common.files.arrays import load_array
from accord.models.common.files.json_file import load_json
from accord.models.common.files.weights import Shapes, load_weights, shapes_of
from accord.models.common.registry import parted
from accord.models.features.choice import Psi, reads_letters
from accord.models.features.phi import Features
from accord.models.network.background_only import BackgroundOnly
from accord.models.network.frozen_background import FrozenModelBackground
from accord.models.network.language_model import LanguageModel
from accord.models.recipe import Recipe
from accord.models.spelling.subwords import SubwordModel, count_subwords, ends_of_words
from accord.models.training.files import WEIGHTS
from accord.pipeline.artefacts.artefact import Inputs
from accord.pipeline.artefacts.model_files import RECIPE
from accord.pipeline.display.progress import say
from accord.pipeline.prepared.background import (
    about_background,
    background_of,
    classes_of,
    unigram,
    without_the_impossible,
)
from accord.pipeline.prepared.labels import read_values
from accord.pipeline.prepared.special_words import PRETRAINING_MASS


def build(recipe: Recipe, inputs: Inputs, folds: int = 0) -> LanguageModel | BackgroundOnly:
    """An untrained model over the features and the background that were prepared.

    To be trained it needs folds, if its background is to be counted on the text it is trained on.
    """
    features = _features(inputs)
    if recipe.is_log_linear:  # others may tell words apart that have no mass
        features = without_the_impossible(features, inputs)
    if recipe.output_kind == "background":
        folds = 0  # as nothing is trained
    return _network(
        recipe, inputs, features, partial(background_of, recipe, inputs, features, folds)
    )


def build_pretraining(recipe: Recipe, inputs: Inputs) -> LanguageModel:
    """The model, or the one that is to be its background, as it reads the text before."""
    alone = replace(recipe, phases={})
    if recipe.pretraining == "background":
        alone = _below(alone)
    features = _features(inputs)
    return _network(alone, inputs, features, partial(unigram, features, inputs, PRETRAINING_MASS))


def parameter_shapes(recipe: Recipe, inputs: Inputs) -> Shapes:
    """Of the model that `build` makes, with no room taken: a recipe may ask for more than there is.

    No background has parameters but a model of its own, so that any other will do.
    """
    with torch.device("meta"):
        features = _features(inputs)
        model = _network(recipe, inputs, features, partial(Uniform, features))
    return shapes_of(dict(model.named_parameters()))


def _network(
    recipe: Recipe,
    inputs: Inputs,
    features: Features,
    make_background: Callable[[], Background],
) -> LanguageModel | BackgroundOnly:
    subwords = count_subwords(inputs["encode"])
    if recipe.output_kind == "background":
        if about_background(inputs)["kind"] == "arpa":
            raise ValueError(
                "train.output: background expects a b that sums to one; that of an ARPA file need "
                "not, as it may have words that the vocabulary lacks"
            )
        return BackgroundOnly(make_background())
    labels = _label_counts(recipe, inputs)
    ends = ends_of_words(inputs["encode"]) if subwords else None
    if recipe.pretraining == "background":
        below = LanguageModel(
            _below(recipe), features, unigram(features, inputs), ends=ends, labels=labels
        )
        background = FrozenModelBackground(features, below)
    else:
        background = make_background()
    return LanguageModel(
        recipe,
        features,
        background,
        classes_of(inputs),
        None if subwords else _psi(recipe, inputs),
        ends,
        labels,
    )


def _features(inputs: Inputs) -> Features:
    """Of words; subwords, where words are spelled in these, have none."""
    subwords = count_subwords(inputs["encode"])
    return (
        Features.one_hot(subwords) if subwords else Features.load(inputs["featurise"] / "phi.npz")
    )


def _below(recipe: Recipe) -> Recipe:
    """Of a model that is the background of another, whose temperature and expert are enough."""
    gate = parted(recipe.output)[1]["background_gate"]
    return replace(recipe, output={"kind": "log-linear", "background_gate": gate})


def _label_counts(recipe: Recipe, inputs: Inputs) -> list[int]:
    """How many labels of each kind the network is told apart, none where it is told nothing."""
    kind, _ = parted(recipe.condition)
    if kind == "none":
        return []
    values = read_values(inputs["encode"])
    if not values:
        raise ValueError(
            f"train.condition: {kind} expects labels of the sentences; set corpus.labels"
        )
    return [*map(len, values.values())]


def _psi(recipe: Recipe, inputs: Inputs) -> Psi | None:
    """What is read of every word, where that is not Φ."""
    features, letters = (inputs["featurise"] / name for name in ("psi.npz", "letters.npy"))
    if reads_letters(recipe.input):
        return load_array(letters) if letters.exists() else None
    return Features.load(features) if features.exists() else None


def load_trained(
    inputs: Inputs, weights: str = WEIGHTS, folds: int = 0
) -> LanguageModel | BackgroundOnly | SubwordModel:
    """The model with its best weights, ready to score; with folds, its training text too."""
    recipe = Recipe.read(load_json(inputs["train"] / RECIPE, dict))
    model = build(recipe, inputs, folds)
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
