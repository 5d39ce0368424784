"""The runner: skips what is done, says why it reruns, loses nothing; seeds and shards."""

import json
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from run_cases import Here, copy_prepared

import accord
from accord.corpora.sources import read
from accord.models.common.files import WEIGHTS
from accord.models.common.weights import load_tensors
from accord.pipeline.base import arrow as tables
from accord.pipeline.base.artefact import faults, hashes_of
from accord.pipeline.base.tables import by_seed, mean_and_spread, with_seeds
from accord.pipeline.config.configuration import load_config
from accord.pipeline.model import comparison
from accord.pipeline.model.comparison import scores
from accord.pipeline.run.pool import SHARDS, Shards
from accord.pipeline.run.run import Run
from accord.pipeline.stages import tokenise

ACCORD = [sys.executable, "-m", "accord.pipeline.cli.main"]


@pytest.fixture
def runs(tmp_path, tiny_run) -> Path:
    """A copy of the finished tiny run's folder of runs, in another place."""
    shutil.copytree(tiny_run.folder.parent, tmp_path / "runs", symlinks=True)
    return tmp_path / "runs"


def states(runs: Path, *overrides: str) -> dict[tuple[str, str], tuple[str, str]]:
    config = load_config("tiny", ["train.epochs=3", *overrides])
    return {(s.model, s.stage.name): (s.state, s.why) for s in Run(config, runs).status()}


def test_all_is_done_after_a_run_even_if_its_folder_was_moved(runs):
    assert {state for state, _ in states(runs).values()} == {"done"}


def test_a_changed_parameter_makes_its_stage_stale_and_says_why(runs):
    found = states(runs, "ll-rnn.featurise.forms=30")
    assert found["ll-rnn", "featurise"] == ("stale", "forms 60 → 30")
    assert found["ll-rnn", "analyse"][0] == "done"
    assert found["ll-rnn", "train"] == ("stale", "waits for featurise")
    assert found["rnn", "train"][0] == "done", "the key was changed for the other"


def test_variants_of_a_configuration_stand_side_by_side(runs, capsys):
    first = (runs / "tiny" / "run.json").read_bytes()
    settings = {"set": {"train.epochs": 3, "ll-rnn.train.epochs": 1}, "runs": runs}
    other = accord.run("tiny", models=["ll-rnn"], name="short", **settings)
    assert other.folder == runs / "short"
    assert set(scores(other.folder)["model"]) == {"ll-rnn"}
    assert (runs / "tiny" / "run.json").read_bytes() == first
    assert list(faults(runs / "tiny")) == list(faults(runs / "short")) == []
    said = capsys.readouterr().err
    assert "train [ll-rnn]" in said
    assert "corpus" not in said, "what they share is made once"
    with pytest.raises(ValueError, match="a run cannot be called artefacts"):
        accord.run("tiny", name="artefacts", runs=runs)


def test_what_comes_out_the_same_reruns_nothing_below_it(runs, capsys):
    accord.run("tiny", set={"train.epochs": 3}, force=["tokenise"], runs=runs)
    said = capsys.readouterr().err
    assert "tokenise [rnn]: running (forced)" in said
    assert "analyse" not in said


def test_models_that_agree_share_artefacts(tiny_run):
    shared = {"corpus", "tokenise", "analyse", "encode"}
    names = {
        stage: {artefact.folder for (_, s), artefact in tiny_run.artefacts.items() if s == stage}
        for _, stage in tiny_run.artefacts
    }
    assert {stage for stage, folders in names.items() if len(folders) == 1} == shared | {"report"}


def test_two_runs_of_the_same_seed_are_the_same_to_the_last_bit(tmp_path, tiny_run):
    again = accord.run("tiny", set={"train.epochs": 3}, runs=tmp_path)
    for key, artefact in tiny_run.artefacts.items():
        repeated = again.artefacts[key].meta["files"]
        for name, digest in artefact.meta["files"].items():
            timed = {
                "curve.csv",
                "figures.json",
                "scores.parquet",
                "scores.csv",
                "index.html",
                "table.md",
            }
            if name not in timed:
                assert repeated[name] == digest, (key, name)


