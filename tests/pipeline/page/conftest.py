"""The page of the tiny run's models, served to the tests of its room."""

import threading
from functools import partial

import pytest

import accord
from accord.pipeline.page.questions import Models
from accord.pipeline.page.server import PageServer


@pytest.fixture(scope="session")
def models(tiny_run) -> Models:
    return Models({name: partial(accord.load, tiny_run.folder, name) for name in ("ll-rnn", "rnn")})


@pytest.fixture(scope="session")
def server(models):
    with PageServer(models) as served:
        threading.Thread(target=served.serve_forever, daemon=True).start()
        yield served
        served.shutdown()
