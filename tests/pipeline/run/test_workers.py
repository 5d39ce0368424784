"""Models trained on Ray are those that this machine trains, also where a node is lost."""

import shutil
import time
from importlib.util import find_spec
from pathlib import Path
from threading import Thread

import pytest
from typer.testing import CliRunner

from accord import run
from accord.pipeline.base.artefact import hashes_of
from accord.pipeline.cli.main import app
from accord.pipeline.run import workers
from accord.pipeline.run.pack import pack
from accord.pipeline.run.shards import Shards
from accord.pipeline.run.sweep import LOG, sweep
from accord.pipeline.run.workers import Pool, Ray, _sent_back

needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="needs the extra ray")
RESULTS = ("weights.safetensors", "test.log_p.npy", "recipe.json", "steps.csv")


@pytest.fixture
def one_thread(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # as Ray has it for a task with a core
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")


@pytest.fixture
def this_machine(one_thread):
    import ray

    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    yield
    ray.shutdown()


@pytest.fixture
def cluster(one_thread):
    """A cluster of two nodes with a core each, beside the one of the driver."""
    import ray
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    made.nodes = [made.add_node(num_cpus=1) for _ in range(2)]
    ray.init(address=made.address, log_to_driver=False, logging_level="ERROR")
    yield made
    ray.shutdown()
    made.shutdown()


def assert_same(one: Path, other: Path, models: list[str]) -> None:
    for model in models:
        for name in RESULTS:
            files = (folder / "trained" / model / name for folder in (one, other))
            assert len({path.read_bytes() for path in files}) == 1, f"{model}: {name}"


@pytest.mark.slow
@needs_ray
def test_a_model_trained_on_ray_is_the_one_that_a_pool_trains(tmp_path, this_machine):
    here, there, on_ray = tmp_path / "here", tmp_path / "there", Ray()
    [model] = pack("tiny", here, set=["train.epochs=1"], models=["ll-rnn"], runs=tmp_path / "runs")
    shutil.copytree(here, there)
    assert sweep([there], on_ray) == 0
    assert sweep([here], Pool()) == 0
    assert_same(here, there, [model])
    shards = Shards(2, on_ray)
    run("tiny", models=["ll-rnn"], until="corpus", runs=tmp_path / "shards", shards=shards)
    [whole] = (tmp_path / "runs" / "artefacts").glob("corpus-*")
    assert hashes_of(tmp_path / "shards" / "artefacts" / whole.name) == hashes_of(whole)


@pytest.mark.long
@needs_ray
def test_six_models_are_the_same_where_a_node_is_lost_while_it_trains(tmp_path, cluster, capsys):
    here, there = tmp_path / "here", tmp_path / "there"
    changes = ["train.epochs=30", "train.patience=30", "train.checkpoint_steps=5"]
    models = [*pack("tiny", here, set=changes, seeds=3, runs=tmp_path / "runs")]
    assert len(models) == 6
    shutil.copytree(here, there)

    def lose_a_node() -> None:
        # Each node trains one model at a time, so the lost one has a checkpoint here.
        while len({each.parent for each in there.glob("trained/*/checkpoint-*")}) < 2:
            time.sleep(0.05)
        cluster.remove_node(cluster.nodes[0], allow_graceful=False)

    killer = Thread(target=lose_a_node)
    killer.start()
    assert sweep([there], Ray()) == 0
    killer.join()
    logs = [(there / "trained" / model / LOG).read_text() for model in models]
    assert any("goes on from" in log for log in logs)
    assert sweep([here], Pool(1)) == 0
    assert_same(here, there, models)
    damaged = next(there.glob("encode-*/train.ids.npy"))
    damaged.write_bytes(damaged.read_bytes()[:-4] + b"\1\0\0\0")
    shutil.rmtree(there / "trained" / models[0])
    assert sweep([there], Ray()) == 1
    assert f"{models[0]}: failed: " in (said := capsys.readouterr().err) and "is damaged" in said


def test_a_checkpoint_is_sent_after_the_logs_before_it_and_removed_files_are_removed(tmp_path):
    kept: dict[str, bytes] = {}
    order: list[str] = []

    def send(name: str, content: bytes | None) -> None:
        order.append(name)
        if content is None:
            del kept[name]
        else:
            kept[name] = content

    (tmp_path / "steps.csv").write_text("1\n")
    with pytest.raises(ValueError, match="stopped"), _sent_back(tmp_path, send):
        (tmp_path / "steps.csv").write_text("1\n2\n")
        (tmp_path / "checkpoint-1").write_text("")
        while "checkpoint-1" not in kept:
            time.sleep(0.01)
        assert order == ["steps.csv", "checkpoint-1"]
        (tmp_path / "checkpoint-1").unlink()
        (tmp_path / "half.partial").mkdir()
        (tmp_path / "half.partial" / "weights").write_text("")
        raise ValueError("stopped")
    assert kept == {"steps.csv": b"1\n2\n"}


def test_without_ray_a_line_says_what_installs_it(monkeypatch):
    monkeypatch.setattr(workers, "find_spec", lambda name: None)
    done = CliRunner().invoke(app, ["run", "tiny", "--on", "ray"])
    assert done.exit_code == 2
    assert done.stderr.splitlines() == [
        "error: on ray: ray is not installed; `pip install 'accord-lm[ray]'` brings it"
    ]
