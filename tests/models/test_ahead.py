"""Batches that are prepared ahead are the batches, in their order."""

import numpy as np
import pytest
from training_cases import model, sentences

from accord.models.data import NO_WORD, batches
from accord.models.gpu.executor import ahead
from accord.models.train import prepare_batch


def test_what_is_made_ahead_comes_in_order_and_not_further_ahead_than_said():
    taken = []

    def items():
        for number in range(9):
            taken.append(number)
            yield number

    made = ahead(items(), lambda number: number * number, number=3)
    assert next(made) == 0
    assert taken == [0, 1, 2, 3]
    assert list(made) == [1, 4, 9, 16, 25, 36, 49, 64]


def test_an_error_of_the_maker_is_the_readers():
    with pytest.raises(ZeroDivisionError):
        list(ahead([1, 0], lambda number: 1 / number))


@pytest.mark.parametrize("text", ["stream", "sentences"])
def test_a_prepared_batch_has_the_targets_and_their_contexts(text):
    train, recipe = sentences(), model(text=text).recipe
    contexts = np.stack([train.ids, train.offsets], axis=1).astype(np.int64)
    for batch in batches(train, recipe, np.random.default_rng(1)):
        found = prepare_batch(batch, contexts)
        flat = batch.targets.flatten()
        assert found.words.equal(batch.words)
        assert found.targets.equal(flat[flat != NO_WORD])
        assert found.context[:, 0].equal(found.targets)
        assert (found.real is None) == bool((flat != NO_WORD).all())
        if found.real is not None:
            assert flat[found.real].equal(found.targets)
