"""Where the tests' data lie."""

import os
from pathlib import Path

import pytest

from pipeline.data import MissingData, folder_of
from pipeline.fetch import FetchError, fetch


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real French data; tests that need it are skipped where there is none."""
    named = os.environ.get("ACCORD_DATA")
    if not named:
        pytest.skip("ACCORD_DATA names no folder of real data")
    return Path(named)


@pytest.fixture(scope="session")
def fetched():
    """The folder of a source by name, fetched if need be; skipped where it cannot be had."""

    def find(source: str) -> Path:
        try:
            return folder_of(source)
        except MissingData:
            try:
                return fetch(source)
            except (FetchError, ValueError) as error:
                pytest.skip(str(error))

    return find
