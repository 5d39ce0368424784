"""`accord audit` and `compare`: what they print and how they refuse."""

import pytest
from typer.testing import CliRunner

from accord.pipeline.cli.main import app


def accord(*words: str):
    return CliRunner().invoke(app, words)


def test_audit_and_compare_print_tables_of_the_run(tiny_run, tmp_path):
    audited = accord("audit", str(tiny_run.folder))
    assert audited.exit_code == 0, audited.stderr
    lines = audited.stdout.splitlines()
    assert len(lines) == 2 + 2 * 3 + 2, "a head, three lines for each of two models, two verdicts"
    assert lines[-2:] == [
        "test: used for nothing: it was not known",
        "valid: used for the best epoch (rnn, ll-rnn); the learning rate (rnn, ll-rnn)",
    ]
    assert [cell.strip() for cell in lines[0].split("|")[1:-1]] == [
        "model", "protocol", "part", "train", "test", "valid",
    ]  # fmt: skip
    compared = accord("compare", str(tiny_run.folder), "--against", "ll-rnn", "--to", str(tmp_path))
    assert compared.exit_code == 0, compared.stderr
    *_, differences = compared.stdout.split("\n\n")
    assert [line.split("|")[1].strip() for line in differences.splitlines()[2:]] == [
        "rnn", "ll-rnn",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("command", "what"),
    [(["audit"], "run"), (["compare"], "trained model"), (["compare", "--paper"], "run")],
)
def test_what_is_no_run_is_refused_in_a_line(tmp_path, command, what):
    done = accord(*command, str(tmp_path))
    assert (done.exit_code, f"is no {what}: expected" in done.stderr) == (1, True)
    assert len(done.stderr.splitlines()) == 1
