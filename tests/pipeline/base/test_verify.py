"""Damage is found, and what a killed run leaves is cleared by the next."""

import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import accord
from accord.models.common.files import _suffix, clear_partial, write_whole
from accord.pipeline.base.artefact import Damaged, Store, faults, name_of, publish

FLIPS, TRUNCATIONS = 40, 20


@pytest.fixture
def runs(tmp_path, tiny_run) -> Path:
    """A copy of the finished tiny run's folder of runs."""
    shutil.copytree(tiny_run.folder.parent, tmp_path / "runs", symlinks=True)
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
    shutil.rmtree(runs / "tiny" / "stages")  # links to files that are there already
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


TOKENISE, TRAIN = name_of({"stage": "tokenise"}), name_of({"stage": "train"})
# Does what the store does, up to the named moment, and dies there.
KILLED = """
import os, signal, sys
from pathlib import Path
from accord.models.common import files
from accord.pipeline.base import artefact as store

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

moment, folder, stage = sys.argv[1:]
def compute(out):
    (out / "file.txt").write_text("half")
    if moment == "computing":
        die()
if moment == "writing":
    files.os.fsync = die
if moment == "moved":
    store.suppress = die  # which is next
if moment == "replacing":  # the former is moved aside, the new one not yet into place
    rename = store.Path.rename
    def once(path, target):
        rename(path, target)
        die()
    store.Path.rename = once
recipe = {"stage": stage}
store.Store(Path(folder)).make(recipe, compute, stage == "train", True)
"""
# Makes an artefact and is not done until it is told so.
LIVING = """
import sys
from pathlib import Path
from accord.pipeline.base.artefact import Store

def compute(out):
    (out / "file.txt").write_text("whole")
    print("begun", flush=True)
    sys.stdin.readline()
recipe = {"stage": "tokenise"}
Store(Path(sys.argv[1])).make(recipe, compute, False)
"""


def killed(folder: Path, moment: str, stage: str = "tokenise") -> None:
    command = [sys.executable, "-c", KILLED, moment, str(folder), stage]
    assert subprocess.run(command).returncode == -9


def hidden(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob(".*"))


@pytest.mark.parametrize("moment", ["computing", "writing", "moved"])
def test_the_store_clears_what_killed_processes_left(tmp_path, moment):
    killed(tmp_path, moment)
    assert hidden(tmp_path)
    Store(tmp_path).clear({"train"})
    assert hidden(tmp_path) == []
    assert [path.name for path in tmp_path.iterdir()] == [TOKENISE] * (moment == "moved")


@pytest.mark.parametrize("moment", ["computing", "writing", "replacing"])
@pytest.mark.parametrize("stage", ["tokenise", "train"])
def test_an_artefact_that_is_made_anew_stays_until_the_new_one_is_whole(tmp_path, moment, stage):
    store = Store(tmp_path)
    before = store.make({"stage": stage}, _written_before, stage == "train")
    killed(tmp_path, moment, stage)
    store.clear({"train"})
    assert hidden(tmp_path) == []
    before.check()
    assert (before.folder / "file.txt").read_text() == "before"


def _written_before(out: Path) -> None:
    (out / "file.txt").write_text("before")


def test_what_a_stage_goes_on_from_stays(tmp_path):
    killed(tmp_path, "computing", "train")
    Store(tmp_path).clear({"train"})
    assert hidden(tmp_path) == [f".{TRAIN}.partial"]
    artefact = Store(tmp_path).make({"stage": "train"}, lambda out: None, True)
    assert artefact.meta["files"].keys() == {"file.txt"}
    assert hidden(tmp_path) == []


def test_no_half_written_file_becomes_part_of_an_artefact(tmp_path):
    killed(tmp_path, "writing", "train")
    artefact = Store(tmp_path).make({"stage": "train"}, lambda out: None, True)
    assert artefact.meta["files"].keys() == {"file.txt"}
    assert hidden(tmp_path) == []


