"""French words and sentences: the hard cases, what holds of any text, and spaCy as judge."""

import re
import unicodedata
from collections.abc import Iterable
from itertools import groupby

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from spacy.lang import char_classes
from spacy_french import spacy_words

from accord.corpora import sources, tokenise
from accord.corpora.segment import segment
from accord.corpora.text import words as words_of
from accord.corpora.tokenise import (
    LATIN,
    MOST_MARKS,
    SPELLINGS,
    WHOLE,
    comparable,
    cutter,
    detokenise,
    normalise,
    spans,
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


TEXTS = ("ud-french-1.4", "ud-french-sequoia", "wiktionnaire")
EVERY = 100  # of the sentences, in the ordinary test


def assert_as_spacy(texts: Iterable[str]) -> None:
    texts = list(texts)
    for text, ours, theirs in zip(texts, tokenised(texts), spacy_words(texts), strict=True):
        assert ours == theirs, text


@pytest.mark.parametrize("source", [text for text in TEXTS if text != "wiktionnaire"])
def test_words_of_a_sample_are_those_of_spacy(fetched, source):
    sentences = sources.read(source, folder=fetched)
    assert_as_spacy(each.text for number, each in enumerate(sentences) if number % EVERY == 0)


@pytest.mark.long
@pytest.mark.parametrize("source", TEXTS)
def test_words_of_every_sentence_are_those_of_spacy(fetched, source):
    assert_as_spacy(sentence.text for sentence in sources.read(source, folder=fetched))


# What the rules are about, to be strung together.
RULES = """
    -il -t-elle -t-on -là -m' -t' en y - -- – — ami EST (e) (s) ( ) [ ] « » " ' ’ . .. … , ; : ?
    1 25 000 3,5 % ° C km m² h € $ US$ + * = / # _ & < > www. accord.fr http:// a@b.fr 10.0.0.1
    8.8.8.8 :80 é Ω я 中 「 ⺀ ☃ 😀 👍🏽 👩‍🚀 🏳️‍🌈 ½
"""
PIECES = [*WHOLE, *RULES.split(), "\u2060", "\u200d", "\ufe0f", "\u00a0", " ", "  "]
strung = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)


def is_as_spacy(text: str) -> None:
    # There spaCy is stopped by `n °`, in which it sees the pieces of `n°`, from seeing `°C`.
    assume(not re.search(r"n\s*[°º][CF]", text, re.IGNORECASE))
    assert_as_spacy([text])


@pytest.mark.slow
@pytest.mark.parametrize("cases", [250, pytest.param(50_000, marks=pytest.mark.long)])
@pytest.mark.parametrize("strategy", [strung, st.text()], ids=["strung", "any"])
def test_words_of_odd_texts_are_those_of_spacy(strategy, cases):
    settings(max_examples=cases)(given(strategy)(is_as_spacy))()


def test_characters_are_those_of_spacy():
    """Every class of characters, asked of every character that Unicode assigns."""
    classes = ("ALPHA", "ALPHA_LOWER", "ALPHA_UPPER", "ICONS")
    spacy = (getattr(char_classes, name) for name in classes)
    for ours, theirs in zip(tokenise.characters(), spacy, strict=True):
        found, expected = ({*re.findall(f"[{each}]", ASSIGNED)} for each in (ours, theirs))
        assert found == expected


@settings(max_examples=300)
@given(st.text(st.characters(max_codepoint=LATIN - 1), min_size=1) | strung)
def test_rules_for_latin_letters_cut_latin_text_as_all_rules_do(text):
    for chunk in filter(lambda chunk: max(chunk) < chr(LATIN), text.split()):
        assert cutter(LATIN).words(chunk) == cutter().words(chunk)


