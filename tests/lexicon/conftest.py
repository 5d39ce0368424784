import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory):
    """Indexes made by the tests stay out of the user's cache, and are made once for them all."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.delenv("UNIMORPH", raising=False)
        yield


@pytest.fixture(scope="session")
def folder():
    """Where the real files are; a test that needs one that is not there is skipped."""

    def find(source: str) -> Path:
        home = os.environ.get("ACCORD_DATA")
        if not home:
            pytest.skip("ACCORD_DATA names no folder of real data")
        if not (Path(home) / source).is_dir():
            pytest.skip(f"no {source} in ACCORD_DATA: accord fetch {source}")
        return Path(home) / source

    return find
