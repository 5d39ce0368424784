"""Damaged ARPA files: a model that is written as it was read, or the line that is wrong."""

import gzip
from itertools import product
from pathlib import Path

import pytest
import torch
from fuzz_cases import CASES, damaged, fuzz, outcome
from hypothesis import strategies as st

from accord.models.background import NGrams
from accord.zoo.ngrams import read_arpa, write_arpa

FORMS = ["</s>", "le", "été"]
ARPA = """\
\\data\\
ngram 1=4
ngram 2=4
ngram 3=2

\\1-grams:
-99\t<s>\t-0.3
-0.5\t</s>
-0.5\tle\t-0.2
-0.8\tété\t0.1

\\2-grams:
-0.3\t<s> le\t-0.1
-0.4\tle été\t0
-0.7\tle le
-0.1\tété </s>

\\3-grams:
-0.2\t<s> le été
-0.3\tle été </s>

\\end\\
""".encode()


def read(path: Path) -> NGrams:
    return read_arpa(path, FORMS)


def check_same_when_written_again(model: NGrams, path: Path) -> None:
    write_arpa(model, FORMS, path)
    again = read(path)
    assert again.order == model.order
    contexts = torch.tensor(list(product(range(len(FORMS)), repeat=model.order - 1)))
    contexts = contexts.reshape(-1, model.order - 1).long()
    p, q = (each.distributions(each.nodes(contexts), torch.float64) for each in (model, again))
    assert torch.allclose(p, q, rtol=1e-5, atol=1e-90)


@pytest.mark.parametrize("ending", ["", ".gz"])
@CASES
def test_damaged_models(cases, ending, tmp_path):
    def check(data: bytes) -> None:
        model = outcome(read, tmp_path / f"model.arpa{ending}", data)
        if model is not None:
            check_same_when_written_again(model, tmp_path / "again.arpa")

    fuzz(cases, damaged([gzip.compress(ARPA) if ending else ARPA]), check)


@CASES
def test_any_numbers_are_read_as_they_were_written(cases, tmp_path):
    number = st.floats(-30, 0)

    def check(numbers: list[float]) -> None:
        lines = ARPA.decode().split("\n")
        rows = [place for place, line in enumerate(lines) if "\t" in line]
        for place, value in zip(rows, numbers, strict=True):
            lines[place] = f"{value!r}\t" + lines[place].split("\t", 1)[1]
        (tmp_path / "model.arpa").write_text("\n".join(lines), encoding="utf-8")
        model = read(tmp_path / "model.arpa")
        probabilities = torch.tensor(numbers[1:4], dtype=torch.float64)
        assert torch.allclose(model.tables[0].p, 10**probabilities)
        check_same_when_written_again(model, tmp_path / "again.arpa")

    fuzz(cases, st.lists(number, min_size=10, max_size=10), check)