ASSIGNED = "".join(c for c in map(chr, range(0x110000)) if unicodedata.category(c) != "Cn")
# A bar stands where a sentence ends; `‖` where no space stood there.
SEGMENTED = """
Il part. | Elle reste. | Pourquoi ? | Allez ! | Bon... | On verra…
Le bilan de 2019.‖Alors que l'été approche.‖"Nous voulons agir", dit-il.‖« Oui », répond-elle.
Le score est de 1.500 voix, soit 12.8 % au lieu de 9.2 %. | C'est peu.
Il a vu M. Macron, MM. Dupont et Durand, Mme. Royal et le Dr. Knock. | Puis il est parti.
Selon M. Le Drian et Mme Le Pen, J. K. Rowling et George W. Bush sont là.
Il n'a pas de plan B. | Le maire non plus.
Mohamed Hichem M. a été arrêté. | On cherche Hichem M. | Il a 24 ans.
« Il est tard. | Rentrons », dit-il. | « Vraiment ? » demanda-t-elle.
"Il est tard. | Rentrons !", dit-il. | "Oui." | Et il rentre.
Elle a dit "Non !"‖Il a dit "Oui".‖"Bon", a-t-elle dit.
Il y a le bœuf, le porc, etc. | Les autres aussi.
Voir p. 12 et cf. Durand (av. J.-C.). | Fin.
Il écrit (...) que tout va bien. | Elle répond [...] rien.
Voici la règle : deux choses ; Trois autres : Rien.‖Écrire à www.lemonde.fr ou à Booking.com.
Bertrand et Sarkozy au coude-à-coude‖L'ex-chef de l'État suit. | Braquage‖L'enquête commence.
"De vraies incohérences"‖Le suspect se tait. | Son visa refusé‖Lundi, le maire a parlé.
Il lit YouTube, l'iPhone, McDonald et BFMTV et la PMA. | #JeSuisCharlie pic.twitter.com/aBcDeF ici.
C'est fini. | - Silence des autorités -‖La branche locale se tait.‖- "Un pas" -‖"Bien", dit-il.
Selon nos confrères.‖275.000 élèves attendent. | 20 départements sont en alerte.
1. Un titre suit. | 2. Un autre aussi.
Finalement, il rentre chez lui...à pied. | Yahoo! est un site, et voilà. | Maman !! | Papa ?!
""".strip().splitlines()


@pytest.mark.parametrize("case", SEGMENTED)
def test_sentences_end_where_the_bars_stand(case):
    text = case.replace(" | ", " ").replace("‖", "")
    expected = case.replace("‖", " | ").split(" | ")
    assert segment(text) == expected


@pytest.mark.parametrize("text", ["", ".", '"', "A.", '""', "...A", "-", "«»", "M.M.", "1.1.1"])
def test_of_scraps_nothing_is_lost(text):
    assert "".join(segment(text)) == text


@pytest.mark.parametrize("character", [*".…-#(»\"'A1x"])
def test_a_long_run_of_anything_is_read_once(character):
    """A rule that tried each place of it anew would take minutes."""
    assert "".join(segment(character * 100_000)) == character * 100_000


# The text that each row of words, between bars, is to become.
SPACED = """
    l'|arbre|qu'|il|a|vu|. -> L'arbre qu'il a vu.
    «|c'|est|l'|ami|»|,|dit|-il|. -> « C'est l'ami », dit-il.
    va|-t-il|?|non|!|! -> Va-t-il ? non !!
    donne|-le|-moi|;|vas|-y|: -> Donne-le-moi ; vas-y :
    aujourd'hui|(|ou|demain|)|, -> Aujourd'hui (ou demain),
    le|mot|"|ami|"|et|le|mot|"|amie|"|. -> Le mot "ami" et le mot "amie".
    bois|,|fer|,|etc. -> Bois, fer, etc.
    et|/|ou|20|%|de|50 000|... -> Et/ou 20 % de 50 000...
    de|1990|-|1995|à|Saint-Étienne -> De 1990-1995 à Saint-Étienne
    ça|-|et|là|- -> Ça - et là -
""".strip().splitlines()


@pytest.mark.parametrize("case", SPACED, ids=str.strip)
def test_french_spacing(case):
    words, _, text = case.strip().partition(" -> ")
    assert detokenise(words.split("|")) == text
    (again,) = tokenised([text])
    assert [word.lower() for word in again] == words.lower().split("|")


@given(st.lists(st.text(min_size=1)))
def test_only_spaces_and_the_first_letter_change(words):
    text = detokenise(words)
    assert text.upper().replace(" ", "") == "".join(words).upper().replace(" ", "")


