"""A training that goes on from a finished model: `train.start`."""

import shutil
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from run_cases import scores_of

import accord
from accord.models.common.files import load_json
from accord.models.common.weights import load_tensors
from accord.models.train import Trainer
from accord.pipeline.base.artefact import Damaged
from accord.pipeline.data.encoded import read_sentences
from accord.pipeline.model.comparison import comparison_table, read_epochs, read_scores
from accord.pipeline.model.folder import ModelFolder
from accord.pipeline.study.audit import audit, starts

ROOT = Path(__file__).parents[3]
NEW = "Le zyglotron mange une pomme et le zyglotron dort."
OLD_TEXT = {"corpus.source": "tiny", "corpus.valid": 0.1, "corpus.test": 0.1}
BRIEF = {"train.epochs": 2, "train.batch": 4, "train.learning_rate": 1e-3}


@pytest.fixture(scope="module")
def start(tiny_run, tmp_path_factory) -> Path:
    """The model of the tiny preset, exported."""
    return accord.export(tiny_run.folder, "ll-rnn", tmp_path_factory.mktemp("exports") / "small")


@pytest.fixture(scope="module")
def text(tmp_path_factory) -> Path:
    """A text with a word that the start does not know."""
    path = tmp_path_factory.mktemp("texts") / "mine.txt"
    phrases = (ROOT / "tests/data/phrases.txt").read_text(encoding="utf-8")
    path.write_text(phrases + f"{NEW}\n" * 4 + "Ma voisine a vu une blorpe.\n", encoding="utf-8")
    return path


@pytest.fixture
def mine(tmp_path) -> str:
    """A configuration that says no more than it must."""
    path = tmp_path / "mine.yaml"
    path.write_text("models: {mine: {}}\n")
    return str(path)


def go_on(config: str, start: Path, runs: Path, until: str | None = "train", **changes):
    settings = {"train.start": start, **BRIEF, **changes}
    return accord.run(config, set=settings, until=until, runs=runs)


def tiny(changes: dict, folder: Path):
    """The LL-RNN of the tiny preset with changes, as far as it is exported."""
    runs = folder / "runs"
    return accord.run("tiny", set=changes, models=["ll-rnn"], until="evaluate", runs=runs)


def folder(run, stage: str) -> Path:
    return run.artefacts["mine", stage].folder


@pytest.fixture(scope="module")
def adapted(start, text, tmp_path_factory):
    """The start, fine-tuned on the text."""
    runs = tmp_path_factory.mktemp("adapted")
    config = runs / "mine.yaml"
    config.write_text("models: {mine: {}}\n")
    return go_on(str(config), start, runs, "evaluate", **{"corpus.source": text})


def test_on_its_own_text_it_begins_where_the_start_ended(mine, tiny_run, start, tmp_path):
    run = go_on(mine, start, tmp_path, **OLD_TEXT)
    before = read_epochs(tiny_run.artefacts["ll-rnn", "train"].folder)
    after = read_epochs(folder(run, "train"))
    assert after["epoch"].tolist() == [0, 1, 2]
    assert after["valid_nats"][0] == pytest.approx(before["valid_nats"].min(), abs=1e-6)
    mass = np.load(folder(run, "background") / "b.npy")
    assert np.array_equal(ModelFolder(start).mass(), mass)


@pytest.fixture
def vectors(tmp_path) -> dict:
    """Random vectors of the words of the tiny lexicon, of which three dimensions are taken."""
    forms = (ROOT / "lexicon/tiny.tsv").read_text(encoding="utf-8").split()[::4]
    drawn = np.random.default_rng(1).normal(size=(len(forms), 6)).astype(np.float32)
    np.savez(tmp_path / "vectors.npz", forms=np.array(forms), vectors=drawn)
    return {"source": str(tmp_path / "vectors.npz"), "dimensions": 3}


