"""`accord agree` and `accord suite make`: shares with Wilson's interval, models side by side."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import pearsonr

import accord
from accord.lexicon import load
from accord.pipeline.data.catalogue import folder_of
from accord.pipeline.model.find import BUNDLED_FOLDER
from accord.pipeline.model.metrics import wilson
from accord.pipeline.model.suites import encode_suite, read_suite, words_of
from accord.pipeline.model.words import Vocabulary
from accord.pipeline.study.agreement import (
    JudgedSuite,
    find_words,
    groups,
    items,
    judged,
    side_by_side,
    with_people,
)


def test_wilsons_interval_is_the_one_worked_out_by_hand():
    # 8 of 10, z² = 3.841459: centre (0.8 + 0.1920729) / 1.3841459 = 0.7167402,
    # half 1.959964 · √(0.016 + 0.00960365) / 1.3841459 = 0.2265776.
    assert wilson(8, 10) == pytest.approx((0.4901625, 0.9433178), abs=1e-6)
    assert wilson(0, 5) == pytest.approx((0, 0.4344825), abs=1e-6)
    low, high = wilson(5, 5)
    assert low == pytest.approx(1 - 0.4344825, abs=1e-6) and high == pytest.approx(1)


@pytest.mark.parametrize(
    ("known", "rows"),
    [("abcd", ["0.500 [0.095, 0.905]", "–", "0.500", "0", "1"]), ("x", ["–", "–", "–", "–", "3"])],
)
def test_the_table_counts_what_was_judged_and_what_could_not_be(tmp_path, known, rows):
    (tmp_path / "one.txt").write_text("True\ta b\nFalse\ta c\nTrue\ta d\nFalse\ta b\n")
    (tmp_path / "two.txt").write_text("True\tb\nFalse\tx\n")
    written, forms = read_suite(str(tmp_path)), ["</s>", *known]
    ids = {form: number for number, form in enumerate(forms) if number}
    suite = encode_suite(written.pairs, Vocabulary(forms, ids, [], None))
    margins = np.where(suite.known[:, None], [[1.0, -1.0], [-1.0, -1.0], [0.0, 0.0]], np.nan)
    table = side_by_side({"m": JudgedSuite(suite, margins)}, groups(written, "construction"), 0)
    assert table.values.T.tolist() == [
        ["one", "two", "mean of the rows", "ties", "pairs with unknown words"],
        ["2", "1", "", "", ""],
        rows,
    ]


def test_margins_are_held_against_what_people_said(tmp_path):
    subjects = ("La fille", "Le chat", "Les amis", "Une femme", "Des enfants", "Le roi")
    rows = [
        (f"{subject} {verb} là.", f"{subject} {wrong} là.")
        for subject in subjects
        for verb, wrong in (("est", "sont"), ("dort", "dorment"))
    ]
    path = tmp_path / "pairs.csv"
    table = pd.DataFrame(rows, columns=["good", "bad"])
    table.to_csv(path, index=False)
    asked = judged([BUNDLED_FOLDER], read_suite(str(path)))
    margin = next(iter(asked.values())).margins[:, 0]
    table["people"] = 0.5 + margin / 100  # people who are as sure as the model
    table["others"] = np.random.default_rng(1).random(len(table))
    table.to_csv(path, index=False)
    found = with_people(asked, read_suite(str(path)), "people").iloc[0]
    assert found["r"] == found["ρ"] == "1.000" and found["pairs"] == "12"
    scattered = with_people(asked, read_suite(str(path)), "others").iloc[0]
    expected = np.corrcoef(margin, table["others"])[0, 1]
    assert float(scattered["r"]) == pytest.approx(expected, abs=1e-3)
    low, high = map(float, scattered["95 %"].split(" to "))
    exact = pearsonr(margin, table["others"]).confidence_interval()
    assert (low, high) == pytest.approx((exact.low, exact.high), abs=1e-3)
    with pytest.raises(ValueError, match=r"--people: .* does not say 'peopl'.*'people'"):
        with_people(asked, read_suite(str(path)), "peopl")


def suite_of(folder, *rows):
    path = folder / "sujets.csv"
    path.write_text("\n".join(["good,bad,target", *rows]) + "\n", encoding="utf-8")
    return read_suite(str(path))


def compared(suite, score, lexicon=None):
    """The words that are compared in the right sentences, and in the wrong ones."""
    places = find_words(suite, score, lexicon)
    return [
        tuple(
            " ".join(words_of(text)[begin:end]) if begin >= 0 else None
            for text, (begin, end) in ((pair.good, good), (pair.bad, bad))
        )
        for pair, good, bad in zip(suite.pairs, places.good, places.bad, strict=True)
    ]


@pytest.mark.parametrize(
    ("good", "bad", "verb"),
    [
        ("le chat dort", "les chats dort", "dort"),
        ("le chat de la petite ferme dort", "les chats de la petite ferme dort", "dort"),
        ("le chat que le voisin voit dort", "les chats que le voisin voit dort", "dort"),
        (
            "le chat des enfants qui dorment mange",
            "les chats des enfants qui dorment mange",
            "mange",
        ),
        ("l'enfant la voit.", "les enfants la voit.", "voit"),
        ("le chat de Mange dort", "les chats de Mange dort", "dort"),  # Mange: a name
        ("le chat noir", "les chats noir", None),  # no verb
    ],
)
def test_the_verb_is_the_one_that_agrees_with_the_right_subject(tmp_path, good, bad, verb):
    known = "le chat dort,les chats dort,"  # so that one pair has a verb
    suite = suite_of(tmp_path, f"{good},{bad},", known)
    assert compared(suite, "verb", load(["closed", "tiny"], folder=folder_of)) == [
        (verb, verb),
        ("dort", "dort"),
    ]


def test_the_word_is_the_one_that_a_column_names(tmp_path):
    suite = suite_of(
        tmp_path,
        "le chat que je vois dort,les chats que je vois dort,Dort",
        "dort-il car il dort,dort-elle car il dort,dort",  # not the one that both begin with
        "l'enfant s'endort,les enfants s'endort,s'endort",
        "le chat dort,les chats dort,mange",
        "le chat dort,les chats dort,",
    )
    assert compared(suite, "word:target") == [
        ("dort", "dort"),
        ("dort", "dort"),
        ("s' endort", "s' endort"),
        (None, None),
        (None, None),
    ]
    assert find_words(suite, "word:target", None).good[1].tolist() == [4, 5]


def test_log_p_of_the_word_is_compared_after_both_subjects(tiny_run, tmp_path):
    rows = ["Le chat que je vois dort.,Les chats que je vois dort.,dort"]
    rows.append("l'enfant s'endort,les enfants s'endort,s'endort")
    rows.append("le chat,les chat,")
    suite = suite_of(tmp_path, *rows)
    words = find_words(suite, "word:target", None)
    asked = judged([tiny_run.folder], suite, words)
    scorer = accord.load(tiny_run.folder, "ll-rnn")
    chosen = [slice(5, 6), slice(2, 4)]
    expected = [
        sum(
            sign * word.log_p
            for sign, text in ((1, line.good), (-1, line.bad))
            for word in scorer.score(text)[place]
        )
        for line, place in zip(suite.lines, chosen, strict=False)
    ]
    margin = asked["ll-rnn"].margins[:, 5]
    np.testing.assert_allclose(margin[:2], expected, atol=1e-4)
    assert np.isnan(margin[2]) and not np.isnan(asked["ll-rnn"].margins[:, :5]).any()
    shown = side_by_side(asked, groups(suite, "construction"), 5).set_index("word:target")
    assert shown.loc["pairs without such a word"].tolist() == ["", "1", "1"]
    share = (margin[:2] > 0).mean()
    assert shown.loc["sujets", "ll-rnn"].startswith(f"{share:.3f} ")
    table = items(asked, suite, words)
    assert table["word compared"].tolist() == ["dort", "s' endort", ""] * 2
    np.testing.assert_array_equal(table["word:target"][3:], margin)
