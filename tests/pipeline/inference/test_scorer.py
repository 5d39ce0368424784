"""A trained model asked about sentences as a person types them."""

from pipeline import load


def test_no_sentences_have_no_scores(tiny_run):
    assert load(tiny_run.folder).score_all([]) == []
