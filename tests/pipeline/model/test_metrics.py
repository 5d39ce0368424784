"""Every figure of a scored text, counted by hand."""

import numpy as np
import pytest

from accord.pipeline.model.metrics import ScoredText, summary

# `le zorglub dort </s> oui </s>`, of which training lacks the second word and the fifth.
TEXT = ScoredText(
    log_p=np.array([-1.0, -8.0, -3.0, -0.5, -6.0, -2.5]),
    is_end=np.array([0, 0, 0, 1, 0, 1], bool),
    is_spelled=np.array([0, 1, 0, 0, 0, 0], bool),
    is_unseen=np.array([0, 1, 0, 0, 1, 0], bool),
    characters=20,
)


def test_each_figure_has_its_own_denominator():
    assert summary(TEXT) == pytest.approx(
        {
            "perplexity": np.exp(21 / 6),
            "nats per word": 21 / 6,
            "nats per word without ends": 18 / 4,
            "bits per character": 21 / np.log(2) / 20,
            "perplexity of unseen words": np.exp(14 / 2),
            "words": 4,
            "sentences": 2,
            "share of words unseen in training": 2 / 4,
            "share of words spelled": 1 / 4,
        }
    )


def test_a_part_of_a_text_has_the_figures_of_its_own_words():
    found = summary(TEXT.part(np.array([0, 0, 0, 0, 1, 1], bool), 4))
    assert found["nats per word"] == pytest.approx(8.5 / 2)
    assert found["bits per character"] == pytest.approx(8.5 / np.log(2) / 4)
    assert (found["words"], found["sentences"]) == (1, 1)


def test_without_unseen_words_they_have_no_perplexity():
    found = summary(TEXT.part(np.array([1, 0, 1, 1, 0, 0], bool), 9))
    assert "perplexity of unseen words" not in found
    assert found["share of words unseen in training"] == 0
