"""An exported model gives the scores of its run, to the last bit, wherever its folder is taken."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from huggingface_hub import ModelCard
from typer.testing import CliRunner

import accord
from accord.pipeline.ask.scorer import Scorer
from accord.pipeline.base.artefact import Damaged
from accord.pipeline.cli.main import app

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
    told = CliRunner().invoke(app, ["export", str(tiny_run.folder), "ll-rnn", "--to", str(folder)])
    assert told.exit_code == 0, told.output
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
