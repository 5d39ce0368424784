"""Arrays from elsewhere: none is code, none is larger than its file, and damage is named."""

import io
import pickle
import struct
import zipfile

import numpy as np
import pytest
import torch

from accord.models.common.arrays import load_array, load_arrays
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
