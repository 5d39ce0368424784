"""Files of arrays and weights: whole or absent, none is code, damage is named; weights in int8."""

import io
import os
import pickle
import struct
import zipfile

import numpy as np
import pytest
import torch
from full_disk import full_disk

from accord.models.common import arrays
from accord.models.common.arrays import (
    load_array,
    load_arrays,
    load_model,
    packed,
    save_shards,
    unpacked,
)
from accord.models.common.files import whole, write_whole
from accord.models.common.weights import load_weights
from accord.models.phi import Features


def header(shape: tuple[int, ...], kind: str = "<i8") -> bytes:
    file = io.BytesIO()
    about = {"descr": kind, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, about)
    return file.getvalue()


def test_what_was_saved_is_loaded(tmp_path):
    numbers = np.arange(12).reshape(3, 4)
    np.save(tmp_path / "a.npy", numbers)
    assert np.array_equal(load_array(tmp_path / "a.npy"), numbers)
    assert isinstance(load_array(tmp_path / "a.npy", mapped=True), np.memmap)
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "a.npz", one=numbers, names=np.array(["été", "un"]))
        found = load_arrays(tmp_path / "a.npz", ["one", "names"])
        assert np.array_equal(found["one"], numbers) and found["names"].tolist() == ["été", "un"]


BAD = {
    "claims a terabyte": header((1 << 37,)) + b"\0" * 64,
    "holds objects": header((1,), "|O") + pickle.dumps(["code"]),
    "is cut short": header((8,))[:40],
    "is a pickle": pickle.dumps(np.arange(3)),
}


@pytest.mark.parametrize("what", BAD)
def test_arrays_that_are_refused(tmp_path, what):
    (tmp_path / "bad.npy").write_bytes(BAD[what])
    for mapped in (False, True):
        with pytest.raises(ValueError, match=r"bad\.npy cannot be loaded"):
            load_array(tmp_path / "bad.npy", mapped)
    with zipfile.ZipFile(tmp_path / "bad.npz", "w") as archive:
        archive.writestr("one.npy", BAD[what])
    with pytest.raises(ValueError, match=r"bad\.npz cannot be loaded"):
        load_arrays(tmp_path / "bad.npz", ["one"])


def test_every_cut_and_flip_of_an_archive_is_found_or_harmless(tmp_path):
    Features.one_hot(6).save(tmp_path / "phi.npz")
    sound = (tmp_path / "phi.npz").read_bytes()
    generator = np.random.default_rng(0)
    for _ in range(300):
        data = bytearray(sound)
        data[generator.integers(len(data))] ^= 1 << generator.integers(8)
        cut = data[: generator.integers(len(data))] if generator.random() < 0.3 else data
        (tmp_path / "bad.npz").write_bytes(bytes(cut))
        try:
            found = Features.load(tmp_path / "bad.npz")
        except ValueError as error:
            assert "bad.npz" in str(error)
        else:
            assert found.is_identity and found.vocabulary_size == 6


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0" * 7,
        struct.pack("<Q", 1 << 60) + b"{}",
        b"%b" % struct.pack("<Q", 71)
        + b'{"weight":{"dtype":"F32","shape":[9999999999],"data_offsets":[0,8]}} '
        + b"\0" * 8,
    ],
)
def test_weights_that_claim_too_much_are_refused(tmp_path, data):
    (tmp_path / "bad.safetensors").write_bytes(data)
    with pytest.raises(ValueError, match=r"bad\.safetensors cannot be loaded"):
        load_weights(torch.nn.Linear(2, 1, bias=False), tmp_path / "bad.safetensors")


def weights() -> arrays.Weights:
    draws = np.random.default_rng(1)
    shapes = {"matrix": (300, 40), "other": (20, 7), "bias": (9,)}
    return {name: draws.normal(size=each).astype(np.float32) for name, each in shapes.items()}


def test_what_is_read_back_is_what_was_packed(tmp_path):
    kept = packed(weights(), int8=True)
    save_shards(kept, tmp_path)
    again = load_model(tmp_path)
    assert {name: value.dtype for name, value in again.items()} == dict.fromkeys(
        weights(), np.float32
    )
    for name, value in unpacked(kept).items():
        assert np.array_equal(again[name], value)


def test_each_number_is_within_its_precision():
    given, kept = weights(), packed(weights(), int8=True)
    assert [name for name, value in kept.items() if value.dtype == np.int8] == ["matrix"]
    found = unpacked(kept)
    step = np.abs(given["matrix"]).max(axis=1, keepdims=True) / 127
    assert (np.abs(found["matrix"] - given["matrix"]) <= step * 0.5001).all()
    for name in ("other", "bias"):
        np.testing.assert_allclose(found[name], given[name], rtol=2**-10, atol=1e-7)


def test_no_shard_is_larger_than_allowed_and_a_large_matrix_is_cut(tmp_path, monkeypatch):
    monkeypatch.setattr(arrays, "SHARD", 6000)
    monkeypatch.setattr(arrays, "HEADER", 1000)
    kept = packed(weights(), int8=False)
    paths = save_shards(kept, tmp_path)
    assert len(paths) > 3 and all(path.stat().st_size <= 6000 for path in paths)
    again = load_model(tmp_path)
    assert all(np.array_equal(again[name], value) for name, value in unpacked(kept).items())
    paths[1].unlink()
    with pytest.raises(ValueError, match="or all shards of a model, found"):
        load_model(tmp_path)


def test_a_file_appears_when_it_is_written(tmp_path):
    path = tmp_path / "table.csv.gz"
    with whole(path) as partial:
        assert partial.name == path.name
        partial.write_text("new")
        assert not path.exists()
    assert path.read_text() == "new"
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("before", [None, "old"])
def test_what_fails_leaves_the_older_file_or_none(tmp_path, before):
    path = tmp_path / "table.csv"
    if before:
        path.write_text(before)
    with pytest.raises(KeyError), whole(path) as partial:
        partial.write_text("half")
        raise KeyError
    with pytest.raises(OSError, match="File too large") as error, full_disk(10):
        write_whole(path, b"longer than ten bytes")
    assert error.value.filename == str(path)
    assert (path.read_text() if path.exists() else None) == before
    assert [each.name for each in tmp_path.iterdir()] == [path.name] * bool(before)


def test_a_pipe_and_what_a_link_names_are_written_to(tmp_path):
    path, link, pipe = tmp_path / "table.csv", tmp_path / "link.csv", tmp_path / "pipe"
    path.write_text("old")
    link.symlink_to(path)
    write_whole(link, b"new")
    assert link.is_symlink() and path.read_text() == "new"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_whole(pipe, b"new")
    assert os.read(reader, 10) == b"new"
    assert pipe.is_fifo()
    os.close(reader)
