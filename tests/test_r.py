"""The recipes of docs/r.md, where there is an R: both give the numbers that the page shows."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.documents import FENCE

PAGE = (Path(__file__).parent.parent / "docs" / "r.md").read_text(encoding="utf-8")
BLOCKS = {title: body for _, title, body in FENCE.findall(PAGE) if title}
SHOWN = next(body for language, _, body in FENCE.findall(PAGE) if language == "text")
RSCRIPT = shutil.which("Rscript")
needs_r = pytest.mark.skipif(RSCRIPT is None, reason="there is no R")
# R puts its own libraries before those of a Python that was not made by the same people.
SHIM = f'#!/bin/sh\nunset LD_LIBRARY_PATH\nexec {sys.executable} -m accord.pipeline.cli.main "$@"\n'


def said(folder: Path, script: str) -> list[list[str]]:
    """What a script of the page prints, in cells."""
    for title, body in BLOCKS.items():
        (folder / title).write_text(body, encoding="utf-8")
    (folder / "bin").mkdir()
    (folder / "bin" / "accord").write_text(SHIM)
    (folder / "bin" / "accord").chmod(0o755)
    path = os.pathsep.join(
        [str(folder / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]]
    )
    root = str(Path(__file__).parent.parent)
    done = subprocess.run(
        [RSCRIPT, script],
        cwd=folder,
        env=os.environ | {"PATH": path, "PYTHONPATH": root},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return [line.split() for line in done.stdout.splitlines()]


def has(package: str) -> bool:
    asked = [RSCRIPT, "-e", f"quit(status = !requireNamespace('{package}', quietly = TRUE))"]
    return subprocess.run(asked, capture_output=True).returncode == 0


@pytest.mark.slow
@needs_r
def test_the_command_line_gives_the_numbers_of_the_page(tmp_path):
    assert said(tmp_path, "command.R") == [line.split() for line in SHOWN.splitlines()]


@pytest.mark.slow
@needs_r
def test_reticulate_gives_the_same_numbers(tmp_path):
    if not has("reticulate"):  # asked here, as R takes seconds to start
        pytest.skip("there is no R with reticulate")
    assert said(tmp_path, "inside.R") == [line.split() for line in SHOWN.splitlines()]
