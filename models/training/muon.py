"""Muon (Jordan et al. 2024): steps for matrices that learn all directions alike.

PyTorch's own always multiplies in bfloat16, which a processor without it computes two hundred times
slower, and is not in every PyTorch that Accord runs with.
"""

import math
from collections.abc import Iterable

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

MOMENTUM = 0.95
QUINTIC = (3.4445, -4.7750, 2.0315)  # steepest at 0, where directions are that were hardly learned
ROUNDS = 5  # bring singular values to between 0.5 and 1.5, which is as good as 1
RMS_OF_ADAMW = 0.2  # of the step of a weight, times the learning rate


class Muon(Optimizer):
    """W ← W − η·λ·W − η·s·O, with O ≈ U·Vᵀ where U·S·Vᵀ is the momentum, and s = 0.2·√max(A, B).

    s makes the steps of an A × B matrix as long as AdamW's, so that one learning rate serves both
    (Liu et al. 2025). The momentum is Nesterov's.
    """

    def __init__(self, matrices: Iterable[nn.Parameter], lr: float, weight_decay: float):
        super().__init__(matrices, {"lr": lr, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self) -> None:
        for group in self.param_groups:
            for matrix in group["params"]:
                if matrix.grad is not None:
                    self._step(matrix, group["lr"], group["weight_decay"])

    def _step(self, matrix: nn.Parameter, lr: float, weight_decay: float) -> None:
        state = self.state[matrix]
        if not state:
            state["momentum_buffer"] = torch.zeros_like(matrix)
        momentum = state["momentum_buffer"].lerp_(matrix.grad, 1 - MOMENTUM)
        direction = orthogonal(matrix.grad.lerp(momentum, MOMENTUM))
        matrix.mul_(1 - lr * weight_decay)
        matrix.add_(direction, alpha=-lr * RMS_OF_ADAMW * math.sqrt(max(matrix.shape)))


def orthogonal(matrix: Tensor) -> Tensor:
    """Near U·Vᵀ of the matrix U·S·Vᵀ, by Newton and Schulz: X ← a·X + (b·XXᵀ + c·(XXᵀ)²)·X."""
    if matrix.shape[0] > matrix.shape[1]:
        return orthogonal(matrix.T).T
    a, b, c = QUINTIC
    x = matrix.bfloat16() if matrix.is_cuda else matrix
    x = x / x.norm().clamp(min=torch.finfo(torch.float32).eps)
    for _ in range(ROUNDS):
        square = x @ x.T
        x = torch.addmm(x, torch.addmm(square, square, square, beta=b, alpha=c), x, beta=a)
    return x
