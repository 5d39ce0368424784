"""The paper's setting on the real treebank, and its tables beside ours."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import accord
from accord.models.phi import Features
from accord.pipeline.base.arrow import open_table, splits
from accord.pipeline.base.artefact import FinishedRun
from accord.pipeline.config.configuration import load_config
from accord.pipeline.model.suites import read_suite, suite_words
from accord.pipeline.model.words import NamedFeatures
from accord.pipeline.study.compare import (
    BEST,
    BOUNDARIES,
    CORPUS,
    NATS,
    SENTENCES,
    STRICT,
    TAGS,
    _nats_by_model,
    corpus_table,
    paper_tables,
    results_table,
    sentences_table,
    tags_table,
)

SMALL = {"train.epochs": 1, "train.embedding": 8, "train.hidden": 8, "analyse.suites": []}


@pytest.fixture(scope="module")
def treebank(fetched):
    for source in ("ud-french-1.4", "gsd-lexicon", "clams-fr"):
        fetched(source)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory, treebank):
    """Two models of the preset `paper`, prepared in full; the others differ in M."""
    models = ["rnn", "ll-rnn-10"]
    runs = tmp_path_factory.mktemp("paper")
    return accord.run("paper", models=models, until="encode", runs=runs)


@pytest.fixture(scope="module")
def trained(tmp_path_factory, treebank, fetched, slow):
    """Three models of the preset, small, on the first sentences of each part of the treebank."""
    runs = tmp_path_factory.mktemp("small")
    (runs / "few").mkdir()
    for path in fetched("ud-french-1.4").glob("*.conllu"):
        sentences = path.read_text(encoding="utf-8").split("\n\n")[:80]
        (runs / "few" / path.name).write_text("\n\n".join(sentences) + "\n\n", encoding="utf-8")
    (runs / "small.yaml").write_text(
        "base: paper\n"
        "models:\n"
        "  rnn: {featurise: {templates: [form], without: []}}\n"
        "  ll-rnn-2500: {}\n"
        "  ll-rnn-2500-strict: {train: {encoder: {kind: lstm-window, order: 8}}}\n"
    )
    few = {**SMALL, "corpus.source": str(runs / "few"), "corpus.valid": 20}
    return accord.run(str(runs / "small.yaml"), set=few, until="evaluate", runs=runs)


def test_the_published_figures_agree_with_each_other():
    sizes = CORPUS
    rows = sizes["words"] + sizes["contracted rows"]
    assert rows + BOUNDARIES * sizes["sentences"] == sizes["tokens"]
    assert round(sizes["tokens"] / sizes["sentences"], 2) == sizes["mean sentence length"]
    assert round(sizes["tokens"] / sizes["types"], 2) == sizes["tokens per type"]
    assert sum(SENTENCES.values()) == sizes["sentences"]
    assert sum(len(values.split()) for values in TAGS.values()) == 52
    perplexities = [round(np.exp(NATS[model]["test1"])) for model in ("rnn", BEST)]
    assert perplexities == [433, 161]
    assert [*NATS] == [*sorted(NATS, key=lambda name: -_forms(name))]


def _forms(model: str) -> int:
    """M of a model of the sweep; the RNN stands first."""
    return int(model.removeprefix("ll-rnn-")) if model != "rnn" else 100_000


def test_the_corpus_stands_beside_the_papers(prepared):
    corpus, words = (prepared.artefacts["rnn", each].folder for each in ("corpus", "tokenise"))
    table = corpus_table(corpus, words).set_index("")
    assert table["ours"].to_dict() == {
        "sentences": "16,448",
        "words": "402,197",
        "contracted rows": "11,057",
        "tokens": "462,598",
        "mean sentence length": "28.12",
        "types": "42,494",
        "tokens per type": "10.89",
    }
    assert table.loc["tokens", "paper"] == "463,069"
    parts = sentences_table(corpus).set_index("")
    assert parts.loc["ours"].to_dict() == parts.loc["paper"].to_dict()


def test_the_tags_are_the_papers_but_for_three_that_the_lexicon_never_gives(prepared):
    table = tags_table([prepared.artefacts["ll-rnn-10", "featurise"].folder]).set_index("")
    assert table.loc["all", ["paper", "ours"]].tolist() == [52, 49]
    assert table.loc["all", "lacking"] == "Degree=Cmp Gender=Neut pos=NIL"
    assert table.loc["all", "besides"] == "–"


def test_m_forms_have_a_feature_of_their_own_and_contracted_rows_the_tag_without_a_name(prepared):
    features = NamedFeatures.load(prepared.artefacts["ll-rnn-10", "featurise"].folder)
    own = [name for name in features.names if name.startswith("form=")]
    assert len(own) == 10 + 1 and "form=</s>" in own
    assert len(features.names) == 10 + 53 - 3 + 1  # all but the three tags, and the end's own
    types = pd.read_parquet(prepared.artefacts["rnn", "analyse"].folder / "types.parquet")
    unnamed = features.number("pos=_")
    carry = {form for word, form in enumerate(types["form"]) if unnamed in features.row(word)}
    assert carry == {
        "au", "aux", "auquel", "auxquelles", "auxquels", "des", "desquelles", "du", "duquel",
    }  # fmt: skip


def test_the_paper_counts_every_row_of_every_split(prepared):
    """b is the share of each word in the whole text, and the RNN is a softmax without a b."""
    texts = splits(prepared.artefacts["rnn", "tokenise"].folder).values()
    columns = [open_table(path)["words"] for path in texts]
    counts = Counter(word for column in columns for words in column.to_pylist() for word in words)
    assert counts.total() == 402_197 + 11_057
    words_of_suite = suite_words(read_suite("clams-fr", lowercase=True).pairs)
    assert all(word == word.lower() for word in counts)
    counts["</s>"] = 16_448
    counts |= Counter(words_of_suite)  # met once
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
        assert one_hot == model.startswith("rnn")
        expected = np.full(len(forms), 1 / len(forms)) if model.startswith("rnn") else share
        assert mass == pytest.approx(expected)


def test_the_sweep_differs_in_the_number_of_forms_only():
    """The list of words begins with the sentence's end, which is none of the M."""
    models = dict(load_config("paper").models)
    strict = {name: models.pop(name) for name in [*models] if name.endswith(STRICT)}
    rnn, reference = models.pop("rnn"), models["ll-rnn-10"]
    assert {*models, "rnn"} == {*NATS}
    for model, sections in models.items():
        featurise = replace(reference["featurise"], forms=_forms(model) + 1)
        assert sections == {**reference, "featurise": featurise}
    assert rnn["train"] == reference["train"]
    for name, sections in strict.items():
        windows = (rnn if name.startswith("rnn") else models[BEST])["train"]
        read = {"encoder": {"kind": "lstm-window", "order": 8}, "text": "sentences", "batch": 8}
        assert sections["train"] == replace(windows, **read)


