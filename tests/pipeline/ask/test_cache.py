"""A cache of words: its probabilities sum to one, and a name that comes again is likelier."""

import numpy as np
import pytest

import accord
from accord.pipeline.ask import scorer as module
from accord.pipeline.ask.scorer import CachedScorer, with_cache

WORDS, LENGTH = 7, 12
TEXT = "Zorglubine dort. La pomme tombe. Zorglubine mange."


def random_text() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return log p of all words and the end, the states, and the forms of a text."""
    draws = np.random.default_rng(1)
    h = draws.normal(size=(LENGTH, 5)).astype(np.float32)
    log_p = np.log(draws.dirichlet(np.ones(WORDS + 1), LENGTH))
    return log_p, h / np.linalg.norm(h, axis=1, keepdims=True), draws.integers(-1, WORDS, LENGTH)


@pytest.mark.parametrize("place", [0, 1, 5, LENGTH - 1])
def test_all_words_and_the_end_sum_to_one(place):
    log_p, h, forms = random_text()
    total = 0.0
    for form in range(-1, WORDS):
        forms[place] = form
        total += np.exp(with_cache(log_p[np.arange(LENGTH), forms], h, forms)[place])
    assert total == pytest.approx(1)


def test_a_text_read_in_parts_is_the_text_read_at_once(monkeypatch):
    log_p, h, forms = random_text()
    at_once = with_cache(log_p[:, 0], h, forms)
    monkeypatch.setattr(module, "QUERIES_AT_ONCE", 3)
    assert with_cache(log_p[:, 0], h, forms) == pytest.approx(at_once)
    monkeypatch.setattr(module, "CACHED_WORDS", 2)
    assert with_cache(log_p[:, 0], h, forms) != pytest.approx(at_once)


def test_a_name_that_comes_again_is_likelier_and_a_first_word_as_it_was():
    scorer = accord.load()
    plain, cached = (by.score(TEXT, "text") for by in (scorer, CachedScorer(scorer)))
    assert cached[0].log_p == plain[0].log_p
    assert plain[0].form == plain[9].form == "zorglubine"
    assert cached[9].log_p > plain[9].log_p + 5
    alone = CachedScorer(scorer).score(TEXT, "none")
    assert alone[9].log_p == pytest.approx(scorer.score(TEXT, "none")[9].log_p)


def test_an_end_is_never_kept():
    log_p, h, forms = random_text()
    forms[::3] = -1
    ends = np.flatnonzero(forms < 0)[2:]
    mixed = with_cache(log_p[:, 0], h, forms)
    assert mixed[ends] == pytest.approx(log_p[ends, 0] + np.log1p(-module.CACHE_WEIGHT))
