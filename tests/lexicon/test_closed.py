"""Closed classes, and forms of any length at a cost that grows as it."""

import pytest
from operations import calls, grows_as_its_size, is_linear

from accord import lexicon
from accord.lexicon.analysis import LONGEST, plain
from accord.lexicon.closed import SIGNS, WORDS, Closed, signs, words
from accord.lexicon.index import Report
from accord.lexicon.tables import read_table

CLASSES = {
    "ADP DET": ["du", "aux"],
    "ADP PRON": ["desquelles"],
    "PRON SCONJ ADV": ["qu'"],
    "DET PRON": ["L'"],
    "PRON": ["-t-il", "-ce", "-moi"],
    "NUM": ["quatre-vingt-dix-sept", "3,5", "10 000", "12/03/1999", "14h30", "XIV"],
    "ADJ": ["XIVe", "Ier", "3e", "1re"],
    "PUNCT": ["«", "..."],
    "SYM": ["€", "%", ":)"],
    "NOUN": ["Mme"],
    "ADV": ["etc."],
    "PROPN": ["U.S.A."],
    "X": ["www.exemple.fr", "κόσμος", "the"],
    "": ["vie", "Paris", "maison"],
}
UPOS_OF = {form: {*upos.split()} for upos, forms in CLASSES.items() for form in forms}


def test_the_words_are_a_sound_table_and_each_reading_stands_once():
    rows = list(read_table(WORDS, Report(WORDS, strict=True)))
    assert [row[:4] for row in rows] == [
        (form, *each[:3]) for form, analyses in words().items() for each in analyses
    ]
    assert len(words()) > 300


@pytest.mark.parametrize("form", UPOS_OF)
def test_class(form):
    assert {each.upos for each in Closed().analyses(form)} == UPOS_OF[form]


def test_signs_are_listed_as_words_are_and_say_what_their_class_says():
    closed = Closed()
    assert {*".?!€«»", "..."} <= {*closed}
    assert all(closed.analyses(sign) == signs(sign) for sign in SIGNS.split())
    assert "☺" not in {*closed} and closed.analyses("☺"), "any other has its analysis all the same"


@pytest.mark.parametrize(("form", "upos"), [("xive", "ADJ"), ("xiv", "NUM"), ("u.s.a.", "PROPN")])
def test_shapes_of_a_lowercased_text(form, upos):
    assert [each.upos for each in Closed(lowercase=True).analyses(form)] == [upos]
    assert not Closed(lowercase=True).analyses("vie")


@pytest.mark.parametrize("lowercase", [False, True])
def test_lookup_and_analyses_say_the_same(lowercase):
    closed = Closed(lowercase)
    forms = [*UPOS_OF, *closed, "1ER", "WWW.A.FR", "xl", "mcmxc", "ire", "dvi", "LXVe"]
    rows = closed.lookup(forms)
    for place, form in enumerate(forms):
        of_form = rows[rows["word"] == place]
        assert list(zip(of_form["lemma"], of_form["upos"], of_form["feats"], strict=True)) == [
            each[:3] for each in closed.analyses(form)
        ]


SHAPES = ("a", "1.", "1-", "A.", "I", "x-", "я", "deux-", "a@")


@pytest.fixture(scope="module")
def chain():
    return lexicon.load(["closed", "tiny", "guesser"], folder=None)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.slow
def test_lookup_and_guess(chain, shape):
    def ask(length: int) -> None:
        form = (shape * length)[:length] + "!?"
        chain.lookup([form])
        chain.analyses(form)

    ask(10)  # in which libraries are loaded
    assert is_linear(lambda length: calls(lambda: ask(length)), 20_000)
    assert grows_as_its_size(ask, 5_000)  # regular expressions too
    assert chain.analyses((shape * 20_000)[:20_000])


def test_marks_are_composed_where_a_word_could_have_them():
    assert plain("e\u0301te\u0301") == "été"
    zalgo = "e" + "\u0316\u0301" * LONGEST
    assert plain(zalgo) == zalgo, "to sort so many would take the square of their number"
