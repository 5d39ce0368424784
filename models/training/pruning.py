"""Magnitude pruning: the smallest weights of a trained network become zeros (Han et al. 2015)."""

import torch
from torch import nn


@torch.no_grad()
def prune(model: nn.Module, share: float) -> None:
    """Set that share of the weights of each matrix to zero, the smallest ones; biases stay."""
    if not 0 <= share < 1:
        raise ValueError(f"share: expected from 0 to under 1, got {share}")
    for weight in model.parameters():
        zeros = int(share * weight.numel())
        if weight.ndim < 2 or not zeros:
            continue
        smallest = weight.abs().flatten().argsort(stable=True)[:zeros]
        weight.view(-1)[smallest] = 0
