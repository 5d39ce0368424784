"""Preparing ten times the text takes no more memory."""

import tracemalloc
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
import pytest

from accord.pipeline.base import arrow as tables
from accord.pipeline.base.names import END, UNKNOWN
from accord.pipeline.config.sections import CorpusParams, EncodeParams
from accord.pipeline.stages import corpus, encode, tokenise


@pytest.fixture
def small_batches(monkeypatch):
    """A text of some hundred sentences is then as long as one of some ten thousand."""
    monkeypatch.setattr(tables, "BATCH", 50)


def peak(work, *given) -> int:
    """The most bytes that Python's objects and arrays had at a time.

    What the work needs it needs each time; what the threads that run the tests receive meanwhile,
    which is traced too, is in one of the times only.
    """
    peaks = []
    for _ in range(2):
        tracemalloc.start()
        work(*given)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    return min(peaks)


def folder(path):
    path.mkdir()
    return path


@pytest.mark.slow
def test_the_corpus_stage_holds_a_batch_at_a_time_and_a_number_of_every_sentence(
    tmp_path, small_batches
):
    def split(sentences: int) -> int:
        text = tmp_path / f"{sentences}.txt"
        text.write_text("".join(f"Phrase {number} d'un texte.\n" for number in range(sentences)))
        params = CorpusParams(source=(str(text),))

        def work() -> None:
            with TemporaryDirectory(dir=tmp_path) as out:
                corpus.compute(params, {}, Path(out))

        return peak(work)

    split(100)  # what is imported and cached on the way
    assert (split(6000) - split(1000)) / 5000 < 16  # bytes


def test_encoding_holds_a_batch_at_a_time(tmp_path, small_batches):
    known = [f"mot{number}" for number in range(200)]
    analysed = folder(tmp_path / "analyse")
    types = pd.DataFrame({"form": [END, UNKNOWN, *known], "count": 2, "unknown": 0, "share": 1.0})
    types.to_parquet(analysed / "types.parquet")

    def encoded(sentences: int) -> int:
        inputs = {"analyse": analysed, "tokenise": folder(tmp_path / f"words {sentences}")}
        rows = ({"words": [known[number % 200], "inconnu"] * 5} for number in range(sentences))
        tables.write_rows(inputs["tokenise"] / "train.arrow", tokenise.SCHEMA, rows)
        out = folder(tmp_path / f"ids {sentences}")
        return peak(encode.compute, EncodeParams(), inputs, out)

    encoded(10)
    assert encoded(5000) < 1.3 * encoded(500)


def test_counting_words_holds_a_batch_at_a_time(tmp_path, small_batches):
    def counted(sentences: int) -> int:
        path = tmp_path / f"{sentences}.arrow"
        rows = ({"words": ["un", "deux", "un"]} for _ in range(sentences))
        tables.write_rows(path, tokenise.SCHEMA, rows)
        assert tables.word_counts(path) == {"un": 2 * sentences, "deux": sentences}
        return peak(tables.word_counts, path)

    counted(10)
    assert counted(10_000) < 1.3 * counted(1000)
