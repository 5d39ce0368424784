"""A text tagged in context: the same form has the analyses of its positions."""

import json
import shutil
import sys

import pytest

from accord import lexicon
from accord.lexicon.analysis import LexiconError, files
from accord.lexicon.tables import SPACY_MODEL, about_spacy_model

pytest.importorskip(SPACY_MODEL)


@pytest.mark.slow
def test_tags_are_gathered_per_form_and_words_stay_as_they_were(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("Il porte une valise .\nLa porte est ouverte .\nDu pain l' attend .\n")
    known = lexicon.load([f"spacy:{text}"], folder=None)
    assert {each.upos for each in known.analyses("porte")} == {"VERB", "NOUN"}
    assert set(known) == set(text.read_text().split())
    assert known.frequency(["porte", "valise"]).tolist() == [2, 1]


@pytest.mark.slow
def test_another_version_of_the_model_is_another_lexicon(tmp_path, monkeypatch):
    text = tmp_path / "text.txt"
    text.write_text("La porte est ouverte .\n")
    name = f"spacy:{text}"
    before = lexicon.load([name], folder=None).identity()
    (installed,) = about_spacy_model()
    shutil.copytree(installed.parent, tmp_path / SPACY_MODEL)
    newer = tmp_path / SPACY_MODEL / installed.name
    about = json.loads(newer.read_text())
    newer.write_text(json.dumps(about | {"version": "99.0.0"}))
    newer.with_name(f"{SPACY_MODEL}-{about['version']}").rename(
        newer.with_name(f"{SPACY_MODEL}-99.0.0")
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, SPACY_MODEL)
    assert files(name, None) == [text, newer]
    assert lexicon.load([name], folder=None).identity() != before


def test_a_model_without_a_text_and_a_model_that_is_not_there_are_named(tmp_path):
    for model in (SPACY_MODEL, "fr_absent_sm"):
        with pytest.raises(LexiconError, match=f"no text.*: write spacy:{model}:FILE.txt"):
            lexicon.load([f"spacy:{model}"], folder=None)
    text = tmp_path / "text.txt"
    text.write_text("La porte est ouverte .\n")
    with pytest.raises(LexiconError, match="needs spaCy's fr_absent_sm: install fr_absent_sm"):
        lexicon.load([f"spacy:fr_absent_sm:{text}"], folder=None)
