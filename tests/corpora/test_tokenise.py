"""French words: the hard cases, and what holds of any text, at a cost that grows as its length."""

import unicodedata
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.corpora import sources
from accord.corpora.text import words as words_of
from accord.corpora.tokenise import (
    LONGEST_REMEMBERED,
    MOST_MARKS,
    _remembered,
    comparable,
    normalise,
    tokenised,
)

# The words of each text, between bars.
HARD_CASES = """
    l'arbre qu'il a vu -> l'|arbre|qu'|il|a|vu
    l’arbre -> l'|arbre
    L'homme d'aujourd'hui -> L'|homme|d'|aujourd'hui
    Aujourd’hui, il part. -> Aujourd'hui|,|il|part|.
    lorsqu'elle, jusqu'à -> lorsqu'|elle|,|jusqu'|à
    quelqu'un entr'ouvrit -> quelqu'un|entr'ouvrit
    presqu'île, presqu'aveugle -> presqu'île|,|presqu'|aveugle
    prud'homme et grand'mère -> prud'homme|et|grand'mère
    l' arbre -> l'|arbre
    'mot' -> '|mot|'
    va-t-il ? -> va|-t-il|?
    Y a-t-on pensé -> Y|a|-t-on|pensé
    est-elle là, est-il là -> est|-elle|là|,|est|-il|là
    qu'est-ce que -> qu'|est|-ce|que
    donne-le-moi ! -> donne|-le|-moi|!
    va-t'en, allez-vous-en -> va|-t'|en|,|allez|-vous|-en
    vas-y, prends-en -> vas|-y|,|prends|-en
    ce jour-là -> ce|jour|-là
    celui-ci, jusque-là -> celui-ci|,|jusque-là
    un arc-en-ciel là-bas -> un|arc-en-ciel|là-bas
    chef-d'œuvre, rendez-vous -> chef-d'oeuvre|,|rendez-vous
    moi-même, peut-être, mots-clés -> moi-même|,|peut-être|,|mots-clés
    c'est-à-dire, c.-à-d. -> c'est-à-dire|,|c.-à-d.
    le qu'en-dira-t-on -> le|qu'en-dira-t-on
    Saint-Étienne, Paris-Match -> Saint-Étienne|,|Paris-Match
    50 000 personnes -> 50 000|personnes
    50\u202f000 personnes -> 50 000|personnes
    50\u00a0000, puis 1 000 000. -> 50 000|,|puis|1 000 000|.
    1 234 567,89 € -> 1 234 567,89|€
    en 2010 300 personnes -> en|2010|300|personnes
    le 01 42 3456, code 75 0140 -> le|01|42|3456|,|code|75|0140
    3,5 km et 20 % -> 3,5|km|et|20|%
    1990-1995 -> 1990|-|1995
    10 m² -> 10|m²
    20°C à 15h, 10h30 -> 20|°C|à|15|h|,|10h30
    en 50 av. J.-C. -> en|50|av.|J.-C.
    n° 5, nº5 -> n°|5|,|n°|5
    bois, fer, etc. -> bois|,|fer|,|etc.
    (bois, etc.). -> (|bois|,|etc.|)|.
    (chap. 8) -> (|chap.|8|)
    M. Dupont et MM. Durand -> M.|Dupont|et|MM.|Durand
    une oeuvre d'art. -> une|oeuvre|d'|art|.
    la S.N.C.F. -> la|S.N.C.F.
    XIXᵉ siècle -> XIXe|siècle
    « Bonjour » -> «|Bonjour|»
    «C'est l'ami.» -> «|C'|est|l'|ami|.|»
    "l'ami" -> "|l'|ami|"
    les ami(e)s, quel(le) -> les|ami(e)s|,|quel(le)
    qu'il(s) vienne(nt) -> qu'|il(s)|vienne(nt)
    et/ou -> et|/|ou
    mot—autre… -> mot|—|autre|...
    ex æquo, cœur, ﬁn -> ex|aequo|,|coeur|,|fin
    Elle vole 👩🏽‍🚀 ! -> Elle|vole|👩🏽‍🚀|!
    oui👩‍👩‍👧‍👦non 🏳️‍🌈. -> oui|👩‍👩‍👧‍👦|non|🏳️‍🌈|.
    ❤️👍🏽😀 -> ❤️|👍🏽|😀
    nav\u200digue\u200d👩\u200d ! -> navigue|👩|!
""".strip().splitlines()


