"""Corrections: a gain is a difference of log p, its reasons sum to it, counts are precision."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import accord
from accord.lexicon.dictionaries.lexique import Homophones, Spoken
from accord.pipeline.cli.main import app
from accord.pipeline.correction.confuse import INFLECTED, OTHER_WORD, plant
from accord.pipeline.correction.correct import (
    AFTERWARDS,
    Corrector,
    JudgedCorrections,
    KnownParadigms,
    Suggestion,
    readable,
)
from accord.pipeline.evaluation.suites import Pair
from accord.pipeline.inference.explain import SPELLED
from accord.pipeline.inference.scorer import bundled

SOUNDS = [
    *(Spoken("petite", "petit", "p°tit", 9.0), Spoken("petites", "petit", "p°tit", 5.0)),
    *(Spoken("fille", "fille", "fij", 9.0), Spoken("filles", "fille", "fij", 5.0)),
    *(Spoken("et", "et", "e", 9.0), Spoken("est", "être", "e", 5.0)),
]


@pytest.fixture(scope="module", params=["rnn", "ll-rnn"])
def corrector(trained, request):
    return Corrector(accord.load(trained, request.param), Homophones(SOUNDS))


def test_candidates_sound_the_same_or_agree_otherwise(corrector):
    assert "est" in corrector.candidates("et"), "a homophone"
    assert {"petit", "petits", "petites"} <= set(corrector.candidates("petite"))
    assert "mangent" in corrector.candidates("mange"), "another person or number"
    assert "manger" not in corrector.candidates("mange"), "another mood"
    assert "le" not in corrector.candidates("du"), "a contraction is no form of its parts"
    assert corrector.candidates("xyzzy") == corrector.candidates(",") == []


@pytest.mark.slow
def test_words_whose_lemma_is_only_guessed_are_not_forms_of_one_another(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("".join(f"Les {one}{two}ettes dorment.\n" for one in "bdfg" for two in "aiou"))
    analyse = {"analyse.lexicon": ["closed", "tiny", "guesser"], "analyse.protocol": "closed"}
    settings = {"corpus.source": str(text), "train.epochs": 1} | analyse
    run = accord.run("tiny", set=settings, models=["rnn"], until="evaluate", runs=tmp_path)
    corrector = Corrector(accord.load(run.folder), Homophones([]))
    analyses = corrector.scorer.parts.analyses(KnownParadigms.COLUMNS)
    guessed = analyses[analyses["lemma"].astype(str) == ""]
    assert len(guessed) > 10
    forms = corrector.scorer.vocabulary.forms
    assert not any(corrector.candidates(forms[word]) for word in guessed["word"])


def test_a_gain_is_a_difference_of_log_p_and_its_reasons_sum_to_it(corrector):
    words = ["les", "petite", "filles", "dorment", "."]
    (best,) = corrector.best([words])
    before, after = (
        sum(word.log_p for word in scored)
        for scored in corrector.scorer.score_words([words, best.made(words)])
    )
    assert best.gain == pytest.approx(after - before, abs=1e-4)
    reasons = corrector.reasons(words, best)
    assert sum(reasons.values()) == pytest.approx(best.gain, abs=1e-4)
    assert reasons[AFTERWARDS] == pytest.approx(best.gain - best.here, abs=1e-6)


def test_what_spelling_gives_a_word_is_a_reason_of_its_own():
    """A rare form has most of its probability by its letters; no other reason may hide that."""
    corrector = Corrector(bundled(), Homophones([]))
    words = ["la", "petite", "galeriez"]
    before, after = bundled().score_words([words, ["la", "petite", "galerie"]])
    gain = sum(word.log_p for word in after) - sum(word.log_p for word in before)
    here = after[2].log_p - before[2].log_p
    reasons = corrector.reasons(words, Suggestion(2, "galeriez", "galerie", gain, here))
    assert reasons[SPELLED] < -9
    assert reasons[AFTERWARDS] == pytest.approx(gain - here, abs=1e-4)
    assert sum(reasons.values()) == pytest.approx(gain, abs=1e-4)


def test_reasons_say_which_of_the_two_words_has_a_feature(trained):
    corrector = Corrector(accord.load(trained, "ll-rnn"), Homophones(SOUNDS))
    words = ["les", "petite", "filles", "dorment", "."]
    suggestion = Suggestion(place=1, word="petite", other="petites", gain=0.0, here=0.0)
    reasons = corrector.reasons(words, suggestion)
    assert {"not Number=Sing", "Number=Plur"} <= reasons.keys()
    assert not {"Number=Sing", "not Number=Plur", "pos=ADJ", "not pos=ADJ"} & reasons.keys()


def test_no_candidate_of_any_place_gains_more(corrector):
    words = ["la", "petite", "filles", "mange", "une", "pomme", "."]
    (best,) = corrector.best([words])
    texts = [
        [*words[:place], other, *words[place + 1 :]]
        for place, word in enumerate(words)
        for other in corrector.candidates(word)
    ]
    most = max(sum(word.log_p for word in text) for text in corrector.scorer.score_words(texts))
    chosen = sum(word.log_p for word in corrector.scorer.score_words([best.made(words)])[0])
    assert chosen == pytest.approx(most, abs=1e-4)


def test_names_stay_and_a_capital_is_kept(corrector):
    assert corrector.best([["oh", "Petite", "Fille"]]) == [None]
    (best,) = corrector.best([["Petite", "Fille"]])
    assert best.place == 0
    assert best.other[0] == "P"


def test_an_infinite_margin_lets_nothing_pass(corrector):
    assert corrector.corrections(["les", "petite", "filles", "dorment", "."], np.inf) == []


def test_planted_errors_are_one_word_that_sounds_the_same():
    words = [["Petite", "fille", "et", "chat"], ["Paris", "dort"]] * 20
    table = plant(words, Homophones(SOUNDS))
    assert len(table) == 20, "in Paris dort nothing sounds like another word"
    assert {(row.construction, row.bad) for row in table.itertuples()} == {
        (INFLECTED, "Petite filles et chat"),
        (OTHER_WORD, "Petite fille est chat"),
    }
    assert table.equals(plant(words, Homophones(SOUNDS)))
    with pytest.raises(ValueError, match="expected sentences with words that sound like others"):
        plant([["Paris", "dort"]], Homophones(SOUNDS))


def test_precision_and_recall_are_counted_as_they_are_defined():
    judged = JudgedCorrections(
        construction=np.array(["a", "a", "b", "b"]),
        wrong_gain=np.array([5.0, 3.0, 8.0, -np.inf]),
        repaired=np.array([True, True, False, False]),
        right_gain=np.array([1.0, -2.0, 4.0, -np.inf]),
    )
    figures = judged.figures(2.0)
    assert (figures["precision"], figures["recall"]) == (2 / 4, 2 / 4)
    assert judged.figures(2.0, "a")["precision"] == 1
    assert np.isnan(judged.figures(9.0)["precision"])
    best = judged.figures(judged.tuned())["F0.5"]
    assert all(best >= judged.figures(margin)["F0.5"] for margin in (0, 1, 2, 3, 4, 5, 8))


def test_the_right_sentence_of_a_pair_is_found_by_its_repair(corrector):
    pair = Pair("number", "les petites filles dorment .", "les petite filles dorment .")
    judged = JudgedCorrections.of([pair], corrector)
    assert judged.repaired.tolist() == [
        corrector.best([pair.bad.split()])[0].made(pair.bad.split()) == pair.good.split()
    ]


@pytest.mark.slow
def test_pairs_that_a_closed_vocabulary_cannot_read_are_left_out(tmp_path):
    set = {"train.epochs": 1, "analyse.protocol": "closed"}
    run = accord.run("tiny", set=set, models=["ll-rnn"], until="evaluate", runs=tmp_path)
    scorer = accord.load(run.folder)
    known = Pair("number", "la fille dort", "la filles dort")
    unknown = Pair("number", "la schtroumpfette dort", "la schtroumpfettes dort")
    assert readable([known, unknown], scorer) == [known]
    with pytest.raises(ValueError, match="expected pairs of words that the model knows"):
        readable([unknown], scorer)


@pytest.fixture
def small_lexique(tmp_path, monkeypatch):
    """A file as Lexique's, with a few words in it."""
    names = ["1_ortho", "2_phon", "3_lemme", "4_cgram", "9_freqfilms2", "10_freqlivres"]
    rows = [[s.form, s.sound, s.lemma, "NOM", str(s.count), "0,5"] for s in SOUNDS]
    (tmp_path / "lexique").mkdir()
    text = "".join("\t".join(row) + "\n" for row in [names, *rows])
    (tmp_path / "lexique" / "Lexique383.txt").write_text(text, encoding="cp1252")
    monkeypatch.setenv("ACCORD_DATA", str(tmp_path))


