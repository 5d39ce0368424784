"""`accord lexicon`: one broken plug-in is named, and all others answer."""

from pathlib import Path

from typer.testing import CliRunner

from accord.pipeline.cli.main import app

HEADER = "form\tlemma\tupos\tfeats\n"


def test_a_meaning_that_no_default_template_takes_is_shown_beside_phi(tmp_path):
    table = tmp_path / "own.tsv"
    table.write_text(f"{HEADER}avocat\tavocat\tNOUN\tNumber=Sing|Sem=Hum\n", encoding="utf-8")
    said = CliRunner().invoke(app, ["lexicon", "show", "avocat", "--lexicon", str(table)])
    assert said.exit_code == 0, said.output
    phi = said.stdout.partition("φ by")[2]
    assert "Number=Sing" in phi
    assert phi.strip().endswith("not in φ: Sem=Hum; add it by featurise.templates: [+sem]")


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
