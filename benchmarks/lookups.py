"""How fast lexicons are read and asked, and an open vocabulary scores, whatever its size."""

import os
import resource
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
import pandas as pd
import torch

from accord.lexicon.analysis import LexiconError
from accord.lexicon.chain import find, load
from accord.lexicon.index import TextLexicon
from accord.models.background import Unigram
from accord.models.data import END, Sentences
from accord.models.model import LanguageModel
from accord.models.recipe import Recipe
from accord.models.spelling.ngram import NGramSpelling
from accord.models.spelling.spelling import WrittenText, open_score
from accord.pipeline.sections import FeaturiseParams
from accord.pipeline.stages import featurise
from benchmarks.outputs import vocabulary


class Speed(NamedTuple):
    """Seconds, and forms answered a second."""

    name: str
    forms: int
    parse_seconds: float
    open_seconds: float
    lookup_per_second: float
    analyses_per_second: float


def measure_lexicon(name: str, *, folder: Callable[[str], Path]) -> Speed:
    """Reads a lexicon's text into a cache of its own, then asks all its forms in random order.

    `analyses` is asked one form at a time, 20,000 distinct ones, none asked before.
    """
    maker = find(name)
    if not isinstance(maker, TextLexicon):
        raise LexiconError(f"lexicon {name!r} has no file to be read: expected one that has")
    path = maker.path(folder)
    with tempfile.TemporaryDirectory() as cache, patch.dict(os.environ, XDG_CACHE_HOME=cache):
        parse_seconds, _ = timed(lambda: maker.open(path))
        open_seconds, lexicon = timed(lambda: maker.open(path))
        forms = np.array(list(lexicon), dtype=object)
        np.random.default_rng(0).shuffle(forms)
        lookup_seconds, _ = timed(lambda: lexicon.lookup(forms))
        few = forms[:20_000].tolist()
        one_by_one, _ = timed(lambda: [lexicon.analyses(form) for form in few])
    return Speed(
        name,
        len(forms),
        parse_seconds,
        open_seconds,
        len(forms) / lookup_seconds,
        len(few) / one_by_one,
    )


class FeatureCost(NamedTuple):
    """What Φ of so many forms takes; `mebibytes` is the peak of the whole process."""

    forms: int
    signatures: int
    seconds: float
    mebibytes: float


def measure_features(names: Sequence[str], *, folder: Callable[[str], Path]) -> FeatureCost:
    """Looks all forms of some lexicons up, and builds their features and signatures."""
    chain = load(names, folder=folder)
    types = pd.DataFrame({"form": sorted(chain), "count": 0})
    forms = types["form"].tolist()
    seconds, built = timed(
        lambda: featurise.build(FeaturiseParams(), types, chain.lookup(forms)).phi
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return FeatureCost(len(forms), built.signature_count, seconds, peak)


def timed(work: Callable):
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


CLASSES, UNKNOWN = 32, 1  # unknown words, and the id of the first
SENTENCES, LENGTH, SPELLED = 200, 25, 0.03  # of the text; the share of words that are spelled


def scoring_speeds(sizes: Sequence[int], rounds: int = 5) -> dict[int, float]:
    """Words scored a second with so many known words, each the median of rounds in turn.

    All score the same text, of the most frequent words and some that are spelled.
    """
    generator = np.random.default_rng(1)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyzéè"))
    made = ["".join(generator.choice(letters, size)) for size in generator.integers(3, 12, 8000)]
    kinds = generator.integers(CLASSES, size=len(made))
    spelling = NGramSpelling.learn(made, kinds, CLASSES, order=6)
    ids = generator.zipf(1.2, SENTENCES * LENGTH) % min(sizes)
    ids = np.where(ids > CLASSES, ids, CLASSES + 1)
    unknown = generator.random(len(ids)) < SPELLED
    ids[unknown] = UNKNOWN + generator.integers(CLASSES, size=unknown.sum())
    ids[LENGTH - 1 :: LENGTH] = END
    sentences = Sentences(ids, np.full(SENTENCES, LENGTH))
    distinct, positions = np.unique(ids, return_inverse=True)
    text = WrittenText([made[i % len(made)] for i in distinct], np.where(ids == END, -1, positions))
    models = {size: _model(size) for size in sizes}
    taken: dict[int, list[float]] = {size: [] for size in sizes}
    for _ in range(rounds + 1):
        for size, model in models.items():
            start = time.perf_counter()
            open_score(model, sentences, text, spelling, UNKNOWN)
            taken[size].append(time.perf_counter() - start)
    return {size: len(ids) / median(times[1:]) for size, times in taken.items()}


def _model(words: int) -> LanguageModel:
    torch.manual_seed(1)
    features, mass = vocabulary(words)
    recipe = Recipe(embedding=256, hidden=256, layers=2)
    return LanguageModel(recipe, features, Unigram(features, mass)).eval()
