"""A loaded model answers what the functions answer, any text in time that grows as its length."""

from copy import copy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
import pytest
from operations import grows_as_its_size

import accord
from accord import load
from accord.corpora.segment import segment
from accord.corpora.tokenise import detokenise, spans, tokenised
from accord.pipeline.ask.correct import corrections
from accord.pipeline.ask.explain import without_gap
from accord.pipeline.ask.scorer import Reader, Scorer
from accord.pipeline.cli.model import GAP_INSIDE
from accord.pipeline.model.network import load_inference
from accord.pipeline.page.answers import Models

SENTENCE = "La petite fille mange."


@pytest.fixture(scope="module")
def french():
    return accord.load()


def test_it_says_which_model_it_is(french, tiny_run):
    assert repr(french).startswith("<Accord: bundled model 'french', 869,")
    assert repr(french).endswith("parameters, protocol open>")
    of_run = repr(accord.load(tiny_run.folder, "rnn"))
    assert of_run.startswith(f"<Accord: run model 'rnn' of {tiny_run.folder}, ")


@pytest.mark.slow
def test_surprisal_is_asked_of_a_sentence_of_several_and_of_a_table(french, tmp_path):
    words = french.surprisal(SENTENCE)
    assert words["word"].tolist() == ["La", "petite", "fille", "mange", "."]
    table = pd.DataFrame({"sentence": [SENTENCE, "Le chat dort."]})
    expected = accord.surprisal(table, french)
    pd.testing.assert_frame_equal(french.surprisal(table["sentence"].tolist()), expected)
    pd.testing.assert_frame_equal(french.surprisal(table), expected)
    # In single precision, products of two sentences are added up in another order than of one.
    in_table, alone = expected["surprisal"].head(5).tolist(), words["surprisal"].tolist()
    assert in_table == pytest.approx(alone, abs=1e-5)
    table.to_csv(tmp_path / "text.csv", index=False)
    pd.testing.assert_frame_equal(french.surprisal(tmp_path / "text.csv"), expected)
    named = french.surprisal(SENTENCE, column="phrase", expect=["Number"])
    assert {"phrase", "p_Number_Plur"} <= {*named}


PAIRS = (
    "good,bad,construction\nles chats dorment,les chats dort,simple\n"
    "le chat dort,le chat dorment,simple\n"
)
# Numbers in an answer of numpy and of torch: 1e-4 nats of one word, and so of a few together.
CLOSE = 3e-4
TEXT = "Les petites filles que le voisin connaît mangent une zyglotte. Il pleut."


@pytest.fixture(scope="module")
def by_both(french) -> tuple[Scorer, Scorer]:
    """The bundled model by numpy and the same files by torch."""
    by_torch = copy(french)
    by_torch.model = load_inference(french.parts)
    return french, by_torch


def of_page(scorer: Scorer) -> list[dict]:
    models = Models({"french": lambda: scorer})
    ask = {"model": "french", "text": TEXT}
    return [models.answer({"ask": "read", **ask}), models.answer({"ask": "place", **ask, "at": 4})]


def of_spacy(scorer: Scorer) -> list:
    spacy = pytest.importorskip("spacy")
    from accord.pipeline.integrations.spacy_component import Surprisal

    component = Surprisal(None, None, ["Number"], split=False)
    component.reader = Reader(scorer, ["Number"])
    doc = component(spacy.blank("fr")(TEXT))
    return [[token._.surprisal, token._.entropy, token._.expect] for token in doc]


def of_suite(scorer: Scorer) -> list[dict]:
    with TemporaryDirectory() as folder:
        suite = Path(folder) / "pairs.csv"
        suite.write_text(PAIRS)
        return scorer.agree(str(suite)).to_dict("records")


QUESTIONS = {
    "score": lambda model: [[word.form, word.log_p] for word in model.score(TEXT)],
    "surprisal": lambda model: model.surprisal(TEXT, expect=["Number"]).to_dict("records"),
    "expect": lambda model: model.expect(TEXT).to_dict("records"),
    "explain": lambda model: model.explain("Les petites", "filles", "zyglottes").to_dict("split"),
    "generate": lambda model: [
        [[word.form, word.log_p] for word in each.words]
        for each in model.generate("La petite fille mange une", 1, beam=2)
    ],
    "nearest": lambda model: model.nearest("fille", 3).to_dict("records"),
    "agree": of_suite,
    "correct": lambda model: [
        [each.start, each.right, float(each.bits)]
        for each in corrections(model, "Les fille mange des pomme.")
    ],
    "page": of_page,
    "spaCy": of_spacy,
}


@pytest.mark.slow
@pytest.mark.parametrize("question", QUESTIONS)
def test_numpy_and_torch_give_the_same_answer(by_both, question):
    """Words and ranks are equal, numbers are within what single precision allows."""
    ours, theirs = map(QUESTIONS[question], by_both)
    assert_alike(ours, theirs)


def assert_alike(one: Any, other: Any) -> None:
    assert type(one) is type(other)
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        one, other = list(one.values()), list(other.values())
    if isinstance(one, list | tuple):
        assert len(one) == len(other)
        for mine, yours in zip(one, other, strict=True):
            assert_alike(mine, yours)
    elif isinstance(one, float):
        assert one == pytest.approx(other, abs=CLOSE, nan_ok=True)
    else:
        assert one == other


def words(text: str) -> tuple[str, ...]:
    return next(tokenised([text]))


READERS = {
    "words": words,
    "sentences": segment,
    "spans": lambda text: spans(text, words(text)),
    "written": lambda text: detokenise(words(text)),
    "gap": without_gap,
    "gap inside": GAP_INSIDE.search,
}
REPEATED = [" ", "a", "1", ".", "…", "'", "-", "(", "\u0301", "\u200d", "@", "a.", "l'", ". ", "« "]


@pytest.mark.parametrize("unit", REPEATED)
@pytest.mark.parametrize("reader", READERS)
def test_a_text_of_one_thing_repeated_takes_time_that_grows_as_its_length(reader, unit):
    def read(size: int) -> None:
        READERS[reader](f"la{unit * size}fin")

    assert grows_as_its_size(read, 2_000)


@pytest.mark.parametrize(
    ("text", "beginning"),
    [
        ("les chiens ... \n", "les chiens"),
        ("les chiens…", "les chiens…"),
        ("et … …", "et …"),
        ("…", ""),
    ],
)
def test_one_gap_at_the_end_is_taken_off_with_the_blanks_around_it(text, beginning):
    assert without_gap(text) == beginning


def test_no_sentences_have_no_scores(tiny_run):
    assert load(tiny_run.folder).score_all([]) == []


@pytest.mark.parametrize("asked", [Scorer.score, Scorer.words, lambda s, t: [*Reader(s).read([t])]])
def test_a_text_that_is_not_utf_8_is_refused(asked):
    latin = b"il va \xe0 paris .".decode(errors="surrogateescape")  # as arguments are read
    with pytest.raises(ValueError, match=r"expected text in UTF-8, found half .* behind 'il va '"):
        asked(load(), latin)
