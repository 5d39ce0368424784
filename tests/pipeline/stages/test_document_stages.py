"""Documents from source to figures: a network reads them whole, each source by its weight."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

import accord
from accord.corpora.sources import read
from accord.pipeline.base.arrow import rows
from accord.pipeline.data.encoded import read_sentences, weighted
from accord.pipeline.model.comparison import read_scores


@pytest.fixture(scope="module")
def this(tmp_path_factory, slow):
    """Two sources, the first of documents of four sentences, the second of single sentences."""
    folder = tmp_path_factory.mktemp("documents")
    lines = [sentence.text for sentence in read("tiny")]
    half = len(lines) // 2
    documents = ("\n".join(lines[start : start + 4]) for start in range(0, half, 4))
    (folder / "long.txt").write_text("\n\n".join(documents), encoding="utf-8")
    (folder / "short.txt").write_text("\n\n".join(lines[half:]), encoding="utf-8")
    changes = {
        "corpus.source": [str(folder / name) for name in ("long.txt", "short.txt")],
        "corpus.test": 40,
        "train.epochs": 1,
        "train.text": "documents",
        "train.source_weights": {"long.txt": 2, "short.txt": 0.5},
    }
    return accord.run("tiny", set=changes, models=["ll-rnn"], runs=folder / "runs")


def folder_of(run, stage):
    return run.artefacts["ll-rnn", stage].folder


@pytest.mark.parametrize("split", ["train", "valid", "test"])
def test_documents_are_numbered_as_the_source_has_them(this, split):
    named = [row["document"] for row in rows(folder_of(this, "corpus") / f"{split}.arrow")]
    numbers = read_sentences(folder_of(this, "encode"), split).documents
    same = [first == second for first, second in pairwise(named)]
    assert (numbers[1:] == numbers[:-1]).tolist() == same
    assert any(same) and not all(same)


def test_sentences_read_by_themselves_have_figures_of_their_own(this):
    scores = read_scores(folder_of(this, "evaluate"))
    values = scores.set_index(["split", "metric"])["value"]
    assert values["test", "perplexity"] != values["test", "perplexity without context"]
    single = values["test/short.txt", "bits per character"]
    assert single == pytest.approx(
        values["test/short.txt", "bits per character without context"], abs=1e-5
    )


def test_the_figures_of_a_split_are_those_of_its_sources_together(this):
    scores = read_scores(folder_of(this, "evaluate"))
    values = scores.set_index(["split", "metric"])["value"]
    for split in ("valid", "test"):
        parts = [f"{split}/long.txt", f"{split}/short.txt"]
        figures = pd.DataFrame({name: values[name] for name in (split, *parts)})
        tokens = figures.loc["words"] + figures.loc["sentences"]
        nats = figures.loc["nats per word"] * tokens
        characters = nats / np.log(2) / figures.loc["bits per character"]
        for counted in (tokens, nats, characters):
            assert counted[parts].sum() == pytest.approx(counted[split])
        assert (tokens[parts] > 0).all()


def test_a_source_is_read_as_often_as_its_weight_says(this):
    encoded = folder_of(this, "encode")
    text = weighted(read_sentences(encoded, "train"), encoded, {"long.txt": 2})
    parts = [row["part"] for row in rows(folder_of(this, "tokenise") / "train.arrow")]
    assert text.weights.tolist() == [2 if part == "long.txt" else 1 for part in parts]
