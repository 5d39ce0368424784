"""The background b over what the stages prepared: read, or counted on the text of training."""

from functools import partial

import numpy as np

from accord.models.background import arpa
from accord.models.background.base import Background
from accord.models.background.history.given import Given
from accord.models.background.ngram import Prior
from accord.models.background.prior import discounted
from accord.models.background.unigram import Uniform, Unigram
from accord.models.common.batching import Sentences
from accord.models.common.files.arrays import load_array, load_arrays
from accord.models.common.files.json_file import load_json
from accord.models.common.registry import Choice, parted
from accord.models.features.phi import Features
from accord.models.parts import HISTORIES, SMOOTHINGS
from accord.models.recipe import Recipe
from accord.models.spelling.subwords import count_subwords, subword_mass
from accord.pipeline.artefacts.artefact import Inputs
from accord.pipeline.prepared.encoded import read_text
from accord.pipeline.prepared.special_words import PRETRAINING


def training_text(recipe: Recipe, inputs: Inputs) -> Sentences:
    """What is trained on, and what n-grams are counted on: all but the fold that is left out."""
    text = read_text(inputs["encode"], "train")
    return text.chosen(text.parts(recipe.folds) != recipe.fold) if recipe.folds else text


def background_of(recipe: Recipe, inputs: Inputs, features: Features, folds: int) -> Background:
    about = about_background(inputs)
    if about["kind"] == "arpa":
        if count_subwords(inputs["encode"]):
            raise ValueError("background.kind: arpa is one of words; a model of subwords has none")
        return arpa.load(features, inputs["background"], about["order"])
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
        Given(
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
