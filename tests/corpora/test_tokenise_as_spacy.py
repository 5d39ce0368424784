"""Our words are those of spaCy's tokeniser with the same rules, in real texts and in odd ones."""

import re
import unicodedata
from collections.abc import Iterable

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from spacy.lang import char_classes
from spacy_french import spacy_words

from accord.corpora import sources, tokenise
from accord.corpora.tokenise import LATIN, WHOLE, cutter, tokenised

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
@pytest.mark.parametrize("cases", [500, pytest.param(50_000, marks=pytest.mark.long)])
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
