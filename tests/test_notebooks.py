"""The notebooks run from their own folder, their claims hold, and they train nothing anew."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import accord

# What the notebooks look at instead of what takes minutes or a download.
SMALL = {"ACCORD_PRESET": "tiny", "ACCORD_CORPUS": "tiny", "ACCORD_LEXICONS": "closed,tiny"}
NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))


def cells(path: Path, kind: str) -> list[str]:
    found = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in found if cell["cell_type"] == kind]


@pytest.fixture(scope="module")
def repository(tmp_path_factory, slow) -> Path:
    """A repository in which the models have been trained, to the end: notebooks/ beside runs/."""
    folder = tmp_path_factory.mktemp("repository")
    accord.run("tiny", runs=folder / "runs")
    (folder / "notebooks").mkdir()
    return folder


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_claim_holds_and_nothing_is_trained(repository, path):
    def made() -> dict[Path, int]:
        files = [
            *(repository / "runs/artefacts").rglob("*"),
            *(repository / "runs/tiny").rglob("*"),
        ]
        return {file: file.stat().st_mtime_ns for file in files}

    before = made()
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(cells(path, "code"))],
        cwd=repository / "notebooks",
        env=os.environ | SMALL,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert made() == before
    assert [*(repository / "notebooks").iterdir()] == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_claims_are_asserted_and_what_was_shown_is_kept(path):
    code = cells(path, "code")
    assert sum("assert " in cell for cell in code) >= 3
    executed = json.loads(path.read_text(encoding="utf-8"))["cells"]
    outputs = [out for cell in executed for out in cell.get("outputs", ())]
    assert any("image/svg+xml" in out.get("data", {}) for out in outputs)
    assert not any(out["output_type"] == "error" for out in outputs)
