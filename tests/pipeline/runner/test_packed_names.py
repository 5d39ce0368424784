"""A packed folder that comes from elsewhere names only what lies in it."""

import json

import pytest

from accord.pipeline.artefacts.artefact import write_json
from accord.pipeline.runner.sweep import read_jobs


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
