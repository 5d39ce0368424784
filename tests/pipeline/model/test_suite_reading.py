"""Suites as people have them: read as `score` reads, in any of their forms, faults all at once."""

import json

import numpy as np
import pandas as pd
import pytest

import accord
from accord.pipeline.model.metrics import SCORINGS
from accord.pipeline.model.suites import Pair, read_suite, suite_name
from accord.pipeline.study.agreement import distinct_scorings, groups, judged, of_different_lengths


def written(folder, name, text):
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    return str(folder)


def margin(scorer, pair, by):
    """Of one pair, from two sentences that `score` scored, words chosen by a function."""
    good, bad = (scorer.score(text) for text in pair)
    return sum(w.log_p for w in by(good)) - sum(w.log_p for w in by(bad))


def test_a_suite_is_read_anew_when_it_changes(tmp_path):
    texts = [f"True\t{one} chat dort .\nFalse\t{one} chat dorment .\n" for one in ("le", "un")]
    for text in texts:
        suite = written(tmp_path / "mine", "verbes.txt", text)
        first = read_suite(suite)
        assert first.pairs == (Pair("verbes", *text.replace("\t", "\n").splitlines()[1::2]),)
        assert read_suite(suite) == first
    assert read_suite(suite, lowercase=True) == first


def test_a_full_stop_is_a_word_of_its_own_as_score_has_it(tiny_run, tmp_path):
    raw = ("Le chien de l'homme dort.", "Le chien de l’homme dorment.")
    suite = written(tmp_path / "mine", "Verbes.txt", f"True\t{raw[0]}\nFalse\t{raw[1]}\n")
    (pair,) = read_suite(suite).pairs
    assert pair == Pair("Verbes", "Le chien de l' homme dort .", "Le chien de l' homme dorment .")
    scorer = accord.load(tiny_run.folder, "ll-rnn")
    (found,) = judged([tiny_run.folder], read_suite(suite))["ll-rnn"].margins
    assert found[0] == pytest.approx(margin(scorer, raw, lambda words: words), abs=1e-4)
    assert found[1] == pytest.approx(margin(scorer, raw, lambda words: words[5:6]), abs=1e-4)


def test_a_mark_of_byte_order_and_no_break_spaces_are_no_fault(tmp_path):
    text = "\ufeffTrue\tun\u00a0chat dort\u202f!\r\nFalse\tun chat dorment !\r\n"
    suite = written(tmp_path / "mine", "a.txt", text)
    assert read_suite(suite).pairs == (Pair("a", "un chat dort !", "un chat dorment !"),)


TABLE = "good;bad;construction;animacy\nun chat;une chat;genre;1\nIl dort.;Il dorment.;verbe;2\n"
OBJECTS = [
    {"sentence_good": "un chat", "sentence_bad": "une chat", "UID": "genre", "animacy": 1},
    {"sentence_good": "Il dort.", "sentence_bad": "Il dorment.", "UID": "verbe", "animacy": 2},
]


@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl"])
def test_tables_and_json_lines_are_suites(tmp_path, form):
    text = {
        "csv": TABLE,
        "tsv": TABLE.replace(";", "\t"),
        "jsonl": "\n".join(map(json.dumps, OBJECTS)) + "\n",
    }[form]
    path = f"{written(tmp_path, f'mine.{form}', text)}/mine.{form}"
    suite = read_suite(path)
    assert suite.pairs == (
        Pair("genre", "un chat", "une chat"),
        Pair("verbe", "Il dort .", "Il dorment ."),
    )
    assert suite_name(path) == "mine"
    assert groups(suite, "construction").tolist() == ["genre", "verbe"]
    assert groups(suite, "animacy").tolist() == ["genre, animacy 1", "verbe, animacy 2"]
    assert groups(suite, "animacy", pooled=True).tolist() == ["animacy 1", "animacy 2"]
    crossed = groups(suite, "animacy, length", pooled=True).tolist()
    assert crossed == ["animacy 1, length equal", "animacy 2, length equal"]
    with pytest.raises(ValueError, match=r"does not say 'anymacy'.*the nearest is 'animacy'"):
        groups(suite, "anymacy")


NO_PAIRS = "expected pairs of sentences, found none"


@pytest.mark.parametrize(
    ("name", "text", "faults"),
    [
        (
            "bad.txt",
            "True\tbon\nFaux\tmauvais\nFalse\tmauvais\nTrue\tbon\nFalse mauvais\nTrue\tbon\n",
            [
                r"line 2: expected False, a tab and a sentence; got 'Faux\tmauvais'",
                r"line 3: expected True, a tab and a sentence; got 'False\tmauvais'",
                "line 5: expected False, a tab and a sentence; got 'False mauvais'",
                "line 6: expected a False line at the end, after 'bon'",
            ],
        ),
        ("bad.txt", "True\tbon\nFalse\tbon\nTrue\tcœur\nFalse\tcoeur\n", [NO_PAIRS]),
        ("bad.txt", "", [NO_PAIRS]),
    ],
)
def test_every_faulty_line_is_reported_at_once(tmp_path, name, text, faults):
    suite = written(tmp_path / "mine", name, text)
    with pytest.raises(ValueError, match="mine") as caught:
        read_suite(suite)
    said = str(caught.value).splitlines()
    assert len(said) == len(faults)
    for line, fault in zip(said, faults, strict=True):
        assert fault in line


CONTEXT = "True\tle chat dort .\nFalse\tles chats dort .\nTrue\til dort\nFalse\til ne dort pas\n"


def test_where_only_the_context_differs_the_word_behind_it_is_compared(tiny_run, tmp_path):
    suite = written(tmp_path / "mine", "sujet.txt", CONTEXT)
    asked = judged([tiny_run.folder], read_suite(suite))
    scorer = accord.load(tiny_run.folder, "rnn")
    found = pd.DataFrame(asked["rnn"].margins, columns=SCORINGS)
    first, second = (("le chat dort .", "les chats dort ."), ("il dort", "il ne dort pas"))
    region = [margin(scorer, first, lambda words: words[:2])]
    good, bad = scorer.score(second[0]), scorer.score(second[1])
    # Good has no word that bad lacks in between: all of `dort` and `ne dort pas` is compared.
    region.append(good[1].log_p - sum(word.log_p for word in bad[1:4]))
    behind = [margin(scorer, first, lambda words: words[2:3]), good[2].log_p - bad[4].log_p]
    np.testing.assert_allclose(found["critical region"], region, atol=1e-4)
    np.testing.assert_allclose(found["word behind it"], behind, atol=1e-4)
    mean = [sum(w.log_p for w in words) / len(words) for words in (good, bad)]
    assert found["whole sentence per word"][1] == pytest.approx(mean[0] - mean[1], abs=1e-4)
    assert of_different_lengths(asked) == 1
    assert distinct_scorings(asked) == [0, 1, 2, 3, 4]
