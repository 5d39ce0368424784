"""Bagging: each seed reads its own draw of the sentences, the same in every epoch."""

import numpy as np
import pytest

from accord.models.data import NO_WORD, Sentences, batches
from accord.models.recipe import Recipe

COUNT = 400
TEXT = Sentences(np.tile([3, 0], COUNT), np.full(COUNT, 2))  # so a position tells its sentence


def read(text: str, seed: int, epoch: int, bagging: bool = True) -> np.ndarray:
    """How often each sentence is read in an epoch."""
    recipe = Recipe(text=text, seed=seed, bagging=bagging, batch=4)
    parts = batches(TEXT, recipe, np.random.default_rng([seed, epoch]))
    read = [part.positions[(part.targets != NO_WORD).numpy()] for part in parts]
    return np.bincount(np.concatenate(read) // 2, minlength=COUNT) / 2


@pytest.mark.parametrize("text", ["stream", "sentences"])
def test_a_seed_reads_as_many_sentences_some_of_them_several_times(text):
    times = read(text, seed=1, epoch=1)
    assert times.sum() == COUNT
    assert np.mean(times == 0) == pytest.approx(np.exp(-1), abs=0.06)
    assert (times == read(text, seed=1, epoch=2)).all()
    assert (times != read(text, seed=2, epoch=1)).any()
    assert (read(text, seed=1, epoch=1, bagging=False) == 1).all()
