"""One run of the tiny preset, shared by the tests that only look at it."""

import pytest

import pipeline


@pytest.fixture(scope="session")
def tiny_run(tmp_path_factory):
    """The `tiny` preset with fewer epochs, finished."""
    runs = tmp_path_factory.mktemp("runs")
    return pipeline.run("tiny", set={"train.epochs": 3}, runs=runs)
