"""A text tagged in context: the same form has the analyses of its positions."""

import pytest

import lexicon
from lexicon.spacy import MODEL

pytest.importorskip(MODEL)


def test_tags_are_gathered_per_form_and_words_stay_as_they_were(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("Il porte une valise .\nLa porte est ouverte .\nDu pain l' attend .\n")
    known = lexicon.load([f"spacy:{text}"], folder=None)
    assert {each.upos for each in known.analyses("porte")} == {"VERB", "NOUN"}
    assert set(known) == set(text.read_text().split())
    assert known.frequency(["porte", "valise"]).tolist() == [2, 1]
