"""Words back into text: French spacing, and the way back from the tokeniser on real text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import corpora
from corpora.detokenise import detokenise
from corpora.normalise import normalise
from corpora.tokenise import tokenised

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


def test_nothing_is_no_text():
    assert detokenise([]) == ""


@given(st.lists(st.text(min_size=1)))
def test_only_spaces_and_the_first_letter_change(words):
    text = detokenise(words)
    assert text.upper().replace(" ", "") == "".join(words).upper().replace(" ", "")


def test_real_text_comes_back(fetched):
    """Where it does not, the text itself leaves out a space (20%) or its capital."""
    path = fetched("ud-french-1.4") / "fr-ud-dev.conllu"
    texts = [" ".join(normalise(s.text).split()) for s in corpora.read(str(path), folder=None)]
    words = list(tokenised(texts))
    back = [detokenise(each) for each in words]
    exact = sum(text == made for text, made in zip(texts, back, strict=True))
    again = sum(each == made for each, made in zip(words, tokenised(back), strict=True))
    assert len(texts) == 1596
    assert exact / len(texts) > 0.97
    assert again / len(texts) > 0.99
