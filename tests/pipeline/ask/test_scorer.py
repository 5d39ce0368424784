"""A trained model asked about sentences as a person types them."""

import pytest

from accord import load
from accord.pipeline.ask.reader import Reader
from accord.pipeline.ask.scorer import Scorer


def test_no_sentences_have_no_scores(tiny_run):
    assert load(tiny_run.folder).score_all([]) == []


@pytest.mark.parametrize("asked", [Scorer.score, Scorer.words, lambda s, t: [*Reader(s).read([t])]])
def test_a_text_that_is_not_utf_8_is_refused(asked):
    latin = b"il va \xe0 paris .".decode(errors="surrogateescape")  # as arguments are read
    with pytest.raises(ValueError, match=r"expected text in UTF-8, found half .* behind 'il va '"):
        asked(load(), latin)
