"""The paper's setting on the real treebank, and its tables beside ours."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import pipeline
from models.features.phi import Features
from pipeline.artefacts.arrow import open_table, splits
from pipeline.compare import paper
from pipeline.config.configuration import load_config
from pipeline.runner.finished import Finished

SMALL = {
    "train.epochs": 1,
    "train.embedding": 8,
    "train.hidden": 8,
    "corpus.limit": 300,
}


@pytest.fixture(scope="module")
def treebank(fetched):
    for source in ("ud-french-1.4", "gsd-lexicon"):
        fetched(source)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory, treebank):
    """The preset `paper`, prepared in full."""
    return pipeline.run("paper", until="encode", runs=tmp_path_factory.mktemp("paper"))


@pytest.fixture(scope="module")
def trained(tmp_path_factory, treebank):
    """Two models of the preset, small, on little text."""
    runs = tmp_path_factory.mktemp("small")
    (runs / "small.yaml").write_text(
        "base: paper\nmodels: {rnn: {featurise: {templates: [form]}}, ll-rnn-2500: {}}"
    )
    return pipeline.run(str(runs / "small.yaml"), set=SMALL, runs=runs)


def test_the_published_figures_agree_with_each_other():
    sizes = paper.CORPUS
    rows = sizes["words"] + sizes["contracted rows"]
    assert rows + paper.BOUNDARIES * sizes["sentences"] == sizes["tokens"]
    assert sum(paper.SENTENCES.values()) == sizes["sentences"]
    perplexities = {model: round(np.exp(nats["test1"])) for model, nats in paper.NATS.items()}
    assert perplexities == {"rnn": 433, "ll-rnn-2500": 161}


def test_the_corpus_stands_beside_the_papers(prepared):
    folder = prepared.artefacts["rnn", "corpus"].folder
    table = paper.corpus_table(folder).set_index("")
    assert table["ours"].to_dict() == {
        "sentences": "16,448",
        "words": "402,197",
        "contracted rows": "11,057",
        "surface words": "391,140",
        "tokens": "462,598",
        "sentences of train": "13,826",
        "sentences of valid": "728",
        "sentences of test1": "298",
        "sentences of test2": "1,596",
    }
    assert table.loc["tokens", "paper"] == "463,069"


def test_the_paper_counts_every_row_of_every_split(prepared):
    """b is the share of each word in the whole text, and the RNN is a softmax without a b."""
    texts = splits(prepared.artefacts["rnn", "tokenise"].folder).values()
    columns = [open_table(path)["words"] for path in texts]
    counts = Counter(word for column in columns for words in column.to_pylist() for word in words)
    assert counts.total() == 402_197 + 11_057
    assert all(word == word.lower() for word in counts)
    counts["</s>"] = 16_448
    forms = pd.read_parquet(prepared.artefacts["rnn", "analyse"].folder / "types.parquet")["form"]
    assert set(forms) == set(counts)
    share = np.array([counts[form] for form in forms]) / counts.total()
    for model in prepared.config.models:
        mass = np.load(prepared.artefacts[model, "background"].folder / "b.npy")
        features = Features.load(prepared.artefacts[model, "featurise"].folder / "phi.npz")
        one_hot = (
            features.vocabulary_size
            == features.signature_count
            == features.feature_count
            == len(features.indices)
        )
        assert one_hot == (model == "rnn")
        expected = np.full(len(forms), 1 / len(forms)) if model == "rnn" else share
        assert mass == pytest.approx(expected)


def test_the_sweep_differs_in_the_number_of_forms_only():
    models = dict(load_config("paper").models)
    rnn, reference = models.pop("rnn"), models["ll-rnn-10"]
    assert [sections["featurise"].forms for sections in models.values()] == [
        10, 500, 1000, 2000, 2500, 3000, 5000, 10000,
    ]  # fmt: skip
    for model, sections in models.items():
        forms = int(model.removeprefix("ll-rnn-"))
        featurise = replace(reference["featurise"], forms=forms)
        assert sections == {**reference, "featurise": featurise}
    assert rnn["train"] == reference["train"]


def test_our_results_stand_beside_the_papers(trained):
    said = paper.tables(trained.folder)
    assert "463,069" in said and "three boundary symbols" in said
    table = paper.results_table(Finished.read(trained.folder)).set_index("model")
    assert table.loc["rnn", "test1: paper"] == "6.07 (433)"
    assert table.loc["ll-rnn-2500", "test2: paper"] == "5.07 (159)"
    log_p = np.load(trained.artefacts["rnn", "evaluate"].folder / "dev.log_p.npy")
    sentences = 1_596
    assert table.loc["rnn", "test2: ours"].startswith(f"{-log_p.mean():.2f} (")
    per_token = -log_p.sum() / (len(log_p) + 2 * sentences)
    assert table.loc["rnn", "test2: ours per token"].startswith(f"{per_token:.2f} (")


def test_a_run_in_another_protocol_has_no_place_beside_the_papers(tiny_run):
    with pytest.raises(ValueError, match=r"expected a run of the preset 'paper'.* protocol open"):
        paper.tables(tiny_run.folder)
