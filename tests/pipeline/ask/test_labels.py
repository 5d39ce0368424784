"""Labels of sentences from the corpus to a model that is asked under them, here and elsewhere."""

import numpy as np
import pytest
from cli_cases import invoked

import accord
from accord import load
from accord.corpora.sources import read
from accord.pipeline.ask.conditioning import perplexities, prime, tell
from accord.pipeline.ask.generate import Generator
from accord.pipeline.data.encoded import read_labels, read_values

SENTENCE = "le chien dort ."


@pytest.fixture(scope="module")
def sources(tmp_path_factory) -> list[str]:
    """Two tables with a genre: half of the sentences as they are, half ending in `!`."""
    folder = tmp_path_factory.mktemp("labelled")
    texts = [sentence.text for sentence in read("tiny")]
    for name, chosen in {"one": texts[::2], "two": texts[1::2]}.items():
        rows = [
            f"{text.rstrip('.')}!\tloud" if number % 2 else f"{text}\tplain"
            for number, text in enumerate(chosen)
        ]
        rows[3] = rows[3].rpartition("\t")[0] + "\t"  # of which nothing is known
        (folder / f"{name}.tsv").write_text("text\tgenre\n" + "\n".join(rows), encoding="utf-8")
    return [str(folder / f"{name}.tsv") for name in ("one", "two")]


@pytest.fixture(scope="module")
def changes(sources) -> dict:
    return {
        "corpus.source": sources,
        "corpus.labels": ["genre", "source"],
        "train.condition": "crossed",
        "train.epochs": 6,
    }


@pytest.fixture(scope="module")
def this(changes, tmp_path_factory, slow):
    runs = tmp_path_factory.mktemp("runs")
    return accord.run("tiny", set=changes, models=["ll-rnn"], until="evaluate", runs=runs)


def test_labels_become_numbers_by_the_order_of_the_alphabet(this):
    encoded = this.artefacts["ll-rnn", "encode"].folder
    assert read_values(encoded) == {"genre": ["loud", "plain"], "source": ["one.tsv", "two.tsv"]}
    labels = np.concatenate([read_labels(encoded, split) for split in ("train", "valid", "test")])
    assert sorted(np.bincount(labels[:, 0])[:1]) == [2]
    assert (labels[:, 1] > 0).all()


def test_the_right_label_is_worth_more_than_none_and_a_wrong_one(this):
    table = perplexities(load(this.folder), "genre").set_index("genre")
    assert [*table.index] == ["loud", "plain", "all"]
    assert (table["right"] < table["none"]).all() and (table["none"] < table["wrong"]).all()
    shown = invoked("score", "test", "--labels", "genre", "--run", str(this.folder)).output
    assert all(f"{value:,.1f}" in shown for value in table["wrong"])


def exclaimed(scorer) -> int:
    """How many of sixty sentences drawn have an exclamation mark."""
    return sum("!" in sentence.text for sentence in Generator(scorer).sample(60))


def test_a_model_is_asked_under_a_label(this, tmp_path):
    scorer = load(this.folder)
    unknown = scorer.score(SENTENCE)
    tell(scorer, ["genre=loud"])
    loud = scorer.score(SENTENCE)
    assert loud[-2].log_p < unknown[-2].log_p - 0.3  # the full stop
    assert exclaimed(scorer) > 40
    tell(scorer, ["genre=plain"])
    assert exclaimed(scorer) < 20
    tell(scorer, [])
    assert scorer.score(SENTENCE) == unknown
    (tmp_path / "a.txt").write_text(SENTENCE)
    asked = ["score", str(tmp_path / "a.txt"), "--run", str(this.folder)]
    said = invoked(*asked, "--condition", "genre=loud").output
    assert f". {loud[-2].log_p:.2f}" in said


def test_an_exported_model_keeps_its_labels(this, tmp_path):
    accord.export(this.folder, "ll-rnn", tmp_path / "given")
    own, given = load(this.folder), load(tmp_path / "given")
    for scorer in (own, given):
        tell(scorer, ["genre=loud", "source=one.tsv"])
    expected = [word.log_p for word in own.score(SENTENCE)]
    assert [word.log_p for word in given.score(SENTENCE)] == pytest.approx(expected)
    with pytest.raises(ValueError, match=r"--prime-weight.*no validation"):
        prime(given, ["chien"])
