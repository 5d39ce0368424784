"""Models trained on Ray are those that this machine trains, also where a node is lost."""

import time
from concurrent.futures import Future
from importlib.util import find_spec
from threading import Thread

import pytest

from accord import run
from accord.pipeline.base.artefact import hashes_of
from accord.pipeline.integrations.ray import Ray, changes
from accord.pipeline.run.pool import Pool, Shards
from accord.pipeline.run.run import Run

needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="needs the extra ray")
RESULTS = ("model.safetensors", "words.npz", "steps.csv")


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


def assert_same(here: Run, there: Run) -> None:
    for model in here.config.models:
        folders = [each.artefacts[model, "train"].folder for each in (here, there)]
        for name in RESULTS:
            assert len({(each / name).read_bytes() for each in folders}) == 1, f"{model}: {name}"


@pytest.mark.slow
@needs_ray
def test_a_model_trained_on_ray_is_the_one_that_a_pool_trains(tmp_path, this_machine):
    chosen = {"set": {"train.epochs": 1}, "models": ["ll-rnn"], "until": "train"}
    ray = Ray()
    here = run("tiny", **chosen, runs=tmp_path / "here", workers=Pool())
    there = run("tiny", **chosen, runs=tmp_path / "there", workers=ray, shards=Shards(2, ray))
    assert_same(here, there)
    corpora = [each.artefacts["ll-rnn", "corpus"].folder for each in (here, there)]
    assert hashes_of(corpora[0]) == hashes_of(corpora[1])


@pytest.mark.long
@needs_ray
def test_six_models_are_the_same_where_a_node_is_lost_while_it_trains(tmp_path, cluster, capfd):
    changes = {"train.epochs": 30, "train.patience": 30, "train.checkpoint_steps": 5}
    chosen = {"set": changes, "seeds": 3, "until": "train"}

    def lose_a_node() -> None:
        # Each node trains one model at a time, so the lost one has a checkpoint here.
        places = tmp_path / "there" / "artefacts"
        while len({each.parent for each in places.glob(".train-*.partial/checkpoint-*")}) < 2:
            time.sleep(0.05)
        cluster.remove_node(cluster.nodes[0], allow_graceful=False)

    killer = Thread(target=lose_a_node)
    killer.start()
    there = run("tiny", **chosen, runs=tmp_path / "there", workers=Ray())
    killer.join()
    assert "its node was lost; it runs again" in capfd.readouterr().err
    assert len(there.config.models) == 6
    assert_same(run("tiny", **chosen, runs=tmp_path / "here", workers=Pool(1)), there)


def test_a_checkpoint_is_sent_after_the_logs_before_it_and_removed_files_are_removed(tmp_path):
    running = Future()
    sent = changes(tmp_path, ["steps.csv"], running)
    (tmp_path / "steps.csv").write_text("1\n2\n")
    (tmp_path / "checkpoint-1").write_text("")
    assert [next(sent), next(sent)] == [("steps.csv", b"1\n2\n"), ("checkpoint-1", b"")]
    (tmp_path / "checkpoint-1").unlink()
    (tmp_path / "half.partial").mkdir()
    (tmp_path / "half.partial" / "weights").write_text("")
    running.set_result(None)
    assert [*sent] == [("checkpoint-1", None)]
