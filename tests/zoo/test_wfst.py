"""n-grams as automata: OpenFst reads them, and a sentence's path weighs −log p."""

import numpy as np
import pytest
from automaton_cases import Automaton, OpenFst, cost
from ngram_cases import WORDS, as_lists, random_sentences

from accord.models.background import NGrams, kneser_ney
from accord.models.ngrams import count
from accord.zoo.ngrams import ngram_automaton, pruned, write_wfst

FORMS = ["</s>", "le", "la", "l’", "été", "à\u00a0côté", "|", "<unk>", "\\x"]
TEXT, OTHER = random_sentences(count=150), random_sentences(seed=7, count=60, words=WORDS)


def model_of(order: int, threshold: float | None = None) -> NGrams:
    model = kneser_ney(count(TEXT, order, WORDS), np.full(WORDS, 1 / WORDS))
    return model if threshold is None else pruned(model, threshold)


def costs(model: NGrams) -> list[float]:
    """−log p of each sentence of a text by the model itself."""
    ends = np.cumsum(OTHER.lengths)[:-1]
    return [-part.sum() for part in np.split(model.score(OTHER), ends)]


CASES = [(1, None), (2, None), (4, None), (3, 1e-3), (3, 0.5)]


@pytest.mark.parametrize(("order", "threshold"), CASES)
@pytest.mark.parametrize(("reader", "close"), [(Automaton, 1e-6), (OpenFst, 1e-5)])
def test_the_path_of_a_sentence_weighs_what_the_model_says(
    reader, close, order, threshold, tmp_path
):
    model = model_of(order, threshold)
    write_wfst(ngram_automaton(model), FORMS, tmp_path / "m.fst.txt")
    automaton = reader(tmp_path / "m.fst.txt")
    found = [cost(automaton, [FORMS[w] for w in each[:-1]]) for each in as_lists(OTHER)]
    assert found == pytest.approx(costs(model), rel=close)
