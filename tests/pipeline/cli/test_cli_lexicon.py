"""`accord lexicon`: one broken plug-in is named, and all others answer."""

from pathlib import Path

from cli_cases import answered, invoked


def test_guessers_are_measured_side_by_side_on_the_same_words():
    treebank = str(Path(__file__).parents[2] / "data" / "accords.conllu")
    coverage = ["lexicon", "coverage", treebank, "--lexicon", "tiny", "--guesser"]
    said = answered(*coverage, "guesser")
    assert "most frequent gaps: " in said.stdout
    assert "| held-out lemmas " in said.stdout and "| unknown words of the treebank " in said.stdout
    said = invoked(*coverage, "guesser,oracle")
    assert said.exit_code == 2
    assert "--guesser: expected some of guesser" in said.stderr and "got 'oracle'" in said.stderr
