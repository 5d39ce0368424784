"""Backgrounds to compare: the n-grams of an ARPA file, b by label, an automaton over characters."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from accord.models.common.files import load_json
from accord.models.common.registry import parted
from accord.models.features.phi import Features
from accord.models.recipe import Recipe
from accord.models.zoo.backgrounds import (
    CharacterAutomaton,
    LabelledUnigram,
    counted_by_label,
    weighed,
    with_topics,
)
from accord.models.zoo.ngrams import arpa
from accord.pipeline.artefacts.names import is_special
from accord.pipeline.dataset.encoded import read_values
from accord.pipeline.sections import BackgroundParams
from accord.pipeline.trained.encoding import Encoding
from accord.pipeline.trained.network import training_text

TOPICS = "topics.json"  # the words of each label, by number


def prepare_arpa(
    params: BackgroundParams, forms: list[str], mass: np.ndarray, out: Path
) -> dict[str, Any]:
    """Write the file's n-grams over the words of the vocabulary; their order is returned."""
    return {"order": arpa.prepare(Path(params.arpa), forms, mass, out)}


def of_arpa(
    recipe: Recipe, encoding: Encoding, features: Features, folds: int
) -> arpa.ArpaBackground:
    """The n-grams that `prepare_arpa` wrote; not counted on the training text: no folds."""
    _expect_words(encoding, "arpa")
    return arpa.load(features, encoding.artefacts["background"], encoding.about["order"])


def _expect_words(encoding: Encoding, kind: str) -> None:
    if encoding.subwords:
        raise ValueError(f"background.kind: {kind} is one of words; a model of subwords has none")


def prepare_topics(
    params: BackgroundParams, forms: list[str], mass: np.ndarray, out: Path
) -> dict[str, Any]:
    """Write the listed words of each label that the vocabulary has."""
    _, settings = parted(params.kind)
    topics: dict[str, list[int]] = {}
    if settings["topics"] is not None:
        path, number = Path(settings["topics"]), {form: place for place, form in enumerate(forms)}
        for place, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            label, tab, word = line.partition("\t")
            if not tab:
                raise ValueError(f"{path}, line {place}: expected a label, a tab and a word")
            if word in number:
                topics.setdefault(label, []).append(number[word])
    (out / TOPICS).write_text(json.dumps(topics, ensure_ascii=False), encoding="utf-8")
    return {"settings": settings}


def labelled(recipe: Recipe, encoding: Encoding, features: Features, folds: int) -> LabelledUnigram:
    """b(C, x) of the first kind of labels, counted on the training text."""
    _expect_words(encoding, "labelled")
    inputs, settings = encoding.artefacts, encoding.about["settings"]
    values = read_values(inputs["encode"])
    if not values:
        raise ValueError("background.kind: labelled expects labels; set corpus.labels")
    labels = next(iter(values.values()))
    text = training_text(recipe, inputs)
    mass = counted_by_label(text, len(labels), encoding.mass(), settings["weight"])
    topics = load_json(inputs["background"] / TOPICS, dict)
    return LabelledUnigram(features, with_topics(mass, labels, topics, settings["boost"]))


def prepare_characters(
    params: BackgroundParams, forms: list[str], mass: np.ndarray, out: Path
) -> dict[str, Any]:
    """Replace b by the weights of an automaton: that of a file, or of letters of frequent words."""
    _, settings = parted(params.kind)
    special = np.array([is_special(form) for form in forms])
    if settings["automaton"] is not None:
        automaton = CharacterAutomaton.read(Path(settings["automaton"]))
    else:
        counts = mass / mass[mass > 0].min()
        known = {f: c for f, c, s in zip(forms, counts, special, strict=True) if c and not s}
        automaton = CharacterAutomaton.counted(known, settings["order"])
    np.save(out / "b.npy", weighed(automaton, forms, mass, special))
    return {"settings": settings}