def test_our_results_stand_beside_the_papers(trained):
    said = paper_tables(trained.folder)
    assert "463,069" in said and "three boundary symbols" in said
    assert "paper 433 / 161 = 2.69, ours " in said
    table = results_table(_nats_by_model(FinishedRun.read(trained.folder))).set_index("model")
    assert table.loc["rnn", "test1: paper"] == "6.07"
    assert table.loc["ll-rnn-2500", "training: paper"] == "4.74"
    assert table.loc["ll-rnn-2500-strict", "test2: paper"] == "5.07"
    curve = pd.read_csv(trained.artefacts["rnn", "train"].folder / "curve.csv")
    assert table.loc["rnn", "training: one end"] == f"{curve['train_nats'][0]:.2f}"
    log_p = np.load(trained.artefacts["rnn", "evaluate"].folder / "dev.log_p.npy")
    ids = np.load(trained.artefacts["rnn", "encode"].folder / "dev.ids.npy")
    denominators = {
        "one end": -log_p.mean(),
        "three boundaries": -log_p.sum() / (len(log_p) + 2 * (ids == 0).sum()),
        "none": -log_p[ids != 0].mean(),
    }
    for name, nats in denominators.items():
        assert table.loc["rnn", f"test2: {name}"] == f"{nats:.2f}"