def test_the_commands(trained, small_lexique, tmp_path):
    sentence = "La petites fille mange une pomme."
    command = ["correct", sentence, "--run", str(trained), "--margin", "1"]
    done = CliRunner().invoke(app, [*command, "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.output)["suggestions"]
    assert "petites" in {sentence[each["start"] : each["end"]] for each in found}
    assert all(sum(each["why"].values()) == pytest.approx(each["gain"]) for each in found)
    small = accord.export(trained, "ll-rnn", tmp_path / "small", compact=True)
    asked = ["correct", sentence, "--run", str(small), "--margin", "1", "--json"]
    of_small = json.loads(CliRunner().invoke(app, asked).output)["suggestions"]
    assert [each["suggestion"] for each in of_small] == [each["suggestion"] for each in found]
    shown = CliRunner().invoke(app, command).output
    assert "| petites |" in shown and "in 1 sentence" in shown
    suite = tmp_path / "planted.csv"
    made = CliRunner().invoke(app, ["suite", "plant", "tiny", "--to", str(suite), "--limit", "30"])
    assert made.exit_code == 0, made.output
    measured = CliRunner().invoke(app, ["corrections", str(suite), "--run", str(trained)])
    assert measured.exit_code == 0, measured.output
    assert "| all " in measured.output
