"""A trained run, shared by the tests that only look at it."""

from pathlib import Path

import pytest

import accord


@pytest.fixture(scope="session")
def trained(tmp_path_factory, slow) -> Path:
    """The folder of one whose models have learned to tell right agreement from wrong."""
    runs = tmp_path_factory.mktemp("trained")
    return accord.run("tiny", set={"train.epochs": 12}, until="evaluate", runs=runs).folder
