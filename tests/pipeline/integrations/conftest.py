"""A model that other programs cannot ask everything of."""

import pytest

import accord


@pytest.fixture(scope="session")
def subwords(tmp_path_factory, slow):
    """A run whose model spells words in letters."""
    changes = {"encode.merges": 0, "train.epochs": 1}
    runs = tmp_path_factory.mktemp("subwords")
    return accord.run("tiny", set=changes, models=["rnn"], until="evaluate", runs=runs)
