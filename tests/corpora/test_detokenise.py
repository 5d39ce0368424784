"""Words back in text: French spacing, real text that comes back, words where they were written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.corpora import sources
from accord.corpora.detokenise import detokenise, spans
from accord.corpora.text import words as words_of
from accord.corpora.tokenise import SPELLINGS, normalise, tokenised

# The text that each row of words, between bars, is to become.
CASES = """
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


@pytest.mark.parametrize("case", CASES, ids=str.strip)
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
