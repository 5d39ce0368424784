"""Stages declare what they read; other tools open the artefacts as docs/training.md says."""

import json
from fnmatch import fnmatch

import numpy as np
import pandas as pd
import pytest
from datasets import Dataset
from safetensors.numpy import load_file
from scipy.sparse import csr_matrix, load_npz

from accord.models.phi import Features
from accord.pipeline.model.folder import COPIED
from accord.pipeline.stages.table import STAGES


def test_stages_read_earlier_stages():
    for place, stage in enumerate(STAGES.values()):
        assert stage.inputs.keys() <= {*[*STAGES][:place]}


@pytest.mark.parametrize("stage", STAGES.values(), ids=STAGES)
def test_what_a_model_takes_from_a_stage_or_an_audit_reads_is_among_its_outputs(stage):
    audited = (name for files in stage.audited.values() for name in files)
    for name in (*COPIED.get(stage.name, ()), *audited):
        assert any(fnmatch(output, name) or fnmatch(name, output) for output in stage.outputs)


def test_every_file_of_a_run_is_opened_by_the_tools_of_its_format(tiny_run):
    opened = {
        ".arrow": lambda path: Dataset.from_file(str(path)).to_pandas(),
        ".parquet": pd.read_parquet,
        ".csv": pd.read_csv,
        ".json": lambda path: json.loads(path.read_text(encoding="utf-8")),
        ".npy": lambda path: np.load(path, mmap_mode="r"),
        ".npz": lambda path: dict(np.load(path)),
        ".safetensors": load_file,
    }
    for (model, stage), artefact in tiny_run.artefacts.items():
        if stage == "report":  # pages and drawings too
            continue
        for name in artefact.meta["files"]:
            path = artefact.folder / name
            assert len(opened[path.suffix](path)), (model, stage, name)


def test_phi_is_a_sparse_matrix_of_scipy_with_a_row_for_each_signature(tiny_run):
    folder = tiny_run.artefacts["ll-rnn", "featurise"].folder
    phi, names = load_npz(folder / "phi.npz"), json.loads((folder / "names.json").read_text())
    own = Features.load(folder / "phi.npz")
    assert phi.shape == (own.signature_count, len(names))
    expected = csr_matrix((own.values, own.indices, own.indptr), phi.shape)
    assert (phi != expected).nnz == 0
    types = pd.read_parquet(tiny_run.artefacts["ll-rnn", "analyse"].folder / "types.parquet")
    signature = np.load(folder / "phi.npz")["signature"]
    chat = phi[signature[types["form"] == "chat"][0]]
    assert {"pos=NOUN", "Gender=Masc", "Number=Sing"} <= {names[place] for place in chat.indices}


@pytest.mark.parametrize("fault", [{"format": b"csc"}, {"shape": [1, 3, 3]}, {"shape": [9, 6]}])
def test_a_phi_of_another_form_is_refused(tmp_path, fault):
    Features.one_hot(6).save(tmp_path / "phi.npz")
    arrays = dict(np.load(tmp_path / "phi.npz"))
    np.savez(tmp_path / "phi.npz", **(arrays | {key: np.array(v) for key, v in fault.items()}))
    with pytest.raises(ValueError, match=r"phi\.npz: expected Φ in the format csr"):
        Features.load(tmp_path / "phi.npz")
