"""A text of several sentences: split, and read in context or sentence by sentence."""

import json
from itertools import chain

import numpy as np
import pandas as pd
import pytest
from cli_cases import invoked

import accord
from accord.corpora.sources import read
from accord.pipeline.ask.explain import Explainer
from accord.pipeline.ask.scorer import expect, pieces, split_texts
from accord.pipeline.ask.surprisal import surprisal
from accord.pipeline.base.names import END, END_ID
from accord.pipeline.page.answers import Models

TEXT = "Marie dort.  M. Petit mange une pomme ! Elle mange le chat"
SENTENCES = ["Marie dort.", "M. Petit mange une pomme !", "Elle mange le chat"]
UNTRAINED = "this model was trained on single sentences"


@pytest.fixture(scope="module")
def run(tmp_path_factory, slow):
    """A model that was trained on documents of four sentences."""
    folder = tmp_path_factory.mktemp("documents")
    lines = [sentence.text for sentence in read("tiny")]
    texts = ("\n".join(lines[start : start + 4]) for start in range(0, len(lines), 4))
    (folder / "text.txt").write_text("\n\n".join(texts), encoding="utf-8")
    changes = {
        "corpus.source": str(folder / "text.txt"),
        "train.epochs": 1,
        "train.text": "documents",
    }
    return accord.run("tiny", set=changes, models=["ll-rnn"], runs=folder / "runs")


@pytest.fixture(scope="module")
def reader(run):
    return accord.load(run.folder)


@pytest.fixture
def of_sentences(tiny_run):
    """Loaded anew, as what it was trained for is said once."""
    return accord.load(tiny_run.folder, "ll-rnn")


def log_p(words):
    return np.array([word.log_p for word in words])


def command(*words, text=None):
    return invoked(*words, input=text)


def test_a_text_is_split_and_every_sentence_knows_where_it_stood():
    split = split_texts([TEXT, " ", "Oui. Non."])
    assert split.sentences == [*SENTENCES, "Oui.", "Non."]
    assert split.text == [0, 0, 0, 2, 2]
    assert split.start == [TEXT.index(sentence) for sentence in SENTENCES] + [0, 5]


def test_no_document_is_cut():
    assert [*pieces(None, 5, 2)] == [slice(0, 2), slice(2, 4), slice(4, 5)]
    assert [*pieces([0, 0, 0, 1, 2], 5, 2)] == [slice(0, 3), slice(3, 5)]


def test_in_context_a_text_has_the_probability_of_one_sequence(reader):
    """Read word by word, the state never set back."""
    words = [word.form for word in reader.score(TEXT)]
    ids = [reader.id_of(word) for word in words]
    state, expected = reader.model.initial_state(1), []
    for before, word in zip([END_ID, *ids], ids, strict=False):
        h, state = reader.model.advance(np.array([[before]]), state)
        no_context = np.zeros((1, 0), np.int64)
        expected.append(reader.model.log_prob_of(h[0], np.array([[word]]), no_context).item())
    batch, text = reader.encoded([*reader.read(SENTENCES)], [7, 7, 7])
    assert reader.model.score(batch).sum() == pytest.approx(sum(expected), abs=1e-4)
    assert reader.model.score(batch) == pytest.approx(expected, abs=1e-5)
    assert log_p(reader.score(TEXT)).tolist() == reader.score_encoded(batch, text)[0].tolist()


def test_without_context_sentences_are_scored_one_by_one(reader):
    together = reader.score(TEXT, "none")
    assert together == [*chain.from_iterable(reader.score_all(SENTENCES, "none"))]
    one_by_one = [*chain.from_iterable(reader.score(sentence) for sentence in SENTENCES)]
    assert log_p(together) == pytest.approx(log_p(one_by_one), abs=1e-5)
    differences = np.abs(log_p(reader.score(TEXT)) - log_p(together))
    assert differences[:4].max() < 1e-5 < 1e-4 < differences[4:].max()


def test_texts_know_nothing_of_each_other(reader):
    alone, together = reader.score(TEXT), reader.score_all(["La fille dort.", TEXT])[1]
    assert log_p(alone) == pytest.approx(log_p(together), abs=1e-5)


def test_the_default_is_what_the_model_was_trained_for(reader, of_sentences, capsys):
    assert reader.score(TEXT) == reader.score(TEXT, "text")
    assert of_sentences.score(TEXT) == of_sentences.score(TEXT, "none")
    assert UNTRAINED not in capsys.readouterr().err
    in_context = of_sentences.score(TEXT, "text")
    assert UNTRAINED in capsys.readouterr().err
    assert np.abs(log_p(in_context) - log_p(of_sentences.score(TEXT)))[4:].max() > 1e-4
    with pytest.raises(ValueError, match="context: expected text or none, got 'sentence'"):
        reader.score(TEXT, "sentence")


