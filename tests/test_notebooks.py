"""The notebooks run from top to bottom."""

import json
import os
import subprocess
import sys
from pathlib import Path

# What the notebooks look at instead of what takes minutes or a download.
SMALL = {"ACCORD_PRESET": "tiny", "ACCORD_CORPUS": "tiny", "ACCORD_LEXICONS": "closed tiny"}
NOTEBOOKS = sorted((Path(__file__).parent.parent / "notebooks").glob("*.ipynb"))


def test_every_cell_runs(tmp_path):
    """All in one folder, as a person runs them, so that what one trained the next one finds."""
    assert NOTEBOOKS
    for path in NOTEBOOKS:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
        assert code, path.name
        done = subprocess.run(
            [sys.executable, "-c", "\n".join(code)],
            cwd=tmp_path,
            env=os.environ | SMALL,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"{path.name}\n{done.stderr}"
