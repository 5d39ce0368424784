"""Batches, windows, texts, sentences of any length, and trees of sentences that begin alike."""

from itertools import chain

import numpy as np
import pytest
import torch
from query_cases import scored
from training_cases import END, WORDS, model, sentences

from accord.models import data
from accord.models.data import (
    NO_WORD,
    Sentences,
    batches,
    begin_alike,
    in_a_row,
    in_columns,
    windows,
)
from accord.models.gpu.kernels import nats_of_classes
from accord.models.recipe import Recipe
from accord.models.train import prepare_batch

ALONE = sentences()
DOCUMENTS = np.arange(len(ALONE.lengths)) // 3  # three sentences each
TEXT = ALONE._replace(documents=DOCUMENTS)
COUNT = 400
PAIRS = Sentences(np.tile([3, 0], COUNT), np.full(COUNT, 2))  # so a position tells its sentence
RANGES = [([5, 0, 9], [2, 3, 1]), ([7, 7, 1], [0, 4, 0]), ([3], [0]), ([], [])]


def generator():
    return np.random.default_rng(1)


@pytest.mark.parametrize(("starts", "lengths"), RANGES)
def test_in_a_row_and_in_columns(starts, lengths):
    starts, lengths = np.array(starts, int), np.array(lengths, int)
    expected = [
        list(range(start, start + length)) for start, length in zip(starts, lengths, strict=True)
    ]
    assert in_a_row(starts, lengths).tolist() == [*chain(*expected)]
    positions, is_position = in_columns(starts, lengths)
    assert positions.shape == is_position.shape == (max(lengths, default=0), len(starts))
    assert [positions[:, c][is_position[:, c]].tolist() for c in range(len(starts))] == expected
    assert not positions[~is_position].any()


def test_an_epoch_reads_every_word_once_after_the_word_before_it():
    recipe = Recipe(batch=4, bptt=7)
    parts = list(windows(ALONE, recipe, np.random.default_rng(0)))
    words, targets = (torch.cat([part[side] for part in parts]) for side in (0, 1))
    assert torch.equal(words[1:], targets[:-1])
    assert (words[0] == END).all()
    read = np.bincount(targets.flatten().numpy(), minlength=WORDS)
    all_words = np.bincount(ALONE.ids, minlength=WORDS)
    assert 0 <= (all_words - read).sum() < recipe.batch, "only what fills no row is left out"


def test_a_sentence_scores_the_same_alone_and_among_others():
    network = model().double().eval()
    together = scored(network, ALONE)
    for start, length in zip(ALONE.starts[:10], ALONE.lengths[:10], strict=True):
        alone = Sentences(ALONE.ids[start : start + length], np.array([length]))
        expected = together[start : start + length]
        assert scored(network, alone) == pytest.approx(expected, abs=1e-10)


def test_a_document_is_scored_as_the_one_text_that_it_is():
    network = model(text="documents").eval()
    joined = Sentences(TEXT.ids, np.add.reduceat(TEXT.lengths, np.arange(0, len(DOCUMENTS), 3)))
    assert scored(network, TEXT) == pytest.approx(scored(network, joined), abs=1e-5)


def test_the_first_sentence_of_a_document_knows_nothing_of_the_others():
    network = model(text="documents").eval()
    in_documents, alone = scored(network, TEXT), scored(network, TEXT.alone())
    is_first = np.repeat(np.arange(len(DOCUMENTS)) % 3 == 0, TEXT.lengths)
    assert in_documents[is_first] == pytest.approx(alone[is_first], abs=1e-5)
    assert np.abs(in_documents - alone)[~is_first].max() > 1e-3


def test_documents_of_one_sentence_are_read_as_sentences_are():
    network = model(text="documents").eval()
    single = ALONE._replace(documents=np.arange(len(ALONE.lengths)))
    assert scored(network, single) == pytest.approx(scored(network, ALONE), abs=1e-5)
    stream, documents = (
        [batch.positions for batch in windows(single, Recipe(text=text), generator())]
        for text in ("stream", "documents")
    )
    assert all(np.array_equal(*each) for each in zip(stream, documents, strict=True))


def test_an_epoch_reads_whole_documents_in_random_order():
    recipe = Recipe(text="documents", batch=1)
    read = np.concatenate([batch.positions for batch in windows(TEXT, recipe, generator())]).ravel()
    assert np.array_equal(np.sort(read), np.arange(len(TEXT.ids)))
    of_word = np.repeat(DOCUMENTS, TEXT.lengths)[read]
    borders = np.flatnonzero(np.diff(of_word))
    assert len(borders) == DOCUMENTS.max()  # no document is interrupted
    assert not np.array_equal(of_word, np.sort(of_word))
    inside = np.setdiff1d(np.arange(len(read) - 1), borders)
    assert (np.diff(read)[inside] == 1).all()  # and its words are in their order


def test_segments_hold_every_word_once_after_the_word_before_it():
    recipe = Recipe(encoder="transformer", text="documents", batch=4, bptt=7, zero_state=0.3)
    documents, seen, lengths = np.repeat(DOCUMENTS, TEXT.lengths), [], []
    for words, targets, positions, continues, packed in batches(TEXT, recipe, generator()):
        assert words.shape == targets.shape == positions.shape == (28, 1) and not continues
        at, starts = positions[:, 0], packed.starts.numpy()
        assert np.array_equal(words.numpy(), np.where(positions, TEXT.ids[positions - 1], END))
        assert np.array_equal(targets.numpy(), TEXT.ids[positions])
        begins = packed.place.numpy() == 0
        assert np.array_equal(np.flatnonzero(begins), np.unique(starts[starts < len(at)]))
        assert (np.diff(at)[~begins[1:]] == 1).all(), "a segment's words are in their order"
        assert (np.diff(documents[at])[~begins[1:]] == 0).all(), "and of one document"
        seen.extend(at.tolist())
        lengths.extend(np.diff(np.append(np.flatnonzero(begins), len(at))).tolist())
    assert max(lengths) == 7 == packed.longest
    assert len(set(seen)) == len(seen) > len(TEXT.ids) - 28
    first = next(batches(TEXT, recipe, np.random.default_rng(2)))
    again = next(batches(TEXT, recipe, np.random.default_rng(2)))
    assert np.array_equal(first.positions, again.positions)