@pytest.mark.slow
def test_the_first_word_of_a_second_sentence_does_not_pay_for_the_end():
    """The bundled model once had 12.4 bits for this `Elle`, as it expected the sentence end."""
    model = accord.load()
    alone = model.surprisal("Elle reste au lit.")["surprisal"][0]
    for context in (None, "text", "none"):
        words = model.surprisal("Marie est malade. Elle reste au lit.", context=context)
        bits = words.query("sentence_number == 2")["surprisal"].iloc[0]
        assert bits < alone + 0.5


def test_a_row_is_read_after_its_context(reader, capsys):
    table = pd.DataFrame({"context": ["Marie dort. Il part.", None], "sentence": [TEXT, TEXT]})
    words = surprisal(table, reader)
    assert "1 of 2 rows are read after their column 'context'" in capsys.readouterr().err
    first, second = (of_row for _, of_row in words.groupby("row"))
    assert first["sentence_number"].tolist() == second["sentence_number"].tolist()
    assert {*first["sentence_number"]} == {1, 2, 3}
    assert first["word"].tolist() == [TEXT[word.start : word.end] for word in first.itertuples()]
    whole = reader.score(f"Marie dort. Il part. {TEXT}")
    expected = [-w.log_p / np.log(2) for w in whole if w.form != END][6:]
    assert first["surprisal"].to_numpy() == pytest.approx(expected, abs=1e-4)
    alone = reader.surprisal(TEXT)["surprisal"].to_numpy()
    assert second["surprisal"].to_numpy() == pytest.approx(alone, abs=1e-4)
    assert np.abs(first["surprisal"].to_numpy() - alone).max() > 1e-4
    without = surprisal(table, reader, context="none")
    assert without.query("row == 1")["surprisal"].tolist() == (
        without.query("row == 2")["surprisal"].tolist()
    )


def test_the_words_of_a_context_are_written_when_asked_for(reader):
    table = pd.DataFrame({"context": ["Marie dort. Il part."], "sentence": ["Le | chat | dort."]})
    words = surprisal(table, reader, keep_context=True)
    assert words["sentence_number"].tolist() == [-1] * 3 + [0] * 3 + [1] * 4
    assert words["region"].tolist() == [0] * 6 + [1, 2, 3, 3]
    assert words["word"].tolist()[:6] == ["Marie", "dort", ".", "Il", "part", "."]
    with pytest.raises(ValueError, match="keep_context: expected a column 'context'"):
        surprisal(table, reader, context="none", keep_context=True)


def test_lines_are_one_text_up_to_a_blank_line(run, reader, tmp_path):
    (tmp_path / "a.txt").write_text(
        "Marie dort. Il part.\nElle mange.\n\nLa fille dort.\n", encoding="utf-8"
    )
    done = command("score", tmp_path / "a.txt", "--json", "--run", run.folder)
    lines = [*map(json.loads, done.stdout.splitlines())]
    assert [(line["line"], line["sentence"]) for line in lines] == [(1, 1), (1, 2), (2, 3), (4, 4)]
    expected = [*reader.score("Marie dort. Il part. Elle mange."), *reader.score("La fille dort.")]
    found = [word["log_p"] for line in lines for word in line["words"]]
    assert found == pytest.approx(log_p(expected), abs=1e-5)
    assert "2 texts read in context; a blank line ends a text" in done.stderr
    alone = command("score", tmp_path / "a.txt", "--context", "none", "--run", run.folder)
    assert alone.exit_code == 0 and "read in context" not in alone.stderr


def test_all_that_is_asked_reads_alike(reader):
    bits = -log_p(reader.score(TEXT)) / np.log(2)
    models = Models({"reader": lambda: reader})
    asked = {"model": "reader", "text": TEXT}
    words = models.answer({"ask": "read", **asked})["words"]
    assert [word["bits"] for word in words] == pytest.approx(bits, abs=1e-5)
    written = [TEXT[word["start"] : word["end"]] for word in words]
    assert written == [word["form"] for word in words]
    assert [at for at, form in enumerate(written) if not form] == [3, 10, 15]
    for context in ("text", "none"):
        scored = log_p(reader.score(TEXT, context))
        for at in (4, 10, 13):
            place = models.answer({"ask": "place", **asked, "at": at, "context": context})
            (choice,) = place["asked"]
            assert choice["log2_p"] * np.log(2) == pytest.approx(scored[at], abs=1e-4)
    place = Explainer(reader).next_word("Marie dort. Elle …", ["mange"])
    expected = reader.score("Marie dort. Elle mange")[5].log_p
    assert place.queried[0].log_p == pytest.approx(expected, abs=1e-4)
    before = expect("Marie dort. Elle …", reader, ["Number"])
    assert before["before"].tolist() == ["Marie", "dort", ".", END, "Elle", "…"]
