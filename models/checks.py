"""Refusals that say which tensor is wrong, where, and what was expected."""

import torch
from torch import Tensor, nn


def check_words(name: str, words: Tensor, limit: int, least: int = 0) -> None:
    """Refuse ids that are no word's. On a GPU this would wait for it at each step: only on CPU."""
    if words.device.type != "cpu" or not words.numel():
        return
    wrong = (words < least) | (words >= limit)
    if wrong.any():
        at = tuple(wrong.nonzero()[0].tolist())
        raise IndexError(
            f"{name}: expected word ids from {least} to under {limit}; "
            f"got {words[at].item()} at index {at if len(at) > 1 else at[0]}"
        )


def new_weight(width: int, size: int) -> nn.Parameter:
    """One row of `size` per feature, at random."""
    return nn.Parameter(torch.empty(width, size).uniform_(-(size**-0.5), size**-0.5))


def tied_weight(weight: nn.Parameter | None, width: int, size: int) -> nn.Parameter:
    """The weight to share, if it has one row of `size` per feature; a new one if none is given."""
    if weight is None:
        return new_weight(width, size)
    if tuple(weight.shape) != (width, size):
        raise ValueError(
            f"weight: expected {width} features × {size} to tie; got {tuple(weight.shape)}"
        )
    return weight
