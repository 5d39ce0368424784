"""Word vectors of a trained model: neighbours by cosine, inflection judged by the lexicon."""

import numpy as np
import pandas as pd
import pytest
import torch
from cli_cases import answered, invoked

from accord import load
from accord.lexicon.vectors import read_text
from accord.pipeline.ask.vectors import ReadVectors, inflection, retrofit
from accord.pipeline.model.network import load_trained


@pytest.fixture(scope="module")
def scorer(tiny_run):
    return load(tiny_run.folder, "ll-rnn")


@pytest.fixture
def vectors(scorer) -> ReadVectors:
    return ReadVectors(scorer)


def test_the_nearest_are_those_with_the_largest_cosine_to_what_the_encoder_reads(scorer, vectors):
    every = torch.arange(2, len(scorer.vocabulary.forms))
    with torch.inference_mode():
        network = load_trained(scorer.parts)
        read = torch.nn.functional.normalize(network.embedding(every), dim=1)
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


def test_analogies_are_sums_of_cosines_and_the_odd_one_has_the_least(vectors):
    """With three words in a plane, and one that lies on the sum of directions."""
    words = ["fille", "filles", "chat", "chats", "de"]
    ids = [vectors.ids[word] for word in words]
    rows = np.array([[1, 0, 0], [1, 0, 1], [0, 1, 0], [0, 1, 1], [-1, -1, 0]], float)
    vectors.rows = np.zeros((len(vectors.forms), 3))
    vectors.rows[ids] = unit(rows)
    vectors.signature = np.arange(len(vectors.forms))
    found = vectors.analogy("fille", "filles", "chat", 3)
    assert found["words"].iloc[0] == "chats"
    a, b, c, x = unit(rows)[:4]
    assert found["sum"].iloc[0] == pytest.approx(x @ c - x @ a + x @ b)
    raised = [(x @ each + 1) / 2 for each in (a, b, c)]
    assert found["product"].iloc[0] == pytest.approx(raised[1] * raised[2] / (raised[0] + 1e-3))
    assert not {"fille", "filles", "chat"} & {*", ".join(found["words"]).split(", ")}
    odd = vectors.odd_one_out(["fille", "filles", "chat", "de"])
    assert odd["word"].iloc[0] == "de"
    assert odd["cosine to the others"].iloc[0] == pytest.approx(
        np.mean(unit(rows)[[0, 1, 2]] @ unit(rows)[4])
    )
    with pytest.raises(ValueError, match="expected 3 words or more, found 2"):
        vectors.odd_one_out(["fille", "chat"])


def test_retrofitted_vectors_solve_the_published_equation():
    """q_i·(α_i + Σ_j β_ij) = α_i·q̂_i + Σ_j β_ij·q_j, as a linear system that is solved exactly."""
    rows = np.random.default_rng(0).normal(size=(6, 4))
    groups, edges = [[0, 1, 2], [2, 3], [4]], np.zeros((6, 6))
    for i, j in [(0, 1), (0, 2), (1, 2), (2, 3)]:
        edges[i, j] = edges[j, i] = 1
    beta = edges / np.maximum(edges.sum(axis=1, keepdims=True), 1)
    exact = np.linalg.solve(np.eye(6) + np.diag(beta.sum(axis=1)) - beta, rows)
    assert retrofit(rows, groups, rounds=50) == pytest.approx(exact)
    assert retrofit(rows, groups) == pytest.approx(exact, abs=5e-3)
    assert (retrofit(rows, groups)[[4, 5]] == rows[[4, 5]]).all()


def test_a_file_of_vectors_is_read_back_and_forms_of_a_lemma_come_closer(tiny_run, tmp_path):
    run, plain, drawn = str(tiny_run.folder), tmp_path / "plain.vec", tmp_path / "drawn.vec"
    lexicon = tmp_path / "groups.txt"
    lexicon.write_text("fille chat xylophone\n", encoding="utf-8")
    for file, options in ((plain, []), (drawn, ["--retrofit", str(lexicon)])):
        command = ["export", run, "ll-rnn", "--to", str(file), "--words", "60", *options]
        answered(*command)
    read = [read_text(file, ["fille", "chat", "la"]) for file in (plain, drawn)]
    cosines = [found.matrix[found.row["fille"]] @ found.matrix[found.row["chat"]] for found in read]
    assert cosines[1] > cosines[0] + 0.05
    kept = [found.matrix[found.row["la"]] for found in read]
    assert kept[0] == pytest.approx(kept[1], abs=1e-5)
    assert plain.read_text(encoding="utf-8").startswith("60 ")
    scorer = load(run, "ll-rnn")
    nearest = ReadVectors(scorer).retrofitted("lemmas").nearest("petite", 3)
    assert {"petit", "petites"} & {*", ".join(nearest["words"]).split(", ")}
    wrong = invoked("export", run, "--to", str(tmp_path / "x"), "--words", "3")
    assert wrong.exit_code and "expected a file .vec" in wrong.output


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