def test_words_of_the_text_become_known_and_the_features_stay(mine, start, text, tmp_path):
    run = go_on(mine, start, tmp_path, **{"corpus.source": text, "corpus.seed": 3})
    before, after = accord.load(start), accord.load(run.folder)
    assert not before.vocabulary.knows(["zyglotron"])
    assert after.vocabulary.knows(["zyglotron", "fille"])
    names = [ModelFolder(path).feature_names for path in (start, folder(run, "train"))]
    new = [name for name in names[1] if name not in names[0]]
    assert [name for name in names[1] if name not in new] == names[0]
    assert "form=lettre" in names[0]
    assert all(name.startswith("form=") for name in new)
    score = {
        name: sum(w.log_p for w in model.score(NEW))
        for name, model in (("before", before), ("after", after))
    }
    assert score["after"] > score["before"]
    assert np.load(folder(run, "background") / "b.npy").sum() == pytest.approx(1)


@pytest.mark.parametrize("dimensions", [0, 3])
def test_a_closed_vocabulary_begins_as_the_start_does_among_its_words(
    mine, start, text, vectors, dimensions, tmp_path
):
    """log p(x|K) is that of the start but for b; new vectors have no weight before training."""
    changes = {"corpus.source": text, "corpus.seed": 3, "analyse.protocol": "closed"}
    changes |= {"featurise.vectors": vectors} if dimensions else {}
    run = go_on(mine, start, tmp_path / "runs", "evaluate", **changes)
    before, after = accord.load(start), accord.load(run.folder)
    assert {*before.vocabulary.forms} - {*after.vocabulary.forms}
    assert after.vocabulary.knows(["zyglotron", "blorpe", "pomme"]) and not after.is_open
    types = pd.read_parquet(folder(run, "analyse") / "types.parquet")
    as_start = types["start"].to_numpy()
    masses = [ModelFolder(path).mass() for path in (start, folder(run, "train"))]
    assert masses[1].sum() == pytest.approx(1)
    valid = read_sentences(folder(run, "encode"), "valid")
    log_p = before.model.log_distributions(valid._replace(ids=as_start[valid.ids]))[:, as_start]
    log_p = log_p - np.log(masses[0])[as_start] + np.log(masses[1])
    log_p = log_p - np.logaddexp.reduce(log_p, axis=1, keepdims=True)
    nats = -np.take_along_axis(log_p, valid.ids[:, None].astype(int), axis=1).mean()
    assert read_epochs(folder(run, "train"))["valid_nats"][0] == pytest.approx(nats, abs=1e-5)
    names = load_json(folder(run, "featurise") / "names.json", list)
    assert names[len(names) - dimensions :] == [f"vector[{each}]" for each in range(dimensions)]
    assert after.model.features.dimensions == dimensions
    weights = load_tensors(folder(run, "train") / "model.safetensors")["embedding.weight"]
    assert len(weights) == len(names) and weights[len(names) - dimensions :].all()
    exported = accord.load(accord.export(run.folder, "mine", tmp_path / "closed"))
    assert [word.log_p for word in exported.score(NEW)] == pytest.approx(
        [word.log_p for word in after.score(NEW)], abs=1e-4
    )


def test_it_never_ends_worse_than_it_began_and_the_table_says_how_good_that_was(
    mine, start, tmp_path
):
    text = tmp_path / "text.txt"
    eaten = product(("un", "le", "ce", "son", "mon", "ton"), ("chat", "chien", "fruit", "pain"))
    text.write_text("".join(f"Le zyglotron mange {' '.join(words)}.\n" for words in eaten))
    rows = {}
    for rate in (3.0, 1e-3):  # the first never betters it
        changes = {"corpus.source": text, "train.learning_rate": rate}
        run = go_on(mine, start, tmp_path, **changes, until="evaluate")
        (rows[rate],) = comparison_table(scores_of(run.folder)).to_dict("records")
        if rate == 3.0:
            assert read_epochs(folder(run, "train"))["valid_nats"].idxmin() == 0
            kept = load_tensors(folder(run, "train") / "model.safetensors")
            first = load_tensors(folder(run, "featurise") / "start.safetensors")
            assert all((kept[name] == first[name]).all() for name in first)
            figures = read_scores(folder(run, "evaluate")).set_index(["split", "metric"])["value"]
            assert figures["train", "best epoch"] == 0
            assert figures["train", "words trained per second"] > 0
    assert rows[3.0]["start's ppl"] == rows[3.0]["perplexity"]
    assert rows[1e-3]["start's ppl"] == rows[3.0]["start's ppl"] != rows[1e-3]["perplexity"]


