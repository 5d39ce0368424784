"""`accord audit` and `compare`: what they print and how they refuse."""

import pytest
from typer.testing import CliRunner

from accord.pipeline.cli.main import app


def accord(*words: str):
    return CliRunner().invoke(app, words)


@pytest.mark.parametrize(
    ("command", "what"),
    [(["audit"], "run"), (["compare"], "trained model"), (["compare", "--paper"], "run")],
)
def test_what_is_no_run_is_refused_in_a_line(tmp_path, command, what):
    done = accord(*command, str(tmp_path))
    assert (done.exit_code, f"is no {what}: expected" in done.stderr) == (1, True)
    assert len(done.stderr.splitlines()) == 1
