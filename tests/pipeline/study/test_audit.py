"""The audit finds what each protocol lets through, and nothing else."""

import pytest

import accord
from accord.pipeline.study.audit import audit, chosen_on_validation, texts_in_lexicons, verdicts

# Which of vocabulary, φ and b know the splits that are not trained on.
LEAKS = {
    "open": {"vocabulary": "no", "φ": "no", "b": "no"},
    "closed": {"vocabulary": "yes", "φ": "no", "b": "no"},
    "paper": {"vocabulary": "yes", "φ": "yes", "b": "yes"},
}


@pytest.fixture(scope="module", params=LEAKS)
def prepared(request, tmp_path_factory):
    changes = {"analyse.protocol": request.param}
    runs = tmp_path_factory.mktemp("audited")
    return request.param, accord.run("tiny", set=changes, until="encode", runs=runs)


@pytest.mark.slow
def test_every_protocol_knows_of_the_test_what_it_says(prepared):
    protocol, run = prepared
    found = audit(run.folder)
    assert set(found["model"]) == {"rnn", "ll-rnn"}
    assert set(found["protocol"]) == {protocol}
    for _, rows in found.groupby("model"):
        answers = rows.set_index("part")
        assert answers.loc[["φ", "b"], "train"].tolist() == ["yes", "yes"]
        for split in ("valid", "test"):
            assert answers[split].to_dict() == LEAKS[protocol]


@pytest.mark.slow
def test_what_validation_chose_is_said_of_the_models_of_which_it_chose_it(tmp_path):
    config = tmp_path / "some.yaml"
    config.write_text(
        "base: tiny\nmodels:\n  counted: {train: {output: background}}\n"
        "  linear: {train: {schedule: linear, output: {temperature: true}}}\n  plateau: {}\n"
    )
    run = accord.run(str(config), until="encode", runs=tmp_path)
    chosen = chosen_on_validation(run.folder)
    assert chosen == {
        "the best epoch": ["linear", "plateau"],
        "the learning rate": ["plateau"],
        "the temperature": ["linear"],
    }
    test, valid = verdicts(run.folder, audit(run.folder), chosen)
    assert test == "test: used for nothing: it was not known"
    assert valid.startswith("valid: used for the best epoch (linear, plateau); the learning rate")


@pytest.mark.slow
def test_what_cannot_be_made_again_is_not_audited(tmp_path):
    run = accord.run("tiny", until="encode", runs=tmp_path)
    made = run.artefacts["ll-rnn", "featurise"].folder / "names.json"
    made.write_text(made.read_text() + " ")
    with pytest.raises(ValueError, match="featurise of 'll-rnn' does not come out as it did"):
        audit(run.folder)


def test_the_sentences_that_the_text_of_a_lexicon_shares_with_the_test_are_counted(
    tmp_path, tiny_run
):
    table, text = tmp_path / "counts.tsv", tmp_path / "text.conllu"
    shared = tiny_run.sentences("test")[:5]["text"]
    rows = (f"# text = {sentence}\n1\tx\tx\tX\t_\t_\t0\troot\t_\t_\n" for sentence in shared)
    text.write_text("\n".join(rows) + "\n", encoding="utf-8")
    names = ["tiny", f"treebank:{table}", f"treebank:{text}", "guesser"]
    held = texts_in_lexicons(names, tiny_run.stage("corpus"))
    of_table, of_text = held.values()
    assert of_table == {"test": "perhaps", "valid": "perhaps"}
    assert of_text == {"test": "5 of its sentences"}


# The preset over a small text and lexicon; its own settings decide what it takes.
SMALL = {
    "corpus.source": "tiny",
    "corpus.valid": 0.1,
    "corpus.test": 0.1,
    "analyse.lexicon": ["closed", "tiny", "guesser"],
    "analyse.suites": [],
}


@pytest.mark.parametrize(
    ("changes", "splits"),
    [
        (SMALL, ("valid", "test")),
        pytest.param({}, ("valid", "dev", "test"), marks=pytest.mark.long),
    ],
    ids=["small", "treebank"],
)
def test_the_closed_preset_takes_only_the_words_of_its_tests(tmp_path, fetched, changes, splits):
    for source in ("lexique",) if changes else ("ud-french-1.4", "lefff", "lexique", "clams-fr"):
        fetched(source)
    run = accord.run("closed", set=changes, until="encode", runs=tmp_path)
    found = audit(run.folder)
    assert "test: used for vocabulary (rnn, ll-rnn)" in verdicts(run.folder, found, {})
    found = found.set_index(["model", "part"])
    for split in splits:
        leaks = found[split] == "yes"
        assert leaks[leaks].index.unique("part").tolist() == ["vocabulary"]
        assert leaks.sum() == 2, "of both models"
