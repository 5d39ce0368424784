"""Model folders from strangers: sealed again after a change, and refused by the command line."""

import resource
from pathlib import Path

from typer.testing import CliRunner

from accord.pipeline.base.artefact import hash_of_file, read_json, write_json
from accord.pipeline.cli.main import app


def seal(folder: Path) -> None:
    """Give every file the hash it has now."""
    about = read_json(folder / "config.json")
    about["files"] = {name: hash_of_file(folder / name) for name in about["files"]}
    write_json(folder / "config.json", about)


def refused(folder: Path, sentence: str, *said: str) -> None:
    """The command line tells it in a line, with no figure, and takes little memory for it."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    told = CliRunner().invoke(app, ["score", "-", "--run", str(folder)], input=sentence)
    assert told.exit_code in (1, 2), told.output
    assert isinstance(told.exception, SystemExit), told.exception
    assert "perplexity" not in told.stdout
    for each in said:
        assert each in told.stderr, told.stderr
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # KiB
