"""A sentence of any length is read and scored in room that does not grow with it."""

import numpy as np
import pytest
from query_cases import scored
from training_cases import model, sentences

from accord.models.data import END, Sentences

SHORT = sentences()


@pytest.mark.parametrize("encoder", ["lstm", "window", "transformer"])
def test_a_sentence_read_in_pieces_is_the_sentence_read_at_once(encoder, monkeypatch):
    network = model(encoder=encoder, weight_dropout=0.0).eval()
    ids = np.append(SHORT.ids[SHORT.ids != END][:200], END)
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
    documents = np.minimum(np.arange(len(SHORT.lengths)) * 3 // len(SHORT.lengths), 2)
    whole = scored(network, SHORT._replace(documents=documents))
    read = []
    forward = network.forward
    monkeypatch.setattr(network, "forward", lambda *of: read.append(of[0].shape) or forward(*of))
    monkeypatch.setattr("accord.models.inference.interface.WORDS_AT_ONCE", 15)
    monkeypatch.setattr("accord.models.inference.interface.PIECE", 5)
    assert scored(network, SHORT._replace(documents=documents)) == pytest.approx(whole, abs=1e-4)
    assert {*read[:-1]} == {(5, 3)}
