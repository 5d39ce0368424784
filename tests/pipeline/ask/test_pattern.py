"""Whole sentences by a regular expression over tags and words."""

import numpy as np
import pytest

from accord import load
from accord.models.inference.generation import Beam
from accord.pipeline.ask.generate import Generator


@pytest.fixture(scope="module")
def scorer(tiny_run):
    return load(tiny_run.folder, "ll-rnn")


def test_every_sentence_matches(scorer):
    generator = Generator(scorer, pattern='(Le|la|les) ADJ* NOUN VERB&Person=3 "."')
    sentences = generator.sample(100) + generator.likeliest(5, width=5)
    for sentence in sentences:
        first, *middle, noun, verb, stop = sentence.words
        assert sentence.ended and first.form in {"le", "la", "les"} and stop.form == "."
        assert all("pos=ADJ" in word.features for word in middle)
        assert "pos=NOUN" in noun.features and {"pos=VERB", "Person=3"} <= {*verb.features}
    assert len({sentence.text for sentence in sentences}) > 20


def test_what_the_pattern_allows_keeps_its_odds_and_sums_to_one(scorer):
    free, held = Generator(scorer), Generator(scorer, pattern="DET NOUN")
    log_p = []
    for generator in (free, held):
        reading = Beam.begin(generator.model, [], 1)
        log_p.append(generator.model.log_prob(reading.h, reading.context)[0])
    allowed = np.isfinite(log_p[1])
    assert 0 < allowed.sum() < len(allowed)
    assert np.exp(log_p[1]).sum() == pytest.approx(1, abs=1e-5)
    difference = (log_p[1] - log_p[0])[allowed]
    assert difference == pytest.approx(np.full(len(difference), difference[0]), abs=1e-4)


@pytest.mark.parametrize(
    ("pattern", "fault"),
    [("DET NUON", "unknown part of speech 'NUON'; the nearest is 'NOUN'"),
     ("DET schtroumpf", "the model does not know 'schtroumpf'"),
     ("", "expected a pattern that a word matches")],
)  # fmt: skip
def test_what_no_sentence_can_match_is_refused(scorer, pattern, fault):
    with pytest.raises(ValueError, match=fault):
        Generator(scorer, pattern=pattern)


def test_a_pattern_stands_in_the_place_of_constraints(scorer):
    with pytest.raises(ValueError, match="or constraints, found both"):
        Generator(scorer, "", ["NOUN"], pattern="NOUN")