def test_an_interrupted_training_ends_as_one_that_was_not(mine, start, text, tmp_path, monkeypatch):
    changes = {"corpus.source": text, "train.bptt": 5, "train.checkpoint_steps": 5}
    whole = go_on(mine, start, tmp_path / "whole", **changes)
    take, done = Trainer._step, []

    def interrupted(self, *args):
        done.append(take(self, *args))
        if len(done) == 12:
            raise KeyboardInterrupt
        return done[-1]

    monkeypatch.setattr(Trainer, "_step", interrupted)
    with pytest.raises(KeyboardInterrupt):
        go_on(mine, start, tmp_path / "parts", **changes)
    parts = go_on(mine, start, tmp_path / "parts", **changes)
    curves = [read_epochs(folder(run, "train"))["valid_nats"] for run in (whole, parts)]
    assert curves[0].tolist() == curves[1].tolist()
    weights = [(folder(run, "train") / "model.safetensors").read_bytes() for run in (whole, parts)]
    assert weights[0] == weights[1]


@pytest.mark.parametrize(
    ("key", "value", "both"),
    [
        ("train.embedding", 64, r"train\.embedding: expected 48, as in .*small.* got 64"),
        (
            "analyse.lexicon",
            "[closed, tiny]",
            r"analyse\.lexicon: expected \[tiny\], .* got \[closed, tiny\]",
        ),
        ("tokenise.lowercase", False, r"tokenise\.lowercase: expected true, .* got false"),
        ("featurise.vectors", {"source": "spacy"}, r"vectors: expected null, .*closed may add"),
    ],
)
def test_what_contradicts_the_start_is_refused_with_both_values(
    mine, start, tmp_path, key, value, both
):
    with pytest.raises(ValueError, match=both):
        go_on(mine, start, tmp_path, **{key: value})
    assert not (tmp_path / "artefacts").exists()


def test_what_the_start_holds_decides_what_is_made_anew(
    mine, start, text, adapted, tmp_path, capsys
):
    copied = shutil.copytree(start, tmp_path / "copied")
    runs = shutil.copytree(adapted.folder.parent, tmp_path / "runs", symlinks=True)
    capsys.readouterr()
    go_on(mine, copied, runs, **{"corpus.source": text})
    assert "all stages" in capsys.readouterr().err  # the same content in another folder
    weights = copied / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"?")
    with pytest.raises(Damaged, match=r"model\.safetensors"):
        go_on(mine, copied, tmp_path / "others", **{"corpus.source": text})


def test_an_audit_computes_again_from_the_start(adapted, start):
    answers = audit(adapted.folder).set_index("part")
    assert answers["train"].to_dict() == {"vocabulary": "yes", "φ": "yes", "b": "yes"}
    assert set(answers["test"]) == {"no"}
    assert starts(adapted.folder) == [str(start)]


def test_an_adapted_model_is_exported_and_gone_on_from_again(mine, start, text, adapted, tmp_path):
    exported = accord.export(adapted.folder, "mine", tmp_path / "adapted")
    about = load_json(exported / "config.json", dict)
    assert [corpus["name"] for corpus in about["corpora"]] == ["tiny", "mine.txt"]
    assert [lexicon["name"] for lexicon in about["lexicons"]] == ["tiny"]
    assert str(start) not in (exported / "config.json").read_text()
    assert accord.load(adapted.folder).score(NEW) == accord.load(exported).score(NEW)
    again = go_on(mine, exported, tmp_path / "again", **{"corpus.source": text})
    assert again.artefacts["mine", "train"]
