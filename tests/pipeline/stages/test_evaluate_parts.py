"""Figures by part: those of a split are those of its sources taken together."""

import numpy as np
import pandas as pd
import pytest

import accord
from accord.corpora.sources import read
from accord.pipeline.evaluation.comparison import read_scores


@pytest.fixture(scope="module")
def this(tmp_path_factory, slow):
    folder = tmp_path_factory.mktemp("parts")
    lines = [sentence.text for sentence in read("tiny")]
    for name, chosen in {"few": lines[::4], "many": lines[1::4] + lines[2::4]}.items():
        (folder / f"{name}.txt").write_text("\n".join(chosen), encoding="utf-8")
    sources = [str(folder / f"{name}.txt") for name in ("few", "many")]
    changes = {"corpus.source": sources, "train.epochs": 1, "corpus.test": 40}
    return accord.run("tiny", set=changes, runs=folder / "runs")


def test_the_parts_of_a_split_add_up_to_it(this):
    for model in this.config.models:
        scores = read_scores(this.artefacts[model, "evaluate"].folder)
        values = scores.set_index(["split", "metric"])["value"]
        for split in ("valid", "test"):
            parts = [f"{split}/few.txt", f"{split}/many.txt"]
            sizes = pd.DataFrame({name: values[name] for name in (split, *parts)})
            tokens = sizes.loc["words"] + sizes.loc["sentences"]
            nats = sizes.loc["nats per word"] * tokens
            characters = nats / np.log(2) / sizes.loc["bits per character"]
            for counted in (tokens, nats, characters):
                assert counted[parts].sum() == pytest.approx(counted[split])
            assert (tokens[parts] > 0).all()


def test_the_table_shows_the_parts_of_the_test(this):
    table = (this.folder / "report" / "table.md").read_text(encoding="utf-8")
    head = table.splitlines()[0]
    assert "| perplexity | perplexity (test/few.txt) | perplexity (test/many.txt) |" in head
    assert "valid/" not in table
