"""Runs of the tiny preset, shared by the tests that only look at them."""

from pathlib import Path

import pytest

import pipeline


@pytest.fixture(scope="session")
def tiny_run(tmp_path_factory):
    """The `tiny` preset with fewer epochs, finished."""
    runs = tmp_path_factory.mktemp("runs")
    return pipeline.run("tiny", set={"train.epochs": 3}, runs=runs)


@pytest.fixture(scope="session")
def trained(tmp_path_factory) -> Path:
    """The folder of one whose models have learned to tell right agreement from wrong."""
    runs = tmp_path_factory.mktemp("trained")
    return pipeline.run("tiny", set={"train.epochs": 12}, until="evaluate", runs=runs).folder
