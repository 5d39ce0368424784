"""Steps and their lengths: momentum, 1/t, and Muon beside AdamW."""

import csv
from dataclasses import replace
from itertools import pairwise

import pytest
import torch
from torch import nn
from training_cases import RECIPE, model, sentences

from accord.models.optimisers import MuonAndAdamW, optimiser
from accord.models.parts import SCHEDULES
from accord.models.train import STEPS, Trainer

TEXT = sentences()
SGD = {"kind": "sgd", "momentum": 0.5}


def test_momentum_takes_part_of_the_last_step_again():
    network, recipe = model(), replace(RECIPE, optimiser=SGD, weight_decay=0.0)
    steps = optimiser(recipe, network)
    weight = network.encoder.layers[0].input_weight
    weight.grad = torch.ones_like(weight)
    places = [weight.detach().clone()]
    for _ in range(3):
        steps.step()
        places.append(weight.detach().clone())
    first, second, third = (b - a for a, b in pairwise(places))
    assert torch.allclose(second, 1.5 * first)
    assert torch.allclose(third, 1.75 * first)


@pytest.mark.parametrize("kind", ["adamw", "sgd", "muon"])
def test_weights_decay_where_no_gradient_moves_them(kind):
    network = model()
    recipe = replace(RECIPE, optimiser=kind, weight_decay=0.5, learning_rate=0.1)
    steps = optimiser(recipe, network)
    initial = {name: weight.detach().clone() for name, weight in network.named_parameters()}
    for weight in network.parameters():
        weight.grad = torch.zeros_like(weight)
    steps.step()
    for name, weight in network.named_parameters():
        assert torch.allclose(weight.detach(), 0.95 * initial[name])


def test_rates_fall_as_one_over_the_epochs_or_linearly_to_nothing():
    inverse, linear = SCHEDULES.make("inverse"), SCHEDULES.make("linear")
    assert [inverse.rate(6.0, done, 4) for done in (0, 0.5, 1, 2)] == [6, 4, 3, 2]
    assert [linear.rate(6.0, done, 4) for done in (0, 2, 4, 4.1)] == [6, 3, 0, 0]
    plateau = SCHEDULES.make({"kind": "plateau", "decay": 2.0})
    assert plateau.rate(6.0, 1, 4) is None
    assert plateau.without_gain(6.0) == 3


@pytest.mark.slow
def test_the_rate_of_a_training_is_the_scheduled_one(tmp_path):
    recipe = replace(RECIPE, schedule="inverse", epochs=3)
    trainer = Trainer(model(), recipe, tmp_path)
    trainer.fit(TEXT, TEXT)
    with (tmp_path / STEPS).open() as file:
        rates = [float(row["learning_rate"]) for row in csv.DictReader(file)]
    assert rates == sorted(rates, reverse=True)
    assert len({*rates}) == len(rates)
    ends = [row.learning_rate / recipe.learning_rate for row in trainer.curve]
    assert ends == pytest.approx([1 / 2, 1 / 3, 1 / 4], rel=0.1)


def test_muon_steps_alike_in_all_directions_and_leaves_vectors_to_adamw():
    network = model()
    steps = optimiser(replace(RECIPE, optimiser="muon", weight_decay=0.0), network)
    matrices, others = (group["params"] for group in steps.param_groups)
    of_encoder = [weight for weight in network.encoder.parameters() if weight.ndim == 2]
    assert {*map(id, matrices)} == {*map(id, of_encoder)}
    assert {*map(id, matrices + others)} == {*map(id, network.parameters())}
    weight = network.encoder.layers[0].recurrent_weight
    before = weight.detach().clone()
    left, right = torch.randn(weight.shape[0], 8), torch.randn(8, weight.shape[1])
    weight.grad = left @ torch.diag(torch.logspace(0, -1, 8)) @ right
    steps.step()
    taken = torch.linalg.svdvals(before - weight.detach())
    given = torch.linalg.svdvals(weight.grad)
    assert given[0] / given[-1] > 10 > 3 > taken[0] / taken[-1]


@pytest.mark.parametrize("shape", [(24, 16), (16, 24)])
def test_muon_steps_as_pytorch(shape):
    if not hasattr(torch.optim, "Muon"):
        pytest.skip("this PyTorch has no Muon")
    torch.manual_seed(0)
    first = torch.randn(shape)
    network = nn.ModuleDict({"encoder": nn.Linear(*reversed(shape), bias=False)})
    ours, theirs = network["encoder"].weight, nn.Parameter(first.clone())
    ours.data.copy_(first)
    both = (
        MuonAndAdamW(network, [], lr=0.01, weight_decay=0.3),
        torch.optim.Muon([theirs], lr=0.01, weight_decay=0.3, adjust_lr_fn="match_rms_adamw"),
    )
    for _ in range(10):
        ours.grad = torch.randn(shape)
        theirs.grad = ours.grad.clone()
        for steps in both:
            steps.step()
    distance = (theirs - first).norm()
    assert distance > 0.1
    assert (ours - theirs).norm() < 0.01 * distance  # PyTorch's products are in bfloat16
