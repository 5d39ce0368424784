"""Where the tests' data and runs lie."""

import os
from pathlib import Path

import pytest

from pipeline.data import data_folders


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real French data; tests that need it are skipped where there is none."""
    named = os.environ.get("ACCORD_DATA")
    if not named:
        pytest.skip("ACCORD_DATA names no folder of real data")
    return Path(named)


@pytest.fixture(scope="session")
def fetched():
    """The folder of a fetched source, by name; skipped where it was not fetched."""

    def find(source: str) -> Path:
        for folder in data_folders():
            if (folder / source).is_dir():
                return folder / source
        pytest.skip(f"`accord fetch {source}` has not been run")

    return find
