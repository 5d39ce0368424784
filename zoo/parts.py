"""What the zoo adds to a run and to a mixture.

Backgrounds: the n-grams of an ARPA file, b by label, an automaton over characters. Models that
follow a text: a cache and neighbours in a mixture, dynamic evaluation. Cache and neighbours have a
number to choose; the one that helps the others most on validation is taken.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from accord.errors import AccordError
from accord.models.background import Unigram
from accord.models.common.files import load_json
from accord.models.common.registry import FILE, about, parted
from accord.models.common.schema import Range
from accord.models.data import Sentences
from accord.models.inference.torch_model import TorchModel
from accord.models.mixture import chunks
from accord.models.model import LanguageModel
from accord.models.phi import Features
from accord.pipeline.ask.scorer import Scorer
from accord.pipeline.base.messages import say, track
from accord.pipeline.base.names import is_special
from accord.pipeline.config.sections import BackgroundParams
from accord.pipeline.model.folder import ModelFolder
from accord.pipeline.model.network import load_inference, load_trained, unigram
from accord.pipeline.study.combine import Candidates
from accord.pipeline.study.scored_models import Scored
from accord.zoo import arpa
from accord.zoo.backgrounds import (
    CharacterAutomaton,
    LabelledUnigram,
    counted_by_label,
    weighed,
    with_topics,
)
from accord.zoo.memory import Cache, Dynamic, Neighbourhood, Neighbours

TOPICS = "topics.json"  # the words of each label, by number


def prepare_arpa(
    params: BackgroundParams, forms: list[str], mass: np.ndarray, out: Path
) -> dict[str, Any]:
    """Write the file's n-grams over the words of the vocabulary; their order is returned."""
    _, settings = parted(params.kind)
    return {"order": arpa.prepare(Path(settings["file"]), forms, mass, out)}


@about(prepare="accord.zoo.parts:prepare_arpa", own_words=True)
def of_arpa(
    model: ModelFolder,
    features: Features,
    texts: Sequence[Sentences],
    folds: int,
    *,
    file: Annotated[str, FILE, "an ARPA file, as KenLM and SRILM write it; perhaps .gz"] = "",
) -> arpa.ArpaBackground:
    """The n-grams of an ARPA file; words that it lacks share the mass of <unk>."""
    _expect_words(model, "arpa")
    return arpa.load(features, model.folder, model.background.order)


def _expect_words(model: ModelFolder, kind: str) -> None:
    if model.subwords:
        raise AccordError(f"background.kind: {kind} is one of words; a model of subwords has none")


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
                raise AccordError(f"{path}, line {place}: expected a label, a tab and a word")
            if word in number:
                topics.setdefault(label, []).append(number[word])
    (out / TOPICS).write_text(json.dumps(topics, ensure_ascii=False), encoding="utf-8")
    return {}


@about(prepare="accord.zoo.parts:prepare_topics", reads_text=True)
def labelled(
    model: ModelFolder,
    features: Features,
    texts: Sequence[Sentences],
    folds: int,
    *,
    weight: Annotated[
        float, Range(ge=0, lt=1), "of the label's own counts beside those of all"
    ] = 0.5,
    topics: Annotated[str | None, FILE, "a file of likely words: label, tab, word; or null"] = None,
    boost: Annotated[float, Range(ge=1), "how many times as heavy words of `topics` are"] = 10.0,
) -> LabelledUnigram:
    """b(C, x): training counts by the label of the sentence, the first of corpus.labels."""
    _expect_words(model, "labelled")
    if not model.labels:
        raise AccordError("background.kind: labelled expects labels; set corpus.labels")
    labels = next(iter(model.labels.values()))
    mass = counted_by_label(texts[0], len(labels), model.mass(), weight)
    listed = load_json(model.folder / TOPICS, dict)
    return LabelledUnigram(features, with_topics(mass, labels, listed, boost))


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
    return {}


@about(prepare="accord.zoo.parts:prepare_characters")
def characters(
    model: ModelFolder,
    features: Features,
    texts: Sequence[Sentences],
    folds: int,
    *,
    automaton: Annotated[
        str | None, FILE, "a file of OpenFst's text form; null: n-grams of training letters"
    ] = None,
    order: Annotated[int, Range(ge=1), "letters of these n-grams"] = 4,
) -> Unigram:
    """The weights that an automaton over characters gives to words."""
    return unigram(model, features, texts, folds)


HALF_LIVES = (20, 50, 100, 200, 500, 1000, 2000, 5000)  # of the cache, in words
# Of neighbours, in mean distances to the nearest one: how large states are depends on the network.
TEMPERATURES = (0.05, 0.1, 0.2, 0.4, 0.8)


def of_cache(model: Scored) -> Candidates:
    """Caches of recent words, with several half-lives."""
    texts = {split: model.distinguished(split) for split in model.splits}

    def of(half_life: int) -> Callable[[str], np.ndarray]:
        return lambda split: Cache(model.words, half_life).score(texts[split])

    return {f"cache, half-life {each} words": of(each) for each in HALF_LIVES}


def of_neighbours(model: Scored) -> Candidates:
    """The words after a network's nearest states in its training text; nearer ones count more."""
    network = load_trained(model.opened)
    if not model.opened.reads_words or not isinstance(network, LanguageModel):
        raise AccordError(
            f"--neighbours: expected a network over words, whose states can be compared; "
            f"'{model.name}' has no states of words: it is made of n-grams or of subwords"
        )
    text = model.sentences("train")
    say(f"{model.name} reads its training text, {len(text.ids):,} words")
    known = Neighbours(network, text)
    followed = {split: _followed(known, model.sentences(split), split) for split in model.splits}
    words = {split: model.distinguished(split).ids for split in model.splits}
    nearest = followed["valid"].distances[:, 0].mean()

    def of(temperature: float) -> Callable[[str], np.ndarray]:
        return lambda split: followed[split].log_p(words[split], temperature * nearest)

    return {f"neighbours of {model.name}, temperature {each}": of(each) for each in TEMPERATURES}


def _followed(known: Neighbours, text: Sentences, split: str) -> Neighbourhood:
    pieces = [*chunks(text)]
    found = [known.after(each) for each in track(pieces, f"pieces of {split}", len(pieces))]
    return Neighbourhood(*(np.concatenate(each) for each in zip(*found, strict=True)))


def follow(scorer: Scorer, rate: float, back: float = 0.0) -> Scorer:
    """The model with weights that follow the text which it scores (dynamic evaluation)."""
    loaded = load_inference(scorer.parts)
    if not isinstance(loaded, TorchModel):
        raise AccordError(
            f"--dynamic: expected a network over words that reads forwards, got "
            f"{type(loaded).__name__}"
        )
    scorer.model = Dynamic(loaded.network, rate, back)
    return scorer
