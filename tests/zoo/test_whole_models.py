"""A model of n-grams is written whole or not at all."""

from pathlib import Path

import numpy as np
import pytest
from full_disk import full_disk
from ngram_cases import WORDS, random_sentences

from accord.models.background import kneser_ney
from accord.models.ngrams import count
from accord.zoo.ngrams import ngram_automaton, write_arpa, write_wfst


def write_automaton(model, forms, path) -> None:
    write_wfst(ngram_automaton(model), forms, path)


@pytest.mark.parametrize(
    ("name", "write"),
    [("x.arpa", write_arpa), ("x.arpa.gz", write_arpa), ("x.fst.txt", write_automaton)],
)
def test_no_half_model_has_the_name_of_a_whole_one(tmp_path, name, write):
    model = kneser_ney(count(random_sentences(), 3, WORDS), np.full(WORDS, 1 / WORDS))
    forms = ["</s>", *(f"mot{number}" for number in range(1, WORDS))]
    path: Path = tmp_path / name
    with pytest.raises(OSError, match="File too large"), full_disk(60):
        write(model, forms, path)
    assert not path.exists()
    write(model, forms, path)
    content = path.read_bytes()
    with pytest.raises(OSError, match="File too large"), full_disk(60):
        write(model, forms, path)
    assert path.read_bytes() == content
