"""Penalties on the encoder's outputs (Merity et al. 2017): AR keeps them small, TAR slow."""

import torch
from torch import Tensor


def activation_penalty(
    outputs: Tensor, dropped: Tensor, size: float, change: float, real: Tensor | None = None
) -> Tensor:
    """α·mean(h'²) + β·mean((h_{t+1} − h_t)²) for outputs (T × B × H), α = `size`, β = `change`.

    As in AWD-LSTM, AR reads the outputs after dropout, TAR those before it. `real` has the
    positions of words among the T·B, if not all are. Then each column has its own means, and counts
    by its words: a batch has the same penalty on however many processes its columns are read.
    """
    if real is None:
        penalty = size * dropped.square().mean()
        if len(outputs) > 1:
            penalty = penalty + change * outputs.diff(dim=0).square().mean()
        return penalty
    is_word = torch.zeros(outputs.shape[:2], device=outputs.device)
    is_word.view(-1).index_fill_(0, real, 1)
    words = is_word.sum(dim=0)
    of_size = _means(dropped.square(), is_word)
    of_change = _means(outputs.diff(dim=0).square(), is_word[1:] * is_word[:-1])
    return ((size * of_size + change * of_change) * words).sum() / words.sum()


def _means(squares: Tensor, counts: Tensor) -> Tensor:
    """The mean of what counts in each column, 0 where nothing does: (B)."""
    return (squares.mean(dim=2) * counts).sum(dim=0) / counts.sum(dim=0).clamp(min=1)
