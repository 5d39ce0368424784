"""The folder of a model: its words and readings are those of the stages; rounding moves little."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from cli_cases import answered

import accord
from accord import lexicon
from accord.models.common.weights import load_tensors
from accord.models.data import Sentences
from accord.pipeline.base.artefact import read_json
from accord.pipeline.data.catalogue import folder_of
from accord.pipeline.model import export as compact_export
from accord.pipeline.model.endings import UnknownClasses, read_vocabulary
from accord.pipeline.model.words import NamedFeatures, Reading

ROOT = Path(__file__).parents[3]
SENTENCES = [
    *("La petite fille mange une pomme.", "Les chats noirs dorment.", "Le zyglotron dort."),
    *("En 1998, deux grenouillettes ont sauté.", "xyzzy - 3,14 !", "L'œuf de la poule."),
]
TOLERANCE = 0.01  # nats a word, of weights in half precision and matrices in int8
COLUMNS = ["word", "lemma", "upos", "feats", "weight", "source"]


@pytest.fixture(scope="module")
def run(tmp_path_factory, slow):
    """Of a lexicon that lacks most words, so that unknown ones are of several classes."""
    folder = tmp_path_factory.mktemp("compact")
    header, *rows = (ROOT / "lexicon/tiny.tsv").read_text().splitlines(keepends=True)
    (folder / "words.tsv").write_text("".join([header, *rows[::4]]))
    settings = {"train.epochs": 2, "analyse.lexicon": f"[closed, {folder / 'words.tsv'}, guesser]"}
    chosen = {"models": ["ll-rnn"], "until": "evaluate"}
    return accord.run("tiny", set=settings, **chosen, runs=folder / "runs")


@pytest.fixture(scope="module")
def folder(run, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("exports") / "small"
    command = ["export", str(run.folder), "ll-rnn", "--to", str(folder), "--compact"]
    answered(*command)
    return folder


@pytest.fixture(scope="module")
def whole(run):
    return accord.load(run.folder)


@pytest.fixture(scope="module")
def small(folder):
    return accord.load(folder)


def test_scores_are_those_of_the_whole_model_within_the_precision(whole, small):
    for ours, theirs in zip(small.score_all(SENTENCES), whole.score_all(SENTENCES), strict=True):
        assert [(w.form, w.spelled) for w in ours] == [(w.form, w.spelled) for w in theirs]
        np.testing.assert_allclose(
            [w.log_p for w in ours], [w.log_p for w in theirs], atol=TOLERANCE
        )
    assert any(w.spelled for words in small.score_all(SENTENCES) for w in words)


def test_words_prior_features_and_readings_are_the_same_to_the_last_bit(run, small):
    made = {stage: artefact.folder for (_, stage), artefact in run.artefacts.items()}
    types = pd.read_parquet(made["analyse"] / "types.parquet")
    chain = read_vocabulary(made["analyse"])
    assert list(small.vocabulary.forms) == types["form"].tolist() == chain.forms
    assert dict(small.vocabulary.known) == chain.known
    assert small.vocabulary.unknown == chain.unknown
    ours, theirs = small.parts.features, NamedFeatures.load(made["featurise"])
    assert ours.names == theirs.names
    for name in ("indptr", "indices", "values", "signature"):
        np.testing.assert_array_equal(getattr(ours.phi, name), getattr(theirs.phi, name))
    mass = np.load(made["background"] / "b.npy")
    np.testing.assert_array_equal(small.parts.mass(), mass)
    ours, theirs = (
        small.parts.readings.table(COLUMNS),
        pd.read_parquet(made["analyse"] / "analyses.parquet"),
    )
    texts = dict.fromkeys(("lemma", "upos", "feats", "source"), object)
    pd.testing.assert_frame_equal(ours.astype(texts), theirs[COLUMNS].astype(texts))


def test_readings_that_are_looked_up_one_by_one_are_those_of_the_table(small):
    table, forms = small.parts.readings.table(COLUMNS), small.vocabulary.forms
    readings = small.parts.readings
    for form, number in [*small.vocabulary.known.items()][::40]:
        rows = table[table["word"] == number][[*Reading._fields]]
        expected = [*rows.itertuples(index=False, name=None)]
        assert readings.of_form(form) == readings.of_word(number) == expected
    for lemma in [*filter(None, table["lemma"].astype(str).unique()[::25]), "être", "xyzzy"]:
        words = table["word"][table["lemma"].astype(str) == lemma].unique()
        assert readings.forms_of(lemma) == sorted(forms[word] for word in words)
    assert readings.of_form("xyzzy") == []


def test_any_string_is_of_the_class_that_the_lexicons_give_it(run, small):
    names = run.config.models["ll-rnn"]["analyse"].lexicon
    chain = lexicon.load(names, folder=folder_of, lowercase=True)
    unknown = small.vocabulary.unknown
    assert len(unknown) > 1
    forms = [f"{letters}{end}" for letters in ("zy", "abo", "Trou", "NAS", "4x") for end in ENDS]
    forms += ["1998", "12e", "3,14", "***", "Ωμέγα", "œuf", "Œufs", "l'", "CHATS", "İs"]
    forms = [form for form in forms if form not in small.vocabulary.known]
    expected = UnknownClasses(unknown, chain).ids(forms)
    np.testing.assert_array_equal(small.vocabulary.ids(forms), expected)


ENDS = ("", "e", "es", "s", "ment", "tion", "eur", "euse", "er", "é", "ées", "ait", "ons", "x")


def test_probabilities_sum_to_one(small):
    batch, _ = small.encoded([small.words(text) for text in SENTENCES])
    log_p = small.model.log_distributions(Sentences(batch.ids, batch.lengths))
    assert log_p.shape[1] == len(small.vocabulary.forms)
    np.testing.assert_allclose(np.exp(log_p).sum(axis=1), 1, atol=1e-4)


def test_the_folder_has_nothing_twice(folder):
    names = {path.name for path in folder.iterdir()}
    assert names == {
        *("README.md", "config.json", "words.npz", "analyses.npz", "features.npz", "endings.npz"),
        *("spelling.npz", "model-00001-of-00001.safetensors"),
    }
    assert all(path.stat().st_size <= 16_000_000 for path in folder.iterdir())
    text = (folder / "README.md").read_text()
    assert "## Limits" in text and "int8" in text and "The weights are under MIT" in text


def test_matrices_are_in_int8_only_if_validation_bears_it(
    run, folder, tmp_path, monkeypatch, capsys
):
    kept = load_tensors(folder / "model-00001-of-00001.safetensors")
    large = {name for name, value in kept.items() if value.ndim == 2 and value.shape[1] > 1}
    assert large >= {"embedding.weight", "encoder.layers.0.recurrent_weight"}
    assert {kept[name].dtype for name in large} == {torch.int8}
    losses = read_json(folder / "config.json")["rounding"]
    assert abs(losses["int8"] / losses["before"] - 1) < 0.002
    monkeypatch.setattr(compact_export, "MOST", 0.0)
    accord.export(run.folder, "ll-rnn", tmp_path / "half", compact=True)
    kept = load_tensors(tmp_path / "half" / "model-00001-of-00001.safetensors")
    assert {value.dtype for value in kept.values()} == {torch.float16}
    said = capsys.readouterr()
    assert "half precision is kept" in said.out + said.err


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {"encode.merges": 50, "background.kind": "ngram", "background.order": 3},
        {
            "analyse.protocol": "closed",
            "featurise.templates": ["form"],
            "featurise.forms": None,
            "train.output": "softmax",
        },
    ],
    ids=["n-grams of subwords", "softmax"],
)
def test_every_kind_of_model_can_be_rounded(changes, tmp_path):
    chosen = {"models": ["ll-rnn"], "until": "evaluate"}
    run = accord.run("tiny", set={"train.epochs": 1, **changes}, **chosen, runs=tmp_path / "runs")
    small = accord.load(accord.export(run.folder, "ll-rnn", tmp_path / "out", compact=True))
    whole = accord.load(run.folder)
    sentence = "La petite fille mange une pomme."
    for ours, theirs in zip(small.score(sentence), whole.score(sentence), strict=True):
        assert ours.log_p == pytest.approx(theirs.log_p, abs=0.05)
    with pytest.raises(ValueError, match="expected a folder for a compact model"):
        accord.export(run.folder, "ll-rnn", tmp_path / "out.arpa", compact=True)
