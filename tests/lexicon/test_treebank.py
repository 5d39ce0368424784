"""A text tagged in context: the same form has the analyses of its positions."""

import pytest

from accord import lexicon
from accord.lexicon.analysis import LexiconError
from accord.lexicon.tables import SPACY_MODEL

pytest.importorskip(SPACY_MODEL)


@pytest.mark.slow
def test_tags_are_gathered_per_form_and_words_stay_as_they_were(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("Il porte une valise .\nLa porte est ouverte .\nDu pain l' attend .\n")
    known = lexicon.load([f"spacy:{text}"], folder=None)
    assert {each.upos for each in known.analyses("porte")} == {"VERB", "NOUN"}
    assert set(known) == set(text.read_text().split())
    assert known.frequency(["porte", "valise"]).tolist() == [2, 1]


def test_a_model_without_a_text_and_a_model_that_is_not_there_are_named(tmp_path):
    for model in (SPACY_MODEL, "fr_absent_sm"):
        with pytest.raises(LexiconError, match=f"no text.*: write spacy:{model}:FILE.txt"):
            lexicon.load([f"spacy:{model}"], folder=None)
    text = tmp_path / "text.txt"
    text.write_text("La porte est ouverte .\n")
    with pytest.raises(LexiconError, match="needs spaCy's fr_absent_sm: install fr_absent_sm"):
        lexicon.load([f"spacy:fr_absent_sm:{text}"], folder=None)
