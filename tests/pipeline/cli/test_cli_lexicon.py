"""`accord lexicon`: one broken plug-in is named, and all others answer."""

from pathlib import Path

from typer.testing import CliRunner

from accord.pipeline.cli.main import app


def test_guessers_are_measured_side_by_side_on_the_same_words():
    treebank = str(Path(__file__).parents[2] / "data" / "accords.conllu")
    coverage = ["lexicon", "coverage", treebank, "--lexicon", "tiny", "--guesser"]
    said = CliRunner().invoke(app, [*coverage, "guesser"])
    assert said.exit_code == 0, said.output
    assert "most frequent gaps: " in said.stdout
    assert "| held-out lemmas " in said.stdout and "| unknown words of the treebank " in said.stdout
    said = CliRunner().invoke(app, [*coverage, "guesser,oracle"])
    assert said.exit_code == 2
    assert "--guesser: expected some of guesser" in said.stderr and "got 'oracle'" in said.stderr