def test_an_interrupt_keeps_what_is_done_and_the_next_run_resumes(tmp_path, tiny_run):
    copy_prepared(tiny_run.folder, tmp_path)
    command = [*ACCORD, "run", "tiny", "--models", "ll-rnn", "--runs", str(tmp_path)]
    command += ["--set", "train.epochs=100", "--set", "train.patience=100"]
    # A shell that starts the tests in the background has them, and what they start, ignore Ctrl-C.
    process = subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    lines = []
    for line in process.stderr:
        lines.append(line)
        if "epoch 3:" in line:
            process.send_signal(signal.SIGINT)
            break
    lines.append(process.communicate(timeout=60)[1])
    assert process.returncode == 130
    assert "interrupted: finished work is kept" in lines[-1]
    assert "Traceback" not in "".join(lines)

    again = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    line = next(line for line in again.stderr if "epoch" in line and "valid" in line)
    again.kill()
    again.wait()
    assert int(line.split("epoch ")[1].split(":")[0]) >= 4, "it resumes after epoch 3"


@pytest.mark.slow
def test_a_file_that_cannot_be_written_whole_leaves_earlier_artefacts(tmp_path, capsys):
    """The file-size limit of the process stands for a disk that is full."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))

    command = [*ACCORD, "run", "tiny", "--set", "train.epochs=2", "--runs", str(tmp_path)]
    done = subprocess.run(command, preexec_fn=limit, capture_output=True, text=True)
    assert done.returncode == 1
    assert "error: " in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    finished = [path for path in (tmp_path / "artefacts").iterdir() if path.name[0] != "."]
    assert {path.name.split("-")[0] for path in finished} >= {"corpus", "tokenise"}
    assert all((path / "meta.json").exists() for path in finished)
    accord.run("tiny", set={"train.epochs": 2}, until="encode", runs=tmp_path)
    assert "corpus [rnn]" not in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("times", [1, pytest.param(20, marks=pytest.mark.long)])
def test_two_processes_in_one_folder_do_not_disturb_each_other(tmp_path, times):
    for number in range(times):
        runs = tmp_path / str(number)
        command = [*ACCORD, "run", "tiny", "--models", "ll-rnn", "--runs", str(runs)]
        command += ["--set", "train.epochs=1", "--set", "corpus.limit=100"]
        pair = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True)]
        time.sleep(random.Random(number).uniform(0, 4) * bool(number))  # the first two at once
        pair.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        tables = [process.communicate(timeout=600)[0] for process in pair]
        assert [process.returncode for process in pair] == [0, 0]
        assert tables[0] == tables[1]
        assert not list((runs / "artefacts").glob(".*partial"))
        assert list(faults(runs / "tiny")) == []


def test_a_finished_run_stands_until_another_is_finished_in_its_place(runs):
    manifest = (runs / "tiny" / "run.json").read_bytes()
    empty = runs / "empty.txt"
    empty.write_text("")
    with pytest.raises(ValueError, match="is empty"):
        accord.run("tiny", set={"corpus.source": str(empty)}, runs=runs)
    accord.run("tiny", set={"featurise.forms": 7}, until="encode", runs=runs)
    assert (runs / "tiny" / "run.json").read_bytes() == manifest
    assert accord.load(runs / "tiny").score("Le chat dort.")


def test_each_trained_model_comes_with_every_seed_and_counted_ones_once(tmp_path):
    config = tmp_path / "both.yaml"
    config.write_text(
        "base: tiny\nmodels: {net: {train: {seed: 7}}, counted: {train: {output: background}}}"
    )
    models = with_seeds(load_config(str(config)).models, 3)
    seeds = {name: sections["train"].seed for name, sections in models.items()}
    assert seeds == {"net": 7, "net-seed2": 8, "net-seed3": 9, "counted": 1}
    assert by_seed(models) == {"net": ["net", "net-seed2", "net-seed3"], "counted": ["counted"]}
    with pytest.raises(ValueError, match="seeds: expected 1 or more, got 0"):
        with_seeds(load_config("tiny").models, 0)
    config.write_text("base: tiny\nmodels: {net: {}, net-seed2: {}}")
    for seeds in (1, 2):
        with pytest.raises(ValueError, match="'net-seed2' is called like a seed of 'net'"):
            with_seeds(load_config(str(config)).models, seeds)


@pytest.mark.slow
def test_a_family_is_one_row_and_each_seed_begins_with_weights_of_its_own(tmp_path):
    """The steps are too short to move a weight."""
    changes = {"train.epochs": 1, "train.learning_rate": 1e-12, "train.ema": 0.0}
    run = accord.run("tiny", set=changes, seeds=2, runs=tmp_path)
    scores = comparison.scores(run.folder)
    chosen = scores[(scores["split"] == "test") & (scores["metric"] == "perplexity")]
    of_model = chosen.set_index("model")["value"]
    assert list(of_model.index) == ["rnn", "rnn-seed2", "ll-rnn", "ll-rnn-seed2"]
    rows = (run.folder / "report" / "table.md").read_text().splitlines()[2:]
    assert [row.split("|")[1].strip() for row in rows] == ["rnn", "ll-rnn"]
    pair = of_model["ll-rnn"], of_model["ll-rnn-seed2"]
    expected = f"{np.mean(pair):,.1f} ± {abs(pair[0] - pair[1]) / np.sqrt(2):,.1f}"
    assert rows[1].split("|")[2].strip() == expected == mean_and_spread(pair, 1)
    first, second = (
        load_tensors(run.artefacts[name, "train"].folder / WEIGHTS) for name in ("rnn", "rnn-seed2")
    )
    drawn = first["embedding.weight"]
    assert not torch.allclose(drawn, second["embedding.weight"], atol=1e-3)
    assert torch.allclose(drawn.std(), second["embedding.weight"].std(), rtol=0.1)


@pytest.fixture
def changes(tmp_path, monkeypatch) -> list[str]:
    """Sources that can be cut and others that cannot, with copies, labels and documents."""
    monkeypatch.setattr(tables, "BATCH", 20)
    texts = [sentence.text for sentence in read("tiny")]
    rows = [
        {"text": text, "document": f"d{number // 7}", "genre": "abc"[number // 90]}
        for number, text in enumerate(texts[:250] + texts[40:60])
    ]
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (tmp_path / "texts").mkdir()
    for number in range(4):
        lines = "\n".join(texts[200 + 40 * number : 250 + 40 * number])
        (tmp_path / "texts" / f"{number}.txt").write_text(f"{lines}\n\nZorglub glube .\n")
    first = "\n".join(texts[:30])
    (tmp_path / "first.txt").write_text(f"{first}\nEncore une autre phrase que voilà .\n")
    sources = f"[{tmp_path / 'rows.jsonl'}, {tmp_path / 'texts'}]"
    pretraining = f"corpus.pretraining={tmp_path / 'first.txt'}"
    return [f"corpus.source={sources}", pretraining, "corpus.labels=[genre, source]"]


def prepared(
    runs: Path, changes: list[str], shards: Shards | None = None, until: str = "encode"
) -> Run:
    this = Run(load_config("tiny", changes, ["ll-rnn"]), runs, shards)
    this.execute(until)
    return this


@pytest.mark.slow
@pytest.mark.parametrize(("protocol", "counts"), [("open", (1, 5)), ("closed", (2,))])
def test_the_bytes_do_not_depend_on_the_number_of_shards(tmp_path, changes, protocol, counts):
    changes = [*changes, f"analyse.protocol={protocol}", "encode.merges=20"]
    whole = hashes_of(prepared(tmp_path / "whole", changes).store.folder)
    assert any(name.endswith("train.documents.npy") for name in whole)
    assert any(name.endswith("pretraining.labels.npy") for name in whole)
    for count in counts:
        here = Here()
        this = prepared(tmp_path / str(count), changes, Shards(count, here))
        assert hashes_of(this.store.folder) == whole
        assert here.called >= 4 * count


@pytest.mark.slow
def test_an_interrupted_stage_resumes_with_the_shards_that_are_whole(
    tmp_path, changes, capsys, monkeypatch
):
    whole = prepared(tmp_path / "whole", changes, until="tokenise")
    here = Here()
    with monkeypatch.context() as patch, pytest.raises(ZeroDivisionError):
        patch.setattr(tokenise, "compute", lambda *given, **shards: 1 / 0)
        prepared(tmp_path / "runs", changes, Shards(5, here))
    [left] = (tmp_path / "runs" / "artefacts").glob(".tokenise-*.partial")
    damaged, missing, *others = sorted(left.glob(f"{SHARDS}/*/{tokenise.COUNTS}"))
    assert len(others) == 3
    damaged.write_bytes(damaged.read_bytes()[:-1])
    missing.unlink()
    (left / "stranger.arrow").write_bytes(b"of the interrupted run")
    capsys.readouterr()
    this = prepared(tmp_path / "runs", changes, Shards(5, here), "tokenise")
    assert "tokenise: 3 of 5 shards are there" in capsys.readouterr().err
    assert hashes_of(this.store.folder) == hashes_of(whole.store.folder)