def test_real_text_comes_back(fetched):
    """Where it does not, the text itself leaves out a space (20%) or its capital."""
    path = fetched("ud-french-1.4") / "fr-ud-dev.conllu"
    texts = [" ".join(normalise(s.text).split()) for s in sources.read(str(path), folder=None)]
    words = list(tokenised(texts))
    back = [detokenise(each) for each in words]
    exact = sum(text == made for text, made in zip(texts, back, strict=True))
    again = sum(each == made for each, made in zip(words, tokenised(back), strict=True))
    assert len(texts) == 1596
    assert exact / len(texts) > 0.97
    assert again / len(texts) > 0.99


def written(text: str) -> list[str]:
    """The words of a text as they stand in it."""
    (found,) = tokenised([text])
    return [text[start:end] for start, end in spans(text, found)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Le cœur d’un Œdipe…", ["Le", "cœur", "d’", "un", "Œdipe", "…"]),
        ("\ufeff  Il a 50\u00a0000 €.", ["Il", "a", "50\u00a0000", "€", "."]),
        ("Va-t-il\u200b venir\u00a0?", ["Va", "-t-il", "venir", "?"]),
        ("L'e\u0301te\u0301 coo\u00adpère.", ["L'", "e\u0301te\u0301", "coo\u00adpère", "."]),
        ("Oui\u200d 👩🏽‍🚀👍\u200b\u200d!", ["Oui", "👩🏽‍🚀", "👍", "!"]),
        ("№ 3, l’XIXᵉ", ["№", "3", ",", "l’", "XIXᵉ"]),
    ],
)
def test_words_are_cut_out_as_they_were_written(text, expected):
    assert written(text) == expected


@given(st.lists(st.sampled_from(["".join(SPELLINGS.values()), "aéo '-.,|1", "e\u0301ô\u200b"])))
def test_a_text_of_odd_characters_is_covered_in_order(parts):
    text = " ".join("".join(part) for part in parts)
    (found,) = tokenised([text])
    places = spans(text, found)
    assert [end for _, end in places] == sorted(end for _, end in places)
    for word, (start, end) in zip(found, places, strict=True):
        cut = normalise(text[start:end]).replace(" ", "")
        assert word.replace(" ", "") in cut  # the whole of it, unless `…` falls apart


@given(st.text() | st.text("👩🚀🏽❤←№a \ufe0f\u0338\u200b\u200d"))
def test_any_text_is_aligned_with_its_own_normal_form(text):
    found = normalise(text).split()
    cut = [normalise(text[start:end]).replace(" ", "") for start, end in spans(text, found)]
    assert all(word in each for word, each in zip(found, cut, strict=True))


def test_words_have_the_same_places_with_any_apostrophe():
    """A text that is to be respelled takes another way."""
    for sentence in sources.read("tiny"):
        straight = f"L'ami  dit: {sentence.text} D'accord ?\u00a0"
        (words,) = tokenised([straight])
        assert spans(straight, words) == spans(straight.replace("'", "’"), words)
        assert [straight[start:end] for start, end in spans(straight, words)] == list(words)


def test_a_word_that_is_not_there_is_named():
    with pytest.raises(ValueError, match="expected the word 'chat' in 'le chien'; found 'chien'"):
        spans("le chien", ["le", "chat"])
    with pytest.raises(ValueError, match="expected no word after 'le'; found 'chien'"):
        spans("le chien", ["le"])


@pytest.mark.parametrize("source", ["ud-french-1.4", "ud-french-sequoia-2.16"])
def test_offsets_reproduce_every_word_of_the_treebanks_test_from_its_raw_text(fetched, source):
    path = next(fetched(source).glob("*test.conllu"))
    sentences = [each for each in sources.read(str(path), folder=fetched) if each.text]
    assert len(sentences) > 200
    misspelled = 0  # by the treebank: `-Le` has the words `--` and `Le`
    for sentence, found in zip(sentences, tokenised(each.text for each in sentences), strict=True):
        raw, surface = sentence.text, words_of(sentence.rows, "surface")
        surface = [word.replace("_", " ") for word in surface]  # as UD 1.4 writes `6 20 30`
        if "".join("".join(surface).split()) == "".join(raw.split()):
            assert [raw[start:end] for start, end in spans(raw, surface)] == surface
        else:
            misspelled += 1
        for word, (start, end) in zip(found, spans(raw, found), strict=True):
            assert normalise(raw[start:end]) == word
    assert misspelled <= 2
