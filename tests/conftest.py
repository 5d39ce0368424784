"""Where the tests' data lie, that no test is timed, and a run that many look at."""

from pathlib import Path

import pytest
from hypothesis import settings

import accord
from accord.pipeline.data.fetch import FetchError, fetch
from accord.pipeline.data.folders import MissingData, folder_of

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


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


@pytest.fixture(scope="session")
def tiny_run(tmp_path_factory):
    """The `tiny` preset with fewer epochs, finished."""
    runs = tmp_path_factory.mktemp("runs")
    return accord.run("tiny", set={"train.epochs": 3}, runs=runs)