@pytest.mark.parametrize("case", HARD_CASES, ids=str.strip)
def test_hard_cases(case):
    text, _, expected = case.strip().partition(" -> ")
    assert list(tokenised([text])) == [tuple(expected.split("|"))]


french = st.text("abélàçœ'’- .,!«»()0123456789 \u00a0\u202f–\u0301\u00ad", max_size=60)
emoji = st.text("👩🚀🏽❤←№a \ufe0f\u0338\u200b\u200d", max_size=20)


@given(st.text() | french | emoji)
def test_normalising_twice_changes_nothing(text):
    once = normalise(text)
    assert normalise(once) == once


@given(st.text() | french | emoji)
def test_no_character_is_lost(text):
    (words,) = tokenised([text])
    assert "".join(words).replace(" ", "") == normalise(text).replace(" ", "")
    assert all(word.strip() == word != "" for word in words)


def pieces(words: tuple[str, ...]) -> set[tuple[int, str]]:
    """Each word with the place of its first character, spaces apart."""
    found, place = set(), 0
    for word in words:
        found.add((place, word))
        place += len(word.replace(" ", ""))
    return found


def test_words_are_those_of_a_gold_treebank(fetched):
    sentences = list(sources.read("ud-french-sequoia", folder=fetched))
    ours = tokenised(sentence.text for sentence in sentences)
    right = made = 0
    for sentence, words in zip(sentences, ours, strict=True):
        gold = tuple(map(normalise, words_of(sentence.rows, "surface")))
        right += len(pieces(gold) & pieces(words))
        made += len(words)
    assert right / made > 0.99


@pytest.mark.parametrize(
    "piece", ["a", "(", ".", "l'", "⺀", "-la", "a.", ":", "a@a.", "a(e)s)", "👩‍🚀"]
)
def test_a_text_without_a_space_is_no_work_for_minutes(piece):
    """Its length is such that who asked all of it about every affix would not come to an end."""
    text = piece * (50_000 // len(piece))
    (words,) = tokenised([f"({text}x.{text}"])
    assert "".join(words) == f"({text}x.{text}"


def test_long_chunks_are_not_remembered():
    before = _remembered.cache_info()
    list(tokenised(["a" * (LONGEST_REMEMBERED + 1)]))
    assert _remembered.cache_info() == before


def longest_run(text: str) -> int:
    """Marks in a row: the work of sorting them is the square of it."""
    runs = groupby(text, key=lambda letter: unicodedata.combining(letter) > 0)
    return max((len(list(run)) for is_mark, run in runs if is_mark), default=0)


@pytest.mark.parametrize(
    "marks",
    [
        "\u0301\u0316",
        "\u0301\u200d\u0316",  # whose joiner is dropped, so that the marks meet
        "\u0344",  # two marks in one
        "\u0301\U0001e94a",
    ],
)
def test_marks_in_a_row_are_as_many_as_unicode_allows(marks):
    text = "e" + marks * 50_000
    once = normalise(text)
    assert longest_run(once) <= MOST_MARKS
    assert normalise(once) == once
    kept = [letter for letter in once if letter != "\u034f"]
    assert len(kept) >= 49_000, "no mark is lost, but for those composed"


def test_what_people_write_stays_as_it_is():
    assert normalise("e\u0301te\u0301") == "été"
    stacked = "o" + "\u0316\u0301" * (MOST_MARKS // 2)
    assert "\u034f" not in normalise(stacked)


def test_a_word_of_another_script_is_no_run_of_marks():
    assert normalise("я" * 1000) == "я" * 1000


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Il dort.", "il  dort ."),
        ("L’œuvre d’art…", "l' oeuvre d'ART..."),
        ("« Où va-t-il ? »", "«\u00a0Où va -t-il\u202f?\u00a0»"),
        ("e\u0301te\u0301", "été"),
    ],
)
def test_copies_of_a_sentence_are_comparable_by_what_their_words_have_in_common(one, other):
    assert comparable(one) == comparable(other)
    for text in (one, other):
        (words,) = tokenised([text])
        assert comparable("".join(words)) == comparable(text)
    assert comparable(one) != comparable(f"{one} !")
