"""Models by name, in folders and exported: the scores of their run, wherever they are taken."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cli_cases import answered, invoked
from huggingface_hub import ModelCard

import accord
from accord.pipeline.ask.scorer import Scorer
from accord.pipeline.base.artefact import Damaged
from accord.pipeline.model import find as resolve
from accord.pipeline.model.find import BUNDLED_FOLDER, find, one
from accord.pipeline.model.folder import open_folder

ROOT = Path(__file__).parents[3]
SENTENCES = ["La petite fille mange une pomme.", "Un zyglotron dort.", "Les chats noirs dorment."]
BY_LOAD = """
import json, sys
from accord import load
scored = load(sys.argv[1]).score_all(json.loads(sys.argv[2]))
print(json.dumps([[(w.form, w.log_p.hex(), w.spelled) for w in words] for words in scored]))
"""


@pytest.fixture(scope="module")
def exported(tiny_run, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("exports") / "small-french"
    answered("export", str(tiny_run.folder), "ll-rnn", "--to", str(folder))
    return folder


def scored(model: Scorer) -> list:
    words = model.score_all(SENTENCES)
    return [[[word.form, word.log_p.hex(), word.spelled] for word in each] for each in words]


def elsewhere(place: str, folder: Path, **environment: str) -> subprocess.CompletedProcess:
    """Load and score in a process that works in another folder."""
    return subprocess.run(
        [sys.executable, "-c", BY_LOAD, place, json.dumps(SENTENCES)],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)} | environment,
        capture_output=True,
        text=True,
    )


def test_scores_are_the_same_in_another_place(tiny_run, exported, tmp_path):
    shutil.copytree(exported, tmp_path / "taken")
    expected = scored(accord.load(tiny_run.folder, "ll-rnn"))
    assert scored(accord.load(exported)) == expected
    assert json.loads(elsewhere("taken", tmp_path).stdout) == expected


def test_a_model_of_the_hub_is_a_folder_like_others(exported, tmp_path):
    """The hub's own cache, filled by hand, and no network."""
    cache = tmp_path / "models--someone--small-french"
    shutil.copytree(exported, cache / "snapshots" / "0a1b")
    (cache / "refs").mkdir()
    (cache / "refs" / "main").write_text("0a1b")
    hub = {"HF_HUB_OFFLINE": "1", "HF_HUB_CACHE": str(tmp_path)}
    done = elsewhere("hf:someone/small-french", tmp_path, **hub)
    assert json.loads(done.stdout) == scored(accord.load(exported))
    missing = elsewhere("hf:someone/nothing", tmp_path, **hub).stderr
    assert "hf:someone/nothing: expected a model on the Hugging Face hub" in missing


def test_the_folder_holds_what_the_hub_expects_and_none_of_the_texts(exported):
    names = {path.name for path in exported.iterdir()}
    assert names == {
        *("README.md", "config.json", "model.safetensors", "words.npz", "analyses.npz"),
        *("features.npz", "spelling.npz"),
    }
    card = ModelCard.load(exported / "README.md")
    assert (card.data.language, card.data.license, card.data.datasets) == ("fr", "mit", ["tiny"])
    about = json.loads((exported / "config.json").read_text())
    assert about["lexicons"] == [{"name": "tiny", "licence": "MIT"}]
    (perplexity,) = [
        row["value"]
        for row in about["scores"]
        if (row["split"], row["metric"]) == ("test", "perplexity")
    ]
    assert f"{perplexity:,.4g}" in card.text
    assert str(ROOT) not in card.content


