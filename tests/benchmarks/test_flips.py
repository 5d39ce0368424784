"""A flipped bit that changes an answer is seen, and one that does not is put back."""

import hashlib
from pathlib import Path

import pytest

from benchmarks.flips import ANEW, FOUND, HARMLESS, TRACEBACK, WRONG, Target, outcome


def trusting(path: Path) -> bytes:
    return path.read_bytes()


def deaf(path: Path) -> bytes:
    return b"whole"


def careful(path: Path) -> bytes:
    if hashlib.sha256(path.read_bytes()).digest() != hashlib.sha256(b"whole").digest():
        raise ValueError(f"{path} is damaged")
    return b"whole"


def clumsy(path: Path) -> bytes:
    return b"whole" if path.read_bytes() == b"whole" else 1 / 0


def healing(path: Path) -> bytes:
    path.write_bytes(b"whole")
    return b"whole"


READERS = {trusting: WRONG, deaf: HARMLESS, careful: FOUND, clumsy: TRACEBACK, healing: ANEW}


@pytest.mark.parametrize("read", READERS, ids=lambda read: read.__name__)
def test_what_a_flip_leads_to_is_told_apart(tmp_path, read):
    path = tmp_path / "file"
    path.write_bytes(b"whole")
    target = Target("folder", tmp_path, lambda: read(path))
    assert target.files() == [path]
    what, _ = outcome(target, path, 3, b"whole")
    assert what == READERS[read]
    assert path.read_bytes() == b"whole"
