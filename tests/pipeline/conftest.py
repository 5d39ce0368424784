"""A trained run, shared by the tests that only look at it."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def trained(run_once) -> Path:
    """The folder of one whose models have learned to tell right agreement from wrong."""
    return run_once("twelve", set={"train.epochs": 12}, until="evaluate").folder
