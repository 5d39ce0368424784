"""A packed folder that comes from elsewhere names only what lies in it."""

import json

import pytest

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
