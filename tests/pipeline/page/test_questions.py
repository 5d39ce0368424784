"""Answers of the page are those of the commands; what cannot be meant is refused."""

import json
import math

import numpy as np
import pytest

import accord
from accord.pipeline.ask.explain import Explainer
from accord.pipeline.ask.scorer import expect
from accord.pipeline.base.names import END
from accord.pipeline.page.answers import Models

TEXT = "Les chiens du voisin dorment."
ASK = {"model": "ll-rnn", "text": TEXT}


@pytest.fixture(scope="module")
def scorer(tiny_run):
    return accord.load(tiny_run.folder, "ll-rnn")


def test_a_sentence_is_read_as_the_commands_read_it(models, scorer):
    answer = models.answer({"ask": "read", **ASK})
    scored = scorer.score(TEXT)
    bits = [word["bits"] for word in answer["words"]]
    np.testing.assert_allclose(bits, [-each.log_p / math.log(2) for each in scored], rtol=1e-6)
    assert "".join(word["form"] for word in answer["words"]) == TEXT.replace(" ", "")
    expected, answer = expect(TEXT, scorer), models.answer({"ask": "expect", **ASK})
    assert len(answer["entropy"]) == len(answer["rank"]) == len(bits)
    # The page multiplies rows Φ·W, the command adds feature by feature, both in single precision.
    for feature, values in answer["values"].items():
        for value, p in values.items():
            np.testing.assert_allclose(p, expected[f"{feature}={value}"], atol=1e-6)


LONG = "Les chiens du zorglub dorment , " * 5 + ". Il pleut. " + TEXT


@pytest.mark.parametrize("context", ["text", "none"])
def test_a_place_of_a_text_has_the_surprisal_above_it(models, scorer, context):
    scored = scorer.score(LONG, context)
    question = {"model": "ll-rnn", "text": LONG, "context": context}
    answer = models.answer({"ask": "read", **question})
    bits = [word["bits"] for word in answer["words"]]
    np.testing.assert_allclose(bits, [-w.log_p / math.log(2) for w in scored], atol=1e-4)
    starts = [LONG[start:end] for start, end in answer["sentences"]]
    assert [text[:3] for text in starts] == ["Les", "Il ", "Les"] and starts[-1] == TEXT
    for at in (3, 40, len(bits) - 2):
        (choice,) = models.answer({"ask": "place", **question, "at": at})["asked"]
        assert -choice["log2_p"] == pytest.approx(bits[at], abs=1e-3)


def test_a_place_is_explained_and_its_terms_sum_to_log_p(models, scorer):
    answer = models.answer({"ask": "place", **ASK, "at": 4, "others": ["Dort", "zorglube"]})
    words = [choice["word"] for choice in answer["asked"]]
    assert words == ["dorment", "dort", "zorglube"]
    for choice in [*answer["asked"], answer["best"]]:
        terms = sum(term["bits"] for term in choice["terms"])
        total = choice["background"] + terms + choice["spelling"] - choice["log2_z"]
        assert total == pytest.approx(choice["log2_p"], abs=1e-4)
    own = Explainer(scorer).sentence(scorer.words(TEXT))[4].queried[0]
    assert answer["asked"][0]["log2_p"] == pytest.approx(own.log_p / math.log(2), abs=1e-6)
    assert answer["best"]["word"] == answer["likeliest"][0]["word"]
    with pytest.raises(ValueError, match="expected one word, got 2 in \"l'arbre\": l', arbre"):
        models.answer({"ask": "place", **ASK, "at": 4, "others": ["l’arbre"]})
    end = models.answer({"ask": "place", **ASK, "at": 6})
    assert end["asked"][0]["word"] == END


@pytest.mark.slow
def test_an_error_is_found_with_its_reasons():
    text = "Les chats dort."
    french = Models({"french": accord.load})
    (found,) = french.answer({"ask": "check", "model": "french", "text": text})["suggestions"]
    assert text[found["start"] : found["end"]] == "dort"
    assert found["suggestion"] == "dorment"
    assert sum(found["why"].values()) == pytest.approx(found["gain"], abs=1e-4)
    assert found["gain"] > 0