@pytest.mark.parametrize("name", ["model.safetensors", "words.npz", "config.json"])
def test_a_damaged_file_is_named(exported, tmp_path, name):
    folder = shutil.copytree(exported, tmp_path / "bad")
    data = bytearray((folder / name).read_bytes())
    data[len(data) // 2] ^= 1
    (folder / name).write_bytes(data)
    with pytest.raises((Damaged, ValueError), match=name):
        accord.load(folder)


@pytest.mark.slow
def test_a_model_tells_unknown_words_apart_without_its_lexicons(tmp_path):
    """Where the lexicons' own data is not."""
    words = tmp_path / "words.tsv"
    header, *rows = (ROOT / "lexicon/tiny.tsv").read_text().splitlines(keepends=True)
    words.write_text("".join([header, *rows[::4]]))  # so that most words are unknown
    settings = {"train.epochs": 1, "analyse.lexicon": f"[closed, {words}, guesser]"}
    chosen = {"models": ["ll-rnn"], "until": "evaluate"}
    run = accord.run("tiny", set=settings, **chosen, runs=tmp_path / "runs")
    expected = scored(accord.load(run.folder, "ll-rnn"))
    accord.export(run.folder, "ll-rnn", tmp_path / "out")
    assert (tmp_path / "out" / "endings.npz").exists()
    words.unlink()
    done = elsewhere(str(tmp_path / "out"), tmp_path, XDG_CACHE_HOME="empty")
    assert json.loads(done.stdout) == expected
    everything = b"".join(path.read_bytes() for path in (tmp_path / "out").glob("*.[jm]*"))
    assert str(tmp_path).encode() not in everything, "no path of this machine"


def test_a_run_is_all_of_its_models_or_the_last_one(tiny_run):
    assert [model.name for model in find(tiny_run.folder)] == ["rnn", "ll-rnn"]
    last = one(tiny_run.folder)
    assert last == one(tiny_run.folder, "ll-rnn") == one(tiny_run.folder / "ll-rnn")
    assert (last.name, last.kind, last.place) == ("ll-rnn", "run", tiny_run.folder)
    assert last.folder == tiny_run.artefacts["ll-rnn", "train"].folder
    assert last.scores == tiny_run.artefacts["ll-rnn", "evaluate"].folder
    assert last.protocol == "open"


def test_every_kind_of_folder_is_opened_by_one_function(tiny_run, tmp_path):
    exported = accord.export(tiny_run.folder, "ll-rnn", tmp_path / "mine")
    small = accord.export(tiny_run.folder, "ll-rnn", tmp_path / "small", compact=True)
    names = {"run": tiny_run.folder, "exported": exported, "bundled": None}
    models = {kind: one(name) for kind, name in names.items()}
    assert {kind: model.kind for kind, model in models.items()} == {kind: kind for kind in names}
    assert models["bundled"].folder == BUNDLED_FOLDER
    for folder in (*(model.folder for model in models.values()), small):
        model = open_folder(folder)
        assert model.vocabulary.knows(["le", "chat"]) and model.mass().sum() == pytest.approx(1)
        assert model.readings.of_form("chat")[0].upos == "NOUN"
    assert all(model.protocol == "open" for model in models.values())


def test_the_hub_is_asked_only_for_what_says_so():
    (model,) = find("hf:someone/french")
    assert (model.kind, model.folder) == ("hub", None)
    with pytest.raises(ValueError, match="expected hf:OWNER/NAME"):
        find("hf:someone")
    with pytest.raises(FileNotFoundError, match="typo/french is no trained model: expected"):
        find("typo/french")


SENTENCE = "La petite fille mange une pomme."
COMMANDS = (
    ["score", SENTENCE],
    ["explain", "la petite …"],
    ["surprisal", str(ROOT / "tests" / "data" / "phrases.txt")],
    ["agree", "--suite"],
)


@pytest.fixture(scope="module")
def small(tiny_run, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("box") / "french"
    return accord.export(tiny_run.folder, "ll-rnn", folder, compact=True)


@pytest.fixture
def in_the_box(small, monkeypatch) -> None:
    monkeypatch.setattr(resolve, "BUNDLED_FOLDER", small)


def test_it_is_loaded_where_nothing_is_named_and_by_its_name(in_the_box, small):
    named = accord.load(small).score(SENTENCE)
    assert accord.load().score(SENTENCE) == named
    assert accord.load("french").score(SENTENCE) == named
    with pytest.raises(ValueError, match="--model rnn needs --run"):
        accord.load(model="rnn")
    for alone in ("french", small):
        with pytest.raises(ValueError, match=f"{alone} is one model: expected a run that has"):
            accord.load(alone, "rnn")


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_every_command_that_asks_a_model_takes_it(in_the_box, small, command, tmp_path):
    if command[0] == "agree":
        suite = tmp_path / "pairs.csv"
        suite.write_text("good,bad\nles chats dorment,les chats dort\n", encoding="utf-8")
        command = [*command, str(suite)]
    told = answered(*command)
    named = [str(small)] if command[0] == "agree" else ["--run", str(small)]
    assert told.stdout == invoked(*command, *named).stdout


def test_a_copy_without_a_model_says_so_and_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setattr(resolve, "BUNDLED_FOLDER", tmp_path / "french")
    for command in (["score", SENTENCE], ["vectors", "le"], ["explain", "la petite …"]):
        told = invoked(*command)
        assert told.exit_code == 1 and told.stderr.count("\n") == 1
        assert "comes without a model" in told.stderr and "--run FOLDER" in told.stderr
    with pytest.raises(FileNotFoundError, match="comes without a model"):
        accord.load()
