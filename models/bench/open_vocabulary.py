"""How fast an open vocabulary scores, whatever the number of its known words."""

import time
from collections.abc import Sequence
from statistics import median

import numpy as np
import torch

from models.background.unigram import Unigram
from models.bench.synthetic import vocabulary
from models.common.batching import END, Sentences
from models.network.language_model import LanguageModel
from models.recipe import Recipe
from models.spelling.ngram import NGramSpelling
from models.spelling.open_vocabulary import Forms, open_score

CLASSES, UNKNOWN = 32, 1  # unknown words, and the id of the first
SENTENCES, LENGTH, SPELLED = 200, 25, 0.03  # of the text; the share of words that are spelled


def speeds(sizes: Sequence[int], rounds: int = 5) -> dict[int, float]:
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
    text = Forms([made[i % len(made)] for i in distinct], np.where(ids == END, -1, positions))
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
