"""On a full disk a command says which file had no room, and leaves none that is half written."""

import pandas as pd
import pytest
from full_disk import full_disk
from typer.testing import CliRunner

from accord.pipeline.cli.main import app

TEXT = "la petite fille mange une pomme"
COMMANDS = {
    "table.csv": ["surprisal", "{stimuli}", "--to", "{file}", "--column", "sentence"],
    "table.parquet": ["surprisal", "{stimuli}", "--to", "{file}", "--column", "sentence"],
    "expected.csv": ["expect", TEXT, "--to", "{file}"],
    "page.html": ["explain", TEXT, "--html", "{file}"],
    "figure.png": ["expect", TEXT, "--plot", "{file}"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_an_older_file_stays_and_no_half_one_appears(tiny_run, tmp_path, name):
    stimuli, file = tmp_path / "stimuli.csv", tmp_path / "written" / name
    pd.DataFrame({"sentence": [TEXT] * 20}).to_csv(stimuli)
    named = {"stimuli": stimuli, "file": file}
    command = [part.format(**named) for part in COMMANDS[name]] + ["--run", str(tiny_run.folder)]
    assert CliRunner().invoke(app, command).exit_code == 0
    before, files = file.read_bytes(), sorted(file.parent.iterdir())
    with full_disk(len(before) // 2):
        done = CliRunner().invoke(app, command)
    assert done.exit_code == 1
    assert done.stderr.rstrip().endswith(f"error: File too large: {file}")
    assert file.read_bytes() == before
    assert sorted(file.parent.iterdir()) == files
