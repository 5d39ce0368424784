"""Sentences read as a tree have the scores that they have when each is read by itself."""

import numpy as np
import pytest
from query_cases import scored
from training_cases import END, model, sentences

from accord.models import data
from accord.models.data import Sentences, begin_alike


def with_beginnings_in_common(text: Sentences, times: int = 5) -> Sentences:
    """Each sentence several times, with another last word each time, in a random order."""
    parts = [np.array(p) for p in np.split(text.ids, np.cumsum(text.lengths)[:-1])]
    varied = [np.r_[part[:-2], 1 + n, END] for part in parts for n in range(times)]
    order = np.random.default_rng(1).permutation(len(varied))
    chosen = [varied[place] for place in order]
    return Sentences(np.concatenate(chosen).astype(np.int32), np.array([len(c) for c in chosen]))


def one_by_one(network, text: Sentences) -> np.ndarray:
    parts = np.split(text.ids, np.cumsum(text.lengths)[:-1])
    return np.concatenate([scored(network, Sentences(p, np.array([len(p)]))) for p in parts])


@pytest.mark.parametrize("encoder", ["elman", "gru", "lstm", "window"])
@pytest.mark.parametrize("words_at_once", [1, 200, 1 << 16])
def test_the_scores_are_those_of_each_sentence_by_itself(encoder, words_at_once, monkeypatch):
    monkeypatch.setattr(data, "TREE_WORDS_AT_ONCE", words_at_once)
    network = model(encoder=encoder, weight_dropout=0.0)
    text = with_beginnings_in_common(sentences(20))
    found = scored(network, text)
    np.testing.assert_allclose(found, one_by_one(network, text), atol=1e-5)
    assert network.training, "the model is left as it was"


def test_sentences_that_begin_alike_are_told_from_others():
    text = sentences(60)
    assert not begin_alike(text)
    assert begin_alike(with_beginnings_in_common(text))


def test_a_model_reads_no_beginning_twice():
    network, text = model(), with_beginnings_in_common(sentences(20))
    read = []
    network.embedding.register_forward_hook(lambda _, words, __: read.append(words[0].numel()))
    scored(network, text)
    parts = np.split(text.ids, np.cumsum(text.lengths)[:-1])
    beginnings = {tuple(part[:length]) for part in parts for length in range(len(part))}
    assert sum(read) == len(beginnings) < len(text.ids) / 2
