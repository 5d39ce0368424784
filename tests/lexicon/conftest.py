"""The real lexicons, and none that the environment names by itself."""

import pytest


@pytest.fixture(autouse=True)
def no_unimorph_of_the_users_own(monkeypatch):
    monkeypatch.delenv("UNIMORPH", raising=False)


@pytest.fixture(scope="session")
def folder(fetched):
    return fetched