def test_a_feature_switched_off_gives_nothing_and_the_rest_sums_to_one(models):
    whole = models.answer({"ask": "read", **ASK})
    off = models.answer({"ask": "read", **ASK, "off": ["Number"]})
    assert [word["bits"] for word in off["words"]] != [word["bits"] for word in whole["words"]]
    off = models.answer({"ask": "expect", **ASK, "off": ["Number"]})
    for values in off["values"].values():
        np.testing.assert_allclose(np.sum(list(values.values()), axis=0), 1, atol=1e-5)
    (choice,) = models.answer({"ask": "place", **ASK, "at": 4, "off": ["Number"]})["asked"]
    terms = {term["feature"]: term["bits"] for term in choice["terms"]}
    assert terms["Number=Plur"] == 0
    assert terms["pos=VERB"] != 0
    assert models.answer({"ask": "read", **ASK, "off": []}) == whole


def test_the_model_writes_on_under_a_constraint(models):
    asked = {"ask": "write", "model": "ll-rnn", "start": "Les", "constraints": ["NOUN"]}
    sentences = models.answer(asked)["sentences"]
    assert all("pos=NOUN" in each["words"][0]["features"] for each in sentences)
    assert all(each["text"].startswith("Les ") for each in sentences)
    assert models.answer(asked)["sentences"] == sentences


def test_what_is_switched_off_says_nothing_in_what_the_model_writes(models):
    """With every feature off all that is left is the background, which no beginning changes."""
    asked = {"ask": "write", "model": "ll-rnn"}
    families = models.answer({"ask": "about", "model": "ll-rnn"})["families"]

    def written(start: str, off: list[str]) -> list[list[dict]]:
        answer = models.answer({**asked, "start": start, "off": off})
        return [sentence["words"] for sentence in answer["sentences"]]

    assert written("Les", families) == written("La", families)
    assert written("Les", []) != written("La", [])
    assert written("Les", ["Number"]) != written("Les", [])


def test_a_beginning_ends_in_a_gap_and_nothing_is_a_text_too(models):
    gap = models.answer({"ask": "read", "model": "rnn", "text": "Les chiens …"})
    assert gap["gap"]
    assert [word["form"] for word in gap["words"]] == ["Les", "chiens", ""]
    for nothing in ("", "  ", "…"):
        empty = models.answer({"ask": "read", "model": "rnn", "text": nothing})
        assert len(empty["words"]) == 1
        assert empty["gap"]  # no sentence ends before its first word


HOSTILE = ["<script>alert(1)</script>", "👩‍👩‍👧 🇫🇷", "שלום عالم", "a\u0000b \u202e c", "\n\t", "…"]


@pytest.mark.parametrize("text", HOSTILE)
def test_any_text_has_an_answer_in_json(models, text):
    answer = models.answer({"ask": "read", "model": "ll-rnn", "text": text})
    json.dumps(answer, allow_nan=False)
    json.dumps(models.answer({"ask": "place", "model": "ll-rnn", "text": text, "at": 0}))


@pytest.mark.parametrize(
    "question", [{"ask": "read", "text": "a \ud800"}, {"ask": "write", "start": "\ud800"}]
)
def test_half_of_a_character_is_refused(models, question):
    with pytest.raises(ValueError, match="expected text in UTF-8"):
        models.answer({"model": "ll-rnn", **question})


@pytest.mark.parametrize(
    ("question", "said"),
    [
        (None, "ask: expected one of read, expect, place, readings, check, write, about, card"),
        ({"ask": "read", **ASK, "on": []}, "read: unknown key 'on'"),
        ({"ask": "read", "model": "ll-rnn", "text": 3}, "read.text: expected str, got 3"),
        ({"ask": "read", **ASK, "off": ["Size"]}, "to switch off; got Size"),
        ({"ask": "read", **ASK, "model": "gpt"}, "one of the models ll-rnn, rnn; got 'gpt'"),
        ({"ask": "place", **ASK, "at": 99}, "expected a place from 0 to 6, got 99"),
        ({"ask": "read", "model": "rnn", "text": "mot " * 1_001}, "at most 1,000 words, got 1,001"),
        ({"ask": "read", "model": "rnn", "text": "a" * 20_001}, "at most 20,000 characters"),
    ],
)
def test_what_cannot_be_meant_is_refused(models, question, said):
    with pytest.raises(ValueError, match=said):
        models.answer(question)
