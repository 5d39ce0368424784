"""One run of the tiny preset, shared by the tests that ask its models."""

import pytest

import accord


@pytest.fixture(scope="session")
def asked_run(tmp_path_factory, slow):
    runs = tmp_path_factory.mktemp("asked")
    return accord.run("tiny", set={"train.epochs": 1}, until="evaluate", runs=runs)
