"""Penalties on the encoder's outputs (Merity et al. 2017): AR keeps them small, TAR slow."""

from torch import Tensor


def activation_penalty(outputs: Tensor, dropped: Tensor, size: float, change: float) -> Tensor:
    """α·mean(h'²) + β·mean((h_{t+1} − h_t)²) for outputs (T × B × H), α = `size`, β = `change`.

    As in AWD-LSTM, AR reads the outputs after dropout, TAR those before it.
    """
    penalty = size * dropped.square().mean()
    if len(outputs) > 1:
        penalty = penalty + change * outputs.diff(dim=0).square().mean()
    return penalty