def test_no_lock_stays_when_all_is_done_or_something_fails(tmp_path):
    store = Store(tmp_path)
    for _ in range(2):
        store.make({"stage": "tokenise"}, _written_before, False)
        assert hidden(tmp_path) == []
    with pytest.raises(ZeroDivisionError):
        store.make({"stage": "failing"}, lambda out: 1 / 0, False)
    assert hidden(tmp_path) == []


def test_what_another_process_makes_is_left_to_it(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", LIVING, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "begun\n"
    Store(tmp_path).clear(())
    assert hidden(tmp_path) == [f".{TOKENISE}.lock", f".{TOKENISE}.partial"]
    process.communicate("\n")
    assert process.returncode == 0
    assert Store(tmp_path).find(TOKENISE)


COMING_AND_GOING = """
import sys
from pathlib import Path

partial = [Path(sys.argv[1], f".file-{number}.partial") for number in range(300)]
while True:
    for folder in partial:
        folder.mkdir()
    for folder in partial:
        folder.rmdir()
"""


def test_a_report_is_published_while_another_process_writes_beside_it(tmp_path):
    """Its partial folders come and go, also between two looks at the folder."""
    store, folder = Store(tmp_path), tmp_path / "report"
    recipes = [{"stage": "report", "number": number} for number in range(2)]
    reports = [store.make(recipe, _written_before, False) for recipe in recipes]
    publish(reports[0], folder)
    other = subprocess.Popen([sys.executable, "-c", COMING_AND_GOING, str(folder)])
    while not (folder / ".file-0.partial").exists():
        time.sleep(0.001)
    try:
        for number in range(1, 50):
            publish(reports[number % 2], folder)
    finally:
        other.kill()
        other.wait()
    assert (folder / "file.txt").read_text() == "before"


def test_half_written_files_of_the_dead_are_removed_and_those_of_others_are_not(tmp_path):
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    dead, own = (_suffix(pid) for pid in (child.pid, os.getpid()))
    kept = {f".run.json{own}", f".run.json.elsewhere.{child.pid}.partial", ".x.partial", "x.txt"}
    for name in (*kept, f".run.json{dead}", f".index.html{dead}"):
        (tmp_path / name).write_text("half")
    clear_partial(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == kept
    clear_partial(tmp_path / "none")
    write_whole(tmp_path / "y.txt", b"whole")
    assert {path.name for path in tmp_path.iterdir()} == {*kept, "y.txt"}


def test_the_next_run_leaves_nothing_hidden(tiny_run, tmp_path):
    runs = shutil.copytree(tiny_run.folder.parent, tmp_path / "runs", symlinks=True)
    tokenised = next((runs / "artefacts").glob("tokenise-*"))
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    dead = _suffix(child.pid)
    (runs / "artefacts" / f".{tokenised.name}.lock").touch()
    (runs / "artefacts" / ".analyse-0123.partial").mkdir()
    (runs / "tiny" / f".run.json{dead}").write_text("{")
    (runs / "tiny" / "report" / f".index.html{dead}").write_text("<")
    accord.run("tiny", set={"train.epochs": 3}, runs=runs)
    assert hidden(runs) == []


def test_a_finished_run_is_not_written_to(tiny_run, tmp_path):
    """It may lie in a folder that is read-only."""
    runs = shutil.copytree(tiny_run.folder.parent, tmp_path / "runs", symlinks=True)
    for path in runs.rglob("*"):
        os.utime(path, (0, 0))
    accord.run("tiny", set={"train.epochs": 3}, runs=runs)
    assert {path for path in runs.rglob("*") if path.stat().st_mtime} == set()


@pytest.mark.slow
def test_a_training_that_is_forced_and_killed_leaves_the_model_of_before(tiny_run, tmp_path):
    runs = shutil.copytree(tiny_run.folder.parent, tmp_path / "runs", symlinks=True)
    made = ["tiny", "--set", "train.epochs=3", "--force", "train", "--runs", str(runs)]
    command = [sys.executable, "-m", "accord.pipeline.cli.main", "run", *made]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None and not [*runs.glob("artefacts/.train-*.partial/*")]:
            time.sleep(0.01)
        process.kill()
    assert process.returncode == -9
    assert list(faults(runs / "tiny")) == []
    assert accord.load(runs / "tiny").score("le chat dort")
