"""Distillation (Hinton et al. 2015): how far a model is from what its teachers say.

Words of a signature share by the background, which does not learn. So the divergence over words
and the one over signatures have the same gradient, and the latter costs the signatures alone:

    KL(q ‖ p) = Σ_s q_s·log q_s/p_s + a term without parameters
"""

from typing import NamedTuple

import torch
from torch import Tensor


class Taught(NamedTuple):
    """What teachers say in some states: the likeliest signatures; all others are one class."""

    signatures: Tensor  # (N × k), which differ in each row
    q: Tensor  # (N × k), of sum 1 or less


class Teaching(NamedTuple):
    """How a loss is made of the text and the teachers."""

    weight: float  # λ: (1 − λ)·NLL + λ·T²·KL
    temperature: float  # T, of both; its square keeps the size of the gradient


def tempered(log_p: Tensor, temperature: float) -> Tensor:
    """log p^(1/T), normalised."""
    return log_p if temperature == 1 else (log_p / temperature).log_softmax(dim=-1)


def likeliest(q: Tensor, k: int) -> Taught:
    """The k likeliest signatures, or all: (N × k), of q (N × S)."""
    top = q.topk(min(k, q.shape[1]), dim=1)
    return Taught(top.indices, top.values)


def divergence(log_p: Tensor, taught: Taught) -> Tensor:
    """KL(q ‖ p) in nats, the mean over states, log p (N × S) being the student's."""
    top = log_p.gather(1, taught.signatures)
    tiny = torch.finfo(log_p.dtype).eps
    log_rest = (1 - top.exp().sum(dim=1)).clamp(min=tiny).log()
    q_rest = (1 - taught.q.sum(dim=1)).clamp(min=0)
    entropy = torch.special.entr(taught.q).sum(dim=1) + torch.special.entr(q_rest)
    # Where q is 0 a signature counts for nothing, also if the student finds it impossible.
    cross = torch.where(taught.q > 0, taught.q * top, 0).sum(dim=1) + q_rest * log_rest
    return (-cross - entropy).mean()
