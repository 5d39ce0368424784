"""Pairs whose subject varies: the verb is found further on, and its log p compared."""

import numpy as np
import pytest

import accord
from accord.lexicon import load
from accord.pipeline.data.catalogue import folder_of
from accord.pipeline.evaluation.suites import read_suite, words_of
from accord.pipeline.study.agreement import find_words, groups, items, judged, side_by_side


def suite_of(folder, *rows):
    path = folder / "sujets.csv"
    path.write_text("\n".join(["good,bad,target", *rows]) + "\n", encoding="utf-8")
    return read_suite(str(path))


def found(suite, score, lexicon=None):
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
        ("le chat de la ferme dort", "les chats de la ferme dort", "dort"),  # ferme: a noun here
        ("le chat de la petite ferme dort", "les chats de la petite ferme dort", "dort"),
        ("le chat que le voisin voit dort", "les chats que le voisin voit dort", "dort"),
        ("le chat qui mange dort", "les chats qui mange dort", "mange"),
        (
            "le chat des enfants qui dorment mange",
            "les chats des enfants qui dorment mange",
            "mange",
        ),
        ("l'enfant la voit.", "les enfants la voit.", "voit"),
        ("le chat du voisin porte la table", "les chats du voisin porte la table", "porte"),
        ("le chat de Mange dort", "les chats de Mange dort", "dort"),  # Mange: a name
        ("le chat noir", "les chats noir", None),  # no verb
        ("le chat dort", "le chat dorment", None),  # nothing behind the difference
        ("il dort", "il dort bien", None),  # nor here
    ],
)
def test_the_verb_is_the_one_that_agrees_with_the_right_subject(tmp_path, good, bad, verb):
    known = "le chat dort,les chats dort,"  # so that one pair has a verb
    suite = suite_of(tmp_path, f"{good},{bad},", known)
    assert found(suite, "verb", load(["closed", "tiny"], folder=folder_of)) == [
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
    assert found(suite, "word:target") == [
        ("dort", "dort"),
        ("dort", "dort"),
        ("s' endort", "s' endort"),
        (None, None),
        (None, None),
    ]
    assert find_words(suite, "word:target", None).good[1].tolist() == [4, 5]


def test_a_score_that_is_none_is_refused(tmp_path):
    suite = suite_of(tmp_path, "le chat dort,les chats dort,mange")
    with pytest.raises(ValueError, match="has no such column; found target, construction"):
        find_words(suite, "word:verbe", None)
    with pytest.raises(ValueError, match="--score: expected verb or word:COLUMN, got 'noun'"):
        find_words(suite, "noun", None)
    with pytest.raises(ValueError, match="--score word:target: expected a word that both"):
        find_words(suite, "word:target", None)


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