def test_an_epoch_reads_a_document_as_often_as_its_weight_says():
    weights = np.array([0.5, 2, 1])[DOCUMENTS % 3]
    text, recipe = TEXT._replace(weights=weights), Recipe(text="documents", batch=1)
    read = np.zeros(len(text.ids))
    draws, times = generator(), 400
    for _ in range(times):
        for batch in windows(text, recipe, draws):
            np.add.at(read, batch.positions.ravel(), 1 / times)
    of_word = np.repeat(weights, text.lengths)
    assert read == pytest.approx(of_word, abs=0.1)
    assert (read[of_word == 2] == pytest.approx(2)) and text.epoch_words == of_word.sum()


def read(text: str, seed: int, epoch: int, bagging: bool = True) -> np.ndarray:
    """Return how often an epoch reads each sentence."""
    recipe = Recipe(text=text, seed=seed, bagging=bagging, batch=4)
    parts = batches(PAIRS, recipe, np.random.default_rng([seed, epoch]))
    read = [part.positions[(part.targets != NO_WORD).numpy()] for part in parts]
    return np.bincount(np.concatenate(read) // 2, minlength=COUNT) / 2


@pytest.mark.parametrize("text", ["stream", "sentences"])
def test_a_seed_reads_as_many_sentences_some_of_them_several_times(text):
    times = read(text, seed=1, epoch=1)
    assert times.sum() == COUNT
    assert np.mean(times == 0) == pytest.approx(np.exp(-1), abs=0.06)
    assert (times == read(text, seed=1, epoch=2)).all()
    assert (times != read(text, seed=2, epoch=1)).any()
    assert (read(text, seed=1, epoch=1, bagging=False) == 1).all()


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


@pytest.mark.parametrize("encoder", ["lstm", "window", "transformer"])
def test_a_sentence_read_in_pieces_is_the_sentence_read_at_once(encoder, monkeypatch):
    network = model(encoder=encoder, weight_dropout=0.0).eval()
    ids = np.append(ALONE.ids[ALONE.ids != END][:200], END)
    long = Sentences(ids, np.array([len(ids)]))
    whole = scored(network, long)
    rows = []
    log_prob_of = network.output.log_prob_of

    def counted(h, *asked):
        rows.append(len(h))
        return log_prob_of(h, *asked)

    monkeypatch.setattr("accord.models.inference.interface.WORDS_AT_ONCE", 16)
    monkeypatch.setattr(network.output, "log_prob_of", counted)
    assert scored(network, long) == pytest.approx(whole, abs=1e-4)
    assert max(rows) <= 16 and sum(rows) == len(ids)


def test_long_documents_are_read_side_by_side(monkeypatch):
    """Three documents in pieces of five words each score as each by itself."""
    network = model(text="documents", weight_dropout=0.0).eval()
    documents = np.minimum(np.arange(len(ALONE.lengths)) * 3 // len(ALONE.lengths), 2)
    whole = scored(network, ALONE._replace(documents=documents))
    read = []
    forward = network.forward
    monkeypatch.setattr(network, "forward", lambda *of: read.append(of[0].shape) or forward(*of))
    monkeypatch.setattr("accord.models.inference.interface.WORDS_AT_ONCE", 15)
    monkeypatch.setattr("accord.models.inference.interface.PIECE", 5)
    assert scored(network, ALONE._replace(documents=documents)) == pytest.approx(whole, abs=1e-4)
    assert {*read[:-1]} == {(5, 3)}


def test_a_segment_is_no_longer_than_attention_reaches():
    encoder = {"kind": "transformer", "reach": 8}
    Recipe(encoder=encoder, text="documents", bptt=8)
    with pytest.raises(
        ValueError, match="bptt: expected at most the reach of the encoder, 8, got 9"
    ):
        Recipe(encoder=encoder, text="documents", bptt=9)


@pytest.mark.parametrize("temperature", [False, True])
def test_the_loss_that_a_gpu_compiles_and_its_gradient_are_those_of_the_output(temperature):
    recipe = Recipe(encoder="transformer", text="documents", batch=4, bptt=7)
    output = {"kind": "log-linear", "temperature": temperature}
    settings = {"encoder": "transformer", "weight_dropout": 0.0, "output": output}
    network = model(**settings).double().eval()
    batch = prepare_batch(next(batches(TEXT, recipe, generator())), network.contexts(TEXT))
    results = []
    for compiled in (None, nats_of_classes):
        network.output.compiled = compiled
        network.zero_grad()
        seen = network.loss(batch.words, batch.targets, batch.packed, batch.context)
        seen.nats.backward()
        results.append((seen.nats.item(), network.output.weight.grad.clone()))
    (nats, gradient), (nats_compiled, gradient_compiled) = results
    assert nats_compiled == pytest.approx(nats, rel=1e-5)
    assert torch.allclose(gradient_compiled, gradient, atol=1e-6) and gradient.any()
