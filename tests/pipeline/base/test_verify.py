"""Damage is found: by `accord run --verify` wherever it is, and by a stage before it reads."""

import random
import shutil
from pathlib import Path

import pytest

import accord
from accord.pipeline.base.artefact import Damaged, faults

FLIPS, TRUNCATIONS = 40, 20


@pytest.fixture
def runs(tmp_path, tiny_run) -> Path:
    """A copy of the finished tiny run's folder of runs."""
    shutil.copytree(tiny_run.folder.parent, tmp_path / "runs")
    return tmp_path / "runs"


def flipped(content: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(content))
    return content[:place] + bytes([content[place] ^ chance.randint(1, 255)]) + content[place + 1 :]


def truncated(content: bytes, chance: random.Random) -> bytes:
    return content[: chance.randrange(len(content))]


def artefact_file(runs: Path, pattern: str) -> Path:
    return next(path for path in sorted((runs / "artefacts").glob(pattern)))


def test_every_flipped_byte_and_every_truncation_is_found_with_its_file(runs):
    assert list(faults(runs / "tiny")) == []
    files = sorted(path for path in runs.rglob("*") if path.is_file() and path.stat().st_size)
    chance = random.Random(9)
    for damage, times in ((flipped, FLIPS), (truncated, TRUNCATIONS)):
        for _ in range(times):
            path = chance.choice(files)
            content = path.read_bytes()
            path.write_bytes(damage(content, chance))
            found = list(faults(runs / "tiny"))
            path.write_bytes(content)
            assert any(str(path) in fault for fault in found), (path, found)


def test_what_is_missing_added_or_exchanged_is_named(runs):
    phi = artefact_file(runs, "featurise-*/phi.npz")
    added = artefact_file(runs, "tokenise-*/train.arrow").with_name("more.arrow")
    shutil.copy(added.with_name("test.arrow"), added)
    phi.unlink()
    one, other = (artefact_file(runs, "train-*"), sorted((runs / "artefacts").glob("train-*"))[1])
    one.rename(runs / "third")
    other.rename(one)
    (runs / "third").rename(other)
    found = "\n".join(faults(runs / "tiny"))
    assert f"{phi} is missing" in found
    assert f"{added} is not of this artefact" in found
    assert f"{one} was made as {other.name}" in found


@pytest.mark.parametrize(
    ("pattern", "changes"),
    [
        ("tokenise-*/train.arrow", {"train.epochs": 3, "analyse.lexicon": ["closed", "tiny"]}),
        ("featurise-*/phi.npz", {"train.epochs": 4}),
        ("report-*/index.html", {"train.epochs": 3}),
    ],
)
def test_a_stage_refuses_a_damaged_file_before_it_reads_it(runs, pattern, changes):
    path = artefact_file(runs, pattern)
    path.write_bytes(flipped(path.read_bytes(), random.Random(1)))
    with pytest.raises(Damaged, match=f"{path} is damaged"):
        accord.run("tiny", set=changes, runs=runs)
    shutil.rmtree(path.parent)
    accord.run("tiny", set={"train.epochs": 3}, runs=runs)
    assert list(faults(runs / "tiny")) == []
