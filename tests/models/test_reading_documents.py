"""Sentences of a document: the state is carried across their ends, in training and in scoring."""

import numpy as np
import pytest
from query_cases import scored
from training_cases import model, sentences

from accord.models.data import Sentences, windows
from accord.models.recipe import Recipe

ALONE = sentences()
DOCUMENTS = np.arange(len(ALONE.lengths)) // 3  # three sentences each
TEXT = ALONE._replace(documents=DOCUMENTS)


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


def generator():
    return np.random.default_rng(1)


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


def test_a_model_of_sentences_reads_each_by_itself():
    network = model().eval()
    assert np.array_equal(scored(network, TEXT), scored(network, ALONE))


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


def test_a_text_without_documents_is_refused_where_these_are_asked_for():
    with pytest.raises(ValueError, match="documents"):
        next(windows(ALONE, Recipe(text="documents"), generator()))


def test_chosen_sentences_keep_their_documents():
    chosen = TEXT.chosen(np.arange(len(DOCUMENTS)) % 3 != 1)
    assert np.array_equal(chosen.documents, DOCUMENTS[np.arange(len(DOCUMENTS)) % 3 != 1])
    assert np.array_equal(TEXT.part(2, 7).documents, DOCUMENTS[2:7])
