"""Weights in their small form come back as near as half precision and int8 allow."""

import pytest
import torch

from accord.models.common import weights as weights_module
from accord.models.common.weights import load_compact, packed, save_shards, unpacked


def weights() -> dict[str, torch.Tensor]:
    torch.manual_seed(1)
    return {"matrix": torch.randn(300, 40), "other": torch.randn(20, 7), "bias": torch.randn(9)}


def test_what_is_read_back_is_what_was_packed(tmp_path):
    kept = packed(weights(), ["matrix"])
    save_shards(kept, tmp_path)
    again = load_compact(tmp_path)
    assert {name: value.dtype for name, value in again.items()} == dict.fromkeys(
        weights(), torch.float32
    )
    for name, value in unpacked(kept).items():
        assert torch.equal(again[name], value)


def test_each_number_is_within_its_precision():
    given, found = weights(), unpacked(packed(weights(), ["matrix"]))
    step = given["matrix"].abs().amax(dim=1, keepdim=True) / 127
    assert ((found["matrix"] - given["matrix"]).abs() <= step * 0.5001).all()
    for name in ("other", "bias"):
        torch.testing.assert_close(found[name], given[name], rtol=2**-10, atol=1e-7)


def test_rows_of_zeros_and_numbers_beyond_half_precision_are_kept():
    given = {"zeros": torch.zeros(2, 3), "large": torch.tensor([1e6, -2.5])}
    found = unpacked(packed(given, ["zeros"]))
    assert all(torch.equal(found[name], value) for name, value in given.items())


def test_no_shard_is_larger_than_allowed_and_a_large_matrix_is_cut(tmp_path, monkeypatch):
    monkeypatch.setattr(weights_module, "SHARD", 6000)
    monkeypatch.setattr(weights_module, "HEADER", 1000)
    kept = packed(weights(), [])
    paths = save_shards(kept, tmp_path)
    assert len(paths) > 3 and all(path.stat().st_size <= 6000 for path in paths)
    again = load_compact(tmp_path)
    assert all(torch.equal(again[name], value) for name, value in unpacked(kept).items())
    paths[1].unlink()
    with pytest.raises(ValueError, match="expected all shards of a model"):
        load_compact(tmp_path)
