"""The network and its background over prepared data, untrained or with its weights."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import torch

from accord.models.background.base import Background, Uniform, Unigram, discounted
from accord.models.background.ngram_background import HistoryContext, Prior
from accord.models.common.arrays import load_array, load_arrays
from accord.models.common.batching import Sentences
from accord.models.common.device import choose_device
from accord.models.common.files import WEIGHTS, load_json
from accord.models.common.registry import Choice, parted
from accord.models.common.weights import Shapes, load_weights, shapes_of
from accord.models.features.embedding import Psi, reads_letters
from accord.models.features.phi import Features
from accord.models.network.background_models import BackgroundOnly, FrozenModelBackground
from accord.models.network.language_model import LanguageModel
from accord.models.parts import HISTORIES, SMOOTHINGS
from accord.models.recipe import Recipe
from accord.models.spelling.subwords import (
    SubwordModel,
    count_subwords,
    ends_of_words,
    subword_mass,
)
from accord.models.zoo.arpa import load
from accord.pipeline.artefacts.artefact import Inputs
from accord.pipeline.artefacts.names import PRETRAINING, PRETRAINING_MASS, RECIPE
from accord.pipeline.dataset.encoded import read_text, read_values
from accord.pipeline.display.messages import say


def training_text(recipe: Recipe, inputs: Inputs) -> Sentences:
    """What is trained on, and what n-grams are counted on: all but the fold that is left out."""
    text = read_text(inputs["encode"], "train")
    return text.chosen(text.parts(recipe.folds) != recipe.fold) if recipe.folds else text


def background_of(recipe: Recipe, inputs: Inputs, features: Features, folds: int) -> Background:
    about = about_background(inputs)
    if about["kind"] == "arpa":
        if count_subwords(inputs["encode"]):
            raise ValueError("background.kind: arpa is one of words; a model of subwords has none")
        return load(features, inputs["background"], about["order"])
    if about["kind"] != "ngram":
        return unigram(features, inputs)
    texts = [training_text(recipe, inputs)]
    smoothing = partial(SMOOTHINGS.make, about["smoothing"])
    if about["pretraining"]:
        expect_pretraining("background.pretraining", inputs)
        texts.append(read_text(inputs["encode"], PRETRAINING))
    history = about.get("history", "words")  # which older models do not tell
    return HISTORIES.make(
        history,
        HistoryContext(
            features,
            texts,
            about["order"],
            smoothing,
            prior_of(inputs),
            folds,
            classes_of(inputs),
            _factors(history, inputs),
        ),
    )


def classes_of(inputs: Inputs) -> np.ndarray | None:
    """Those of words, which subwords have not."""
    path = inputs["encode"] / "classes.npy"
    return load_array(path) if path.exists() and not count_subwords(inputs["encode"]) else None


def _factors(history: Choice, inputs: Inputs) -> dict[str, np.ndarray] | None:
    path = inputs["background"] / "factors.npz"
    if not path.exists() or count_subwords(inputs["encode"]):
        return None
    return load_arrays(path, parted(history)[1]["factors"].split())


def about_background(inputs: Inputs) -> dict:
    return load_json(inputs["background"] / "about.json", dict)


def prior_of(inputs: Inputs) -> Prior:
    """What lies below the n-grams: of words their discounted counts, of subwords nothing known."""
    if count_subwords(inputs["encode"]):
        return np.ones_like
    group, share = (load_array(inputs["background"] / f"{name}.npy") for name in ("group", "share"))
    return partial(discounted, signature=group, share=share)


def unigram(features: Features, inputs: Inputs, mass: str = "b.npy") -> Unigram:
    """The prior mass of words, or of the subwords that spell them."""
    if count_subwords(inputs["encode"]):
        counted = subword_mass(inputs["encode"])  # which older models do without
        uniform = counted is None or about_background(inputs)["kind"] == "uniform"
        return Uniform(features) if uniform else Unigram(features, counted)
    return Unigram(features, load_array(inputs["background"] / mass))


def without_the_impossible(features: Features, inputs: Inputs) -> Features:
    """Φ with all signatures that b has no mass for as one, so that the others alone cost time.

    After a text that was read first most are such: those of words that the corpus lacks. N-grams
    of that text, or of a file, may have mass for any.
    """
    about = about_background(inputs)
    if about["kind"] == "arpa" or about["pretraining"] or count_subwords(inputs["encode"]):
        return features
    mass = load_array(inputs["background"] / "b.npy")
    return features.merging(np.bincount(features.signature, mass, features.signature_count) == 0)


def expect_pretraining(key: str, inputs: Inputs) -> None:
    if not (inputs["encode"] / f"{PRETRAINING}.ids.npy").exists():
        raise ValueError(f"{key} expects a text; set corpus.pretraining")


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
