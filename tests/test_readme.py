"""The README tells the truth: its commands and code run, its stage table is the declared one."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from accord.pipeline.cli.main import app
from accord.pipeline.stages.table import declared

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A place that looks like the root of the repository, for commands to write into."""
    place = tmp_path_factory.mktemp("readme")
    shutil.copytree(ROOT / "tests" / "data", place / "tests" / "data")
    return place


def environment() -> dict[str, str]:
    here = str(Path(sys.executable).parent)
    return os.environ | {"PATH": f"{here}{os.pathsep}{os.environ['PATH']}"}


@pytest.mark.slow
def test_every_command_runs(folder, monkeypatch):
    """By the shell where it needs one; the others in this process, as starting takes seconds."""
    monkeypatch.chdir(folder)
    commands = [line for block in blocks("sh") for line in block.splitlines()]
    ours = [line for line in commands if line.startswith("accord ")]
    by_shell = [line for line in ours if ">" in line]
    assert len(ours) >= 8 and by_shell
    for command in ours:
        if command in by_shell:
            done = subprocess.run(command, shell=True, env=environment(), capture_output=True)
            assert done.returncode == 0, f"{command}\n{done.stderr}"
        else:
            done = CliRunner().invoke(app, shlex.split(command)[1:])
            assert done.exit_code == 0, f"{command}\n{done.output}"


def test_the_python_code_runs(folder):
    assert blocks("python")
    for code in blocks("python"):
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        assert "pomme" in done.stdout


def test_the_stage_table_is_the_declared_one():
    rows = [
        dict(zip(("stage", "does", "reads", "writes"), line.strip("| ").split(" | "), strict=True))
        for line in README.splitlines()
        if re.match(r"\| `(corpus|\w+)` \| \w.* \| .* \| `", line)
    ]
    assert rows == declared()


def test_its_yaml_is_a_valid_configuration(tmp_path):
    from accord.pipeline.config.configuration import load_config

    assert blocks("yaml")
    for number, block in enumerate(blocks("yaml")):
        path = tmp_path / f"{number}.yaml"
        path.write_text(block, encoding="utf-8")
        assert load_config(str(path)).models
