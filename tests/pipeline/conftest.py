"""A trained run, shared by the tests that only look at it."""

from pathlib import Path

import pytest

import accord


@pytest.fixture(scope="session")
def trained(shared, slow) -> Path:
    """The folder of one whose models have learned to tell right agreement from wrong."""
    changes = {"train.epochs": 12}
    return accord.run("tiny", set=changes, until="evaluate", runs=shared / "twelve").folder
