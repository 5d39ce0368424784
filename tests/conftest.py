"""Where the tests' data lie, that no test is timed, which are slow, and a run that many look at.

torch is imported by fixtures: the process that only hands tests out to others does without it.
"""

import gc
import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from filelock import FileLock
from hypothesis import settings

import accord
from accord.pipeline.data.catalogue import MissingData, folder_of
from accord.pipeline.data.fetch import FetchError, fetch

if TYPE_CHECKING:
    from accord.pipeline.run.run import Run

# The same cases at every run, so that chance breaks no change; `make test-long` draws new ones.
settings.register_profile("same", deadline=None, derandomize=True, max_examples=50)
settings.register_profile("quick", deadline=None, derandomize=True, max_examples=20)
settings.register_profile("long", deadline=None)
settings.load_profile("same")

# These read documents and golden files about the zoo too: a copy without it has others.
if find_spec("accord.zoo") is None:
    collect_ignore = ["test_documents.py", "pipeline/stages/test_golden.py"]


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items):
    for item in items:
        if "slow" in item.fixturenames:
            item.add_marker(pytest.mark.slow)


def pytest_collection_finish() -> None:
    """What was imported stays: it need not be searched for garbage again and again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def slow() -> None:
    """Asked for by fixtures that train a model or fetch data: the tests that use them are slow."""


@pytest.fixture(scope="session", autouse=True)
def no_training_unawares(request) -> Iterator[None]:
    """Where slow tests are left out, one that trains is found."""
    if "not slow" not in request.config.option.markexpr:
        yield
        return
    from accord.models.train import Trainer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Trainer, "fit", _refused)
        yield


def _refused(*_, **__) -> None:
    pytest.fail("a test that trains is slow: mark it, or let its fixture ask for `slow`")


@pytest.fixture(scope="session")
def fetched(slow):
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
def run_once(tmp_path_factory, slow):
    """Runs a configuration in a folder of all processes of this session: the first one computes."""
    own = tmp_path_factory.getbasetemp()
    shared = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "shared-runs"

    def run(folder: str, config: str = "tiny", **settings) -> "Run":
        with FileLock(f"{shared}.lock"):
            if config != "tiny":
                (shared / folder).mkdir(parents=True, exist_ok=True)
                path = shared / folder / "config.yaml"
                path.write_text(config, encoding="utf-8")
                config = str(path)
            return accord.run(config, runs=shared / folder, **settings)

    return run


@pytest.fixture(scope="session")
def tiny_run(run_once):
    """The `tiny` preset with fewer epochs, finished."""
    return run_once("three", set={"train.epochs": 3})


CLOSED = """
base: tiny
analyse: {protocol: closed}
train: {epochs: 2}
models:
  rnn: {featurise: {templates: [form], forms: null}}
  ll-rnn: {}
  ngrams: {background: {kind: ngram, order: 3}, train: {output: background}}
"""


@pytest.fixture(scope="session")
def closed_run(run_once) -> Path:
    """The folder of two networks and n-grams over one closed vocabulary."""
    return run_once("closed", CLOSED, until="evaluate").folder


@pytest.fixture(scope="session")
def trained(run_once) -> Path:
    """The folder of one whose models have learned to tell right agreement from wrong."""
    return run_once("twelve", set={"train.epochs": 12}, until="evaluate").folder
