"""Word vectors of a trained model: neighbours by cosine, inflection judged by the lexicon."""

import numpy as np
import pandas as pd
import pytest
import torch
from typer.testing import CliRunner

from accord import load
from accord.pipeline.cli.main import app
from accord.pipeline.inference.vectors import ReadVectors, inflection


@pytest.fixture(scope="module")
def scorer(tiny_run):
    return load(tiny_run.folder, "ll-rnn")


@pytest.fixture
def vectors(scorer) -> ReadVectors:
    return ReadVectors(scorer)


def test_the_nearest_are_those_with_the_largest_cosine_to_what_the_encoder_reads(scorer, vectors):
    every = torch.arange(2, len(scorer.vocabulary.forms))
    with torch.inference_mode():
        read = torch.nn.functional.normalize(scorer.model.network.embedding(every), dim=1)
    cosine = (read @ read[scorer.vocabulary.known["fille"] - 2]).numpy()
    found = vectors.nearest("fille", 5)
    assert found["words"].iloc[0].split(", ")[0] == "fille"
    signatures = vectors.signature[2:]
    for words, count, similarity in found.itertuples(index=False):
        first = scorer.vocabulary.known[words.split(", ")[0]] - 2
        assert similarity == pytest.approx(cosine[first], abs=1e-5)
        assert count == (signatures == signatures[first]).sum()
    assert (cosine > found["cosine"].min() + 1e-5).sum() < found["of"].sum()
    with pytest.raises(ValueError, match="'xylophone' has no vector"):
        vectors.nearest("xylophone")


def test_a_word_is_asked_as_the_model_reads_texts(vectors):
    assert vectors.nearest("Petite").equals(vectors.nearest("petite"))


def test_there_are_as_many_others_as_asked_for_or_all_that_are_written(scorer, vectors, tiny_run):
    assert len(vectors.nearest("fille", 8)) == 1 + 8
    every = vectors.nearest("fille", 10_000)
    assert every["of"].min() > 0, "what has a vector and is no word, such as the end, is none"
    assert every["of"].sum() == len(scorer.vocabulary.known)
    command = ["nearest", "fille", "--run", str(tiny_run.folder), "--most", "10000"]
    assert f"these {len(every) - 1} others" in CliRunner().invoke(app, command).stdout


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_regular_vectors_inflect_and_random_ones_by_chance(vectors):
    """Vectors that are lemma + features by construction, and vectors that are nothing."""
    lemmas, feats = range(30), ["Number=Sing", "Number=Plur", "Gender=Fem|Number=Plur"]
    forms = [(lemma, feat) for lemma in lemmas for feat in feats]
    analyses = pd.DataFrame(
        [(w + 2, f"l{lemma}", "NOUN", f, "table") for w, (lemma, f) in enumerate(forms)],
        columns=["word", "lemma", "upos", "feats", "source"],
    )
    generator = np.random.default_rng(0)
    of_lemma, of_feats = generator.normal(size=(30, 40)), generator.normal(size=(3, 40))
    special = generator.normal(size=(2, 40))
    made = [of_lemma[lemma] + of_feats[feats.index(f)] for lemma, f in forms]
    vectors.signature = np.arange(len(forms) + 2)
    vectors.rows = unit(np.concatenate([special, made]))
    regular = inflection(vectors, analyses).iloc[-1]
    vectors.rows = unit(generator.normal(size=vectors.rows.shape))
    noise = inflection(vectors, analyses).iloc[-1]
    assert regular["pairs"] == noise["pairs"] == 30 * 3 * 2
    assert min(regular["right"], regular["features"]) > 0.95
    assert noise["right"] < 0.15
    assert regular["chance"] == pytest.approx(1 / 30)


def test_a_trained_model_is_measured_by_the_lexicon(scorer, vectors):
    analyses = pd.read_parquet(scorer.parts.artefacts["analyse"] / "analyses.parquet")
    table = inflection(vectors, analyses)
    assert table["pairs"].iloc[:-1].sum() == table["pairs"].iloc[-1] > 0
    assert (table["right"] <= table["features"]).all()


def test_the_commands_print_tables(tiny_run):
    for command in (["nearest", "fille", "--most", "4"], ["inflection"]):
        done = CliRunner().invoke(app, [*command, "--run", str(tiny_run.folder)])
        assert done.exit_code == 0, done.output
        assert done.stdout.startswith("|")
