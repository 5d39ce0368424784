"""Pruning: the smallest weights go, and a share of none leaves all as it was."""

import torch
from training_cases import model

from accord.zoo.learning import prune


def test_the_smallest_weights_of_each_matrix_become_zeros_and_biases_stay():
    network, before = model(), model()
    prune(network, 0.8)
    for (name, now), was in zip(network.named_parameters(), before.parameters(), strict=True):
        if now.ndim < 2:
            assert torch.equal(now, was), name
            continue
        assert int((now == 0).sum()) == int(0.8 * now.numel())
        assert was[now == 0].abs().max() <= was[now != 0].abs().min()
        assert torch.equal(now[now != 0], was[now != 0])


def test_more_zeros_hold_those_of_fewer():
    network = model()
    for share in (0.0, 0.5, 0.9):
        prune(network, share)
    at_once = model()
    prune(at_once, 0.9)
    for one, other in zip(network.parameters(), at_once.parameters(), strict=True):
        assert torch.equal(one, other)
