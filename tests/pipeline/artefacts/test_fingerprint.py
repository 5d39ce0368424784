"""A stage's code is its module and all it imports from the four packages."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.artefacts import fingerprint

ROOT = Path(__file__).parents[3]


@pytest.fixture
def copy(tmp_path):
    for package in fingerprint.PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package)
    return tmp_path


PROGRAM = """
import sys
from pipeline.artefacts import fingerprint
for module in sys.argv[1:]:
    print(fingerprint.of_code(module))
"""


def codes_of(modules: list[str], root: Path) -> list[str]:
    """As a process finds them that begins there."""
    command = [sys.executable, "-c", PROGRAM, *modules]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def code_of(module: str, root: Path) -> str:
    (code,) = codes_of([module], root)
    return code


def write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def append(path: Path, text: str) -> None:
    path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")


def test_editing_an_imported_helper_counts_and_a_comment_or_a_stranger_does_not(copy):
    before = code_of("pipeline.stages.encode", copy)
    append(copy / "pipeline" / "stages" / "report.py", "\nOTHER = 1\n")
    append(copy / "pipeline" / "artefacts" / "arrow.py", "\n# a remark\n")
    assert code_of("pipeline.stages.encode", copy) == before
    append(copy / "pipeline" / "artefacts" / "arrow.py", "\nOTHER = 1\n")
    assert code_of("pipeline.stages.encode", copy) != before


def test_a_package_loaded_by_name_counts_whole(copy):
    before = code_of("pipeline.stages.analyse", copy)
    append(copy / "lexicon" / "dela.py", "\nOTHER = 1\n")
    assert code_of("pipeline.stages.analyse", copy) != before


def test_a_room_imported_from_outside_counts_whole(copy):
    (copy / "models" / "deep").mkdir()
    write(copy / "models" / "deep" / "__init__.py", "PARTS = {}\n")
    write(copy / "models" / "deep" / "part.py", "from models.deep import PARTS\n")
    append(copy / "pipeline" / "stages" / "train.py", "\nfrom models.deep import PARTS\n")
    before = code_of("pipeline.stages.train", copy)
    append(copy / "models" / "deep" / "part.py", "\nOTHER = 1\n")
    assert code_of("pipeline.stages.train", copy) != before


@pytest.mark.parametrize(
    ("stage", "other", "file"),
    [
        ("train", "encode", "models/encoders/jordan.py"),
        ("train", "featurise", "models/outputs/sampled.py"),
        ("train", "encode", "models/ngram/smoothing/witten_bell.py"),
        ("evaluate", "train", "pipeline/evaluation/metrics/size.py"),
        ("featurise", "encode", "pipeline/features/of_form.py"),
    ],
)
def test_a_part_counts_for_the_stages_that_may_choose_it(copy, stage, other, file):
    modules = [f"pipeline.stages.{each}" for each in (stage, other)]
    before = codes_of(modules, copy)
    write(copy / file, "PART = 1\n")
    after = codes_of(modules, copy)
    assert [a == b for a, b in zip(before, after, strict=True)] == [False, True]


@pytest.mark.parametrize("file", ["pipeline/display/page.html", "pipeline/inference/explain.css"])
def test_a_file_that_a_module_fills_in_counts_for_the_stage_that_writes_it(copy, file):
    modules = ["pipeline.stages.report", "pipeline.stages.train"]
    before = codes_of(modules, copy)
    append(copy / file, "\n<!-- other -->\n")
    after = codes_of(modules, copy)
    assert [a == b for a, b in zip(before, after, strict=True)] == [False, True]


@pytest.mark.parametrize(
    ("stage", "stranger"),
    [
        ("train", "models/spelling/ngram.py"),
        ("evaluate", "lexicon/dela.py"),
        ("report", "pipeline/cli/console.py"),
    ],
)
def test_a_stage_is_not_made_anew_for_what_it_does_not_compute_with(copy, stage, stranger):
    before = code_of(f"pipeline.stages.{stage}", copy)
    append(copy / stranger, "\nOTHER = 1\n")
    assert code_of(f"pipeline.stages.{stage}", copy) == before


def test_the_code_is_the_same_wherever_the_packages_lie(copy):
    assert code_of("pipeline.stages.train", copy) == code_of("pipeline.stages.train", ROOT)
