"""Accord works without this package: its folders are deleted, its entry points stay."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from accord.models.common.registry import LISTING, listing

ROOT = Path(__file__).parents[2]
# An editable installation would find the packages of the checkout, whatever the folder.
ALONE = """
import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if "Editable" not in repr(finder)]
"""
PACKAGES = ("accord", "corpora", "lexicon", "models", "pipeline")
TESTS = (
    *("models/test_outputs.py", "models/test_encoders.py", "models/common/test_registry.py"),
    *("pipeline/config", "pipeline/cli/test_help.py"),
    *("pipeline/model/test_network.py", "pipeline/stages/test_plug_in.py", "test_house.py"),
)


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Path:
    """A copy of the repository without the zoo and its tests."""
    folder = tmp_path_factory.mktemp("without")
    for name in (*PACKAGES, "tests"):
        skipped = shutil.ignore_patterns("zoo", "__pycache__")
        shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=skipped)
    for name in ("setup.cfg", "constraints.txt", ".pre-commit-config.yaml"):
        shutil.copy(ROOT / name, folder)
    (folder / "sitecustomize.py").write_text(ALONE)
    return folder


def done(copy: Path, *words: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, *words],
        cwd=copy,
        env=os.environ | {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
    )


@pytest.mark.slow
def test_the_tests_of_the_rest_pass(copy):
    paths = [f"tests/{path}" for path in TESTS]
    quick = ("-m", "not long and not slow", "--basetemp", "temporary")
    ran = done(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", *quick, *paths)
    assert ran.returncode == 0, ran.stdout[-3000:]


def test_the_listing_is_what_the_parts_say_of_themselves():
    """`python -m accord.models.parts accord.zoo` writes it."""
    stored = json.loads((ROOT / "zoo" / LISTING).read_text(encoding="utf-8"))
    assert stored == json.loads(json.dumps(listing("accord.zoo")))


@pytest.mark.slow
def test_its_parts_and_commands_are_named_and_left_out(copy):
    program = ("-c", "from accord.pipeline.cli.main import program; program()")
    explained = done(copy, *program, "config")
    assert explained.returncode == 0, explained.stderr
    words = " ".join(explained.stdout.replace("#", "").split())
    assert "left out: encoder 'jordan' of accord-lm cannot be loaded" in words
    assert "#   lstm: " in explained.stdout
    shown = done(copy, *program, "--help")
    assert "the commands of accord.zoo:COMMANDS are left out" in shown.stderr
    assert " score " in shown.stdout and " rescore " not in shown.stdout
