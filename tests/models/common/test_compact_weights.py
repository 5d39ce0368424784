"""Weights of the compact form are as near to the trained ones as half precision and int8 allow."""

import numpy as np
import pytest

from accord.models.common import arrays
from accord.models.common.arrays import load_model, packed, save_shards, unpacked


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


def test_rows_of_zeros_and_numbers_beyond_half_precision_are_kept():
    zeros = np.zeros((2, arrays.LARGE), np.float32)
    given = {"zeros": zeros, "large": np.array([1e6, -2.5], np.float32)}
    found = unpacked(packed(given, int8=True))
    assert all(np.array_equal(found[name], value) for name, value in given.items())


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
