"""n-grams as files: networks exported for KenLM and OpenFst, and files as models and as b."""

import math
from pathlib import Path

import numpy as np
import pytest
from automaton_cases import Automaton, OpenFst, cost
from cli_cases import answered, invoked
from run_cases import scores_of
from typer.main import get_command

import accord
from accord import export
from accord.pipeline.cli.main import app
from accord.pipeline.model.comparison import find
from accord.pipeline.model.endings import read_vocabulary
from accord.zoo.ngrams import read_arpa

SENTENCES = ["La petite fille mange une pomme.", "Les chats noirs dorment."]
FILES = {
    "own.arpa": (),
    "pruned.arpa.gz": ("--prune", "1e-5", "--order", "4"),
    "drawn.arpa": ("--samples", "1000"),
    "own.fst.txt": (),
    "states.fst.txt": ("--states", "40"),
    "drawn.fst.txt": ("--states", "40", "--samples", "300"),
}
ARPA = [name for name in FILES if ".arpa" in name]


@pytest.fixture(scope="module")
def run(tmp_path_factory, slow) -> Path:
    """A closed vocabulary, so that nothing is spelled."""
    settings = {"train.epochs": 12, "analyse.protocol": "closed"}
    chosen = {"models": ["ll-rnn"], "until": "evaluate"}
    runs = tmp_path_factory.mktemp("runs")
    return accord.run("tiny", set=settings, **chosen, runs=runs).folder


@pytest.fixture(scope="module")
def exported(run, tmp_path_factory) -> Path:
    """The folder with all files, and what was said when each was written."""
    folder = tmp_path_factory.mktemp("exported")
    for name, options in FILES.items():
        command = ["export", str(run), "ll-rnn", "--to", str(folder / name), *options]
        done = answered(*command)
        (folder / f"{name}.log").write_text(done.output)
    return folder


@pytest.mark.parametrize("name", ARPA)
def test_a_network_is_written_as_ngrams_that_do_about_as_well(run, exported, name):
    said = (exported / f"{name}.log").read_text().splitlines()
    own, file, counted = [float(line.split()[2]) for line in said if " on test: " in line]
    table = scores_of(run).set_index(["model", "split", "metric"])["value"]
    assert own == pytest.approx(table["ll-rnn", "test", "perplexity"], abs=0.1)
    assert 0.9 * own < file < 2 * counted
    scored = accord.load(exported / name).score_all(SENTENCES)
    words = [word.form for word in scored[0]]
    assert words == ["la", "petite", "fille", "mange", "une", "pomme", ".", "</s>"]
    assert all(math.isfinite(word.log_p) for sentence in scored for word in sentence)


def test_kenlm_reads_the_same(exported):
    kenlm = pytest.importorskip("kenlm")
    for name in ARPA:
        judge, scorer = kenlm.LanguageModel(str(exported / name)), accord.load(exported / name)
        for words in scorer.score_all(SENTENCES):
            text = " ".join(word.form for word in words[:-1])
            theirs = [log_p for log_p, _, _ in judge.full_scores(text, bos=True, eos=True)]
            ours = np.array([word.log_p for word in words]) / math.log(10)
            assert ours == pytest.approx(theirs, abs=1e-4)


@pytest.mark.parametrize("read", [Automaton, OpenFst])
def test_the_automaton_of_ngrams_says_what_they_say(read, exported):
    automaton = read(exported / "own.fst.txt")
    assert len(automaton.final) > 1000
    for words in accord.load(exported / "own.arpa").score_all(SENTENCES):
        found = cost(automaton, [word.form for word in words[:-1]])
        assert found == pytest.approx(-sum(word.log_p for word in words), rel=1e-4)


@pytest.mark.parametrize("read", [Automaton, OpenFst])
@pytest.mark.parametrize("name", ["states", "drawn"])
def test_the_automaton_of_hidden_states_has_few_states_and_does_as_well(read, name, exported):
    automaton = read(exported / f"{name}.fst.txt")
    said = (exported / f"{name}.fst.txt.log").read_text().splitlines()
    _, file, counted = [float(line.split()[2]) for line in said if " on test: " in line]
    assert file < 2 * counted
    assert 10 < len(automaton.final) <= 41  # one more lists every word
    assert any(f"{len(automaton.final) - 1} states" in line for line in said)
    for words in accord.load(exported / "own.arpa").score_all(SENTENCES):
        assert math.isfinite(cost(automaton, [word.form for word in words[:-1]]))


def test_exported_ngrams_score_the_test_as_the_run_did(closed_run, tmp_path):
    path = export(closed_run, "ngrams", tmp_path / "ngrams.arpa.gz")
    (scored,) = find(f"{closed_run}/ngrams")
    ngrams = read_arpa(path, read_vocabulary(scored.folders["analyse"]).forms)
    assert ngrams.score(scored.sentences("test")) == pytest.approx(scored.log_p("test"), abs=1e-5)
    with pytest.raises(ValueError, match="made of n-grams already, of order 3: expected no --ord"):
        export(closed_run, "ngrams", tmp_path / "again.arpa", samples=10)


@pytest.mark.slow
def test_ngrams_of_a_file_are_a_background_from_outside(closed_run, tmp_path):
    path = export(closed_run, "ngrams", tmp_path / "ngrams.arpa")
    over = {"analyse.protocol": "closed", "train.epochs": 1, "train.learning_rate": 1e-9}
    over["background.kind"] = f"{{kind: arpa, file: '{path}'}}"
    chosen = {"models": ["ll-rnn"], "until": "evaluate"}
    run = accord.run("tiny", set=over, **chosen, runs=tmp_path / "runs")
    # A network that has learned nothing says almost what the file says.
    nats = scores_of(run.folder).set_index(["model", "split", "metric"])["value"]
    expected = scores_of(closed_run).set_index(["model", "split", "metric"])["value"]
    assert nats["ll-rnn", "test", "nats per word"] == pytest.approx(
        expected["ngrams", "test", "nats per word"], abs=0.1
    )
    words = accord.load(run.folder, "ll-rnn").score("Le chat dort.")
    assert all(math.isfinite(word.log_p) for word in words)


NGRAMS = """\\data\\
ngram 1=3

\\1-grams:
-99\t<s>
-0.3\t</s>
-0.3\tchat

\\end\\
"""
FILES_HERE = {"n.arpa": NGRAMS, "text.txt": "chat", "lists.txt": "1 ||| chat ||| 0"}
ARGUMENTS = {  # what else each command wants to be told, but for those that need a lexicon's data
    "score": ["chat"],
    "rescore": ["lists.txt"],
    "surprisal": ["text.txt"],
    "expect": ["chat"],
    "explain": ["chat"],
    "vectors": ["chat"],
    "generate": [],
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_a_file_of_ngrams_is_offered_by_the_commands_that_take_one(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for file, text in FILES_HERE.items():
        (tmp_path / file).write_text(text)
    (run,) = (
        param
        for param in get_command(app).get_command(None, name).loaded().params
        if param.name == "run"
    )
    done = invoked(name, *ARGUMENTS[name], "--run", "n.arpa")
    assert (done.exit_code == 0) == (".arpa" in run.help), done.output
