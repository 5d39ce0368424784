"""A packed folder names only what lies in it; it is refused until its models are measured."""

import json

import pytest
from typer.testing import CliRunner

from accord.pipeline.base.artefact import write_json
from accord.pipeline.cli.main import app
from accord.pipeline.model.export import export
from accord.pipeline.run.sweep import read_jobs


@pytest.mark.parametrize(
    "job",
    [
        {"../../elsewhere": {"inputs": {}}},
        {"a": {"inputs": {"encode": "/etc"}}},
        {"a": {"inputs": {}, "artefact": "../a"}},
        {"..": {"inputs": {}}},
        {"a": {"inputs": {}, "recipe": {"teachers": {"models": ["../b"]}}}},
        {"a": {"inputs": {}, "taught by": ["../b"]}},
    ],
)
def test_a_packed_folder_leads_nowhere_else(tmp_path, job):
    (tmp_path / "jobs.json").write_text(json.dumps(job))
    with pytest.raises(ValueError, match=r"jobs\.json: expected names of folders beside it"):
        read_jobs(tmp_path)


@pytest.mark.slow
def test_no_flipped_bit_of_the_jobs_goes_unseen(tmp_path):
    path, jobs = tmp_path / "jobs.json", {"rnn": {"inputs": {"encode": "encode-0123"}, "seed": 1}}
    write_json(path, jobs)
    assert read_jobs(tmp_path) == jobs
    written = path.read_bytes()
    for bit in range(8 * len(written)):
        damaged = bytearray(written)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        with pytest.raises((ValueError, OSError)):
            read_jobs(tmp_path)


def test_jobs_that_an_earlier_version_packed_have_no_hash_and_are_read(tmp_path):
    jobs = {"rnn": {"inputs": {"encode": "encode-0123"}}}
    (tmp_path / "jobs.json").write_text(json.dumps(jobs))
    assert read_jobs(tmp_path) == jobs


@pytest.fixture
def trained(tmp_path):
    """A packed folder whose model is trained and not measured yet."""
    (tmp_path / "jobs.json").write_text('{"rnn": {"protocol": "open", "inputs": {}}}')
    folder = tmp_path / "trained" / "rnn"
    folder.mkdir(parents=True)
    (folder / "weights.safetensors").touch()
    return tmp_path


@pytest.mark.parametrize("command", ["agree", "combine", "compare"])
def test_models_that_are_trained_and_not_measured_yet_are_not_compared(trained, command):
    told = CliRunner().invoke(app, [command, str(trained)])
    assert told.exit_code == 1
    assert "is not finished: expected a model that has scored its splits" in told.stderr
    assert f"sweep {trained}` goes on" in told.stderr.replace("\n", "")


def test_a_packed_model_is_exported_from_a_run(trained):
    with pytest.raises(ValueError, match="kind packed; `accord unpack` and"):
        export(trained, "rnn", trained / "out")
    assert not (trained / "out").exists()
