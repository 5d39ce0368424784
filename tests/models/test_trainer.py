"""Training: it learns, stops, keeps the best; steps and their lengths are those of the recipe."""

import math
from dataclasses import replace
from itertools import islice, pairwise

import numpy as np
import pytest
import torch
from query_cases import scored
from torch import nn
from training_cases import RECIPE, model, sentences

from accord.models.common.files import WEIGHTS
from accord.models.common.weights import has_bfloat16, load_tensors, load_weights
from accord.models.data import batches
from accord.models.optimisers import MuonAndAdamW, optimiser
from accord.models.parts import SCHEDULES
from accord.models.train import Trainer, WeightAverage

TEXT = sentences()
SAVING = replace(RECIPE, checkpoint_steps=4)


def trained(folder, recipe=RECIPE, **callbacks) -> Trainer:
    """Return a finished training of a new model."""
    folder.mkdir(exist_ok=True)
    changes = {key: value for key, value in vars(recipe).items() if value != getattr(RECIPE, key)}
    trainer = Trainer(model(**changes), recipe, folder, **callbacks)
    trainer.fit(TEXT, TEXT)
    return trainer


@pytest.mark.slow
def test_validation_falls_and_averaged_weights_of_the_best_epoch_are_kept(tmp_path):
    means = []

    def keep(epoch) -> None:
        means.append({name: mean.clone() for name, mean in trainer.state.average.mean.items()})

    trainer = Trainer(model(), replace(RECIPE, ema=0.98), tmp_path, on_epoch=keep)
    trainer.fit(TEXT, TEXT)
    network, losses = model(), [epoch.valid_nats for epoch in trainer.curve]
    for mean, nats in zip(means, losses, strict=True):
        load_weights(network, mean)
        assert -scored(network, TEXT).mean() == pytest.approx(nats, abs=1e-9)
    saved, best = load_tensors(tmp_path / WEIGHTS), means[np.argmin(losses)]
    assert all(torch.equal(saved[name], value) for name, value in best.items())
    assert losses[-1] < losses[0]
    assert -scored(trainer.model, TEXT).mean() == pytest.approx(min(losses), abs=1e-9)


@pytest.mark.slow
def test_a_gain_below_min_delta_does_not_count_but_its_weights_are_kept(tmp_path):
    recipe = replace(RECIPE, min_delta=10.0, patience=2, epochs=6)
    trainer = trained(tmp_path, recipe)
    first, second, third = (epoch.valid_nats for epoch in trainer.curve)
    assert third < second < first
    rates = [epoch.learning_rate / recipe.learning_rate for epoch in trainer.curve]
    assert rates == pytest.approx([1, 1, 1 / 3])
    assert -scored(trainer.model, TEXT).mean() == pytest.approx(third, abs=1e-9)


@pytest.mark.slow
def test_no_step_is_longer_than_the_clipped_gradient(tmp_path):
    changes = {"optimiser": "sgd", "weight_decay": 0.0, "learning_rate": 0.5}
    recipe, network = replace(RECIPE, **changes, max_grad_norm=0.01, epochs=1), model(**changes)
    vectors = [nn.utils.parameters_to_vector(network.parameters()).detach()]

    def keep(words: int) -> None:
        vectors.append(nn.utils.parameters_to_vector(network.parameters()).detach())

    Trainer(network, recipe, tmp_path, on_step=keep).fit(TEXT, TEXT)
    lengths = [(later - earlier).norm().item() for earlier, later in pairwise(vectors)]
    assert lengths == pytest.approx([0.5 * 0.01] * len(lengths), rel=1e-2)


@pytest.mark.slow
def test_each_epoch_and_each_seed_reads_in_an_order_of_its_own(tmp_path):
    def orders(folder: str, seed: int) -> list[list[int]]:
        network, read = model(), [[]]
        network.embedding.register_forward_pre_hook(
            lambda layer, inputs: (
                read[-1].extend(inputs[0].flatten().tolist()) if layer.training else None
            )
        )
        (tmp_path / folder).mkdir()
        recipe = replace(RECIPE, seed=seed, epochs=2)
        on_epoch = lambda epoch: read.append([])  # noqa: E731
        Trainer(network, recipe, tmp_path / folder, on_epoch=on_epoch).fit(TEXT, TEXT)
        return read[:2]

    first, again, other = orders("first", 1), orders("again", 1), orders("other", 2)
    assert first == again
    assert first[0] != first[1]
    assert other[0] not in first and other[1] not in first


@pytest.mark.slow
def test_products_are_in_bfloat16_where_that_is_fast_and_a_line_says_where_it_is_not(tmp_path):
    lines, losses = [], []
    for precision in ("float32", "bfloat16"):
        recipe = replace(RECIPE, precision=precision, device="cpu", epochs=2)
        trainer = trained(tmp_path / precision, recipe, say=lines.append)
        losses.append([epoch.valid_nats for epoch in trainer.curve])
    assert losses[1] == pytest.approx(losses[0], abs=0.05)
    is_fast = has_bfloat16(torch.device("cpu"))
    assert is_fast == (losses[0] != losses[1])
    assert is_fast == (not any("bfloat16 are slow" in line for line in lines))


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.5, 1.0])
def test_a_share_of_the_windows_begins_from_the_zero_state(tmp_path, share):
    network, is_zero = model(), []
    network.encoder.register_forward_pre_hook(
        lambda encoder, inputs: (
            is_zero.append(not inputs[1][0][0].any()) if encoder.training else None
        )
    )
    Trainer(network, replace(RECIPE, zero_state=share, epochs=3), tmp_path).fit(TEXT, TEXT)
    epochs = 3  # the first window of each is always read from it
    later = (sum(is_zero) - epochs) / (len(is_zero) - epochs)
    assert later == 1 if share == 1 else 0.2 < later < 0.8


def poisoned(folder, step: int, recipe=SAVING) -> str:
    """Return the error of a training in which a weight becomes NaN after a step."""
    steps = 0

    def on_step(words: int) -> None:
        nonlocal steps
        steps += 1
        if steps == step:
            nn.init.constant_(trainer.model.embedding.weight, math.nan)

    trainer = Trainer(model(), recipe, folder, on_step)
    with pytest.raises(FloatingPointError) as stopped:
        trainer.fit(TEXT, TEXT)
    return str(stopped.value)


@pytest.mark.slow
@pytest.mark.parametrize(("step", "steps_between"), [(5, 4), (5, 0), (9, 4)])
def test_the_step_its_batch_and_the_last_good_checkpoint_are_named(tmp_path, step, steps_between):
    recipe = replace(RECIPE, checkpoint_steps=steps_between)
    error = poisoned(tmp_path, step, recipe)
    assert f"is not finite at epoch 1, step {step + 1}," in error
    generator = np.random.default_rng([RECIPE.seed, 1])
    batch = next(islice(batches(TEXT, recipe, generator), step, None))
    numbers = [np.flatnonzero(TEXT.starts <= first)[-1] + 1 for first in batch.positions[0]]
    assert f"sentences {', '.join(map(str, numbers))} of the training text" in error
    files = sorted(tmp_path.glob("checkpoint-*"))
    if steps_between:
        assert error.endswith(f"the last good checkpoint is {files[-1]}")
        assert f"-{step - step % 4:08}-" in files[-1].name
    else:
        assert error.endswith("no checkpoint was written")


@pytest.mark.slow
def test_weights_that_are_not_finite_are_not_saved(tmp_path):
    assert "a weight is not finite after epoch 1, step 8" in poisoned(tmp_path, step=8)
    assert max(tmp_path.glob("checkpoint-*")).name.startswith("checkpoint-00001-00000004-")


@pytest.mark.slow
def test_a_validation_loss_that_is_not_finite_stops(tmp_path):
    steps = sum(1 for _ in batches(TEXT, RECIPE, np.random.default_rng([RECIPE.seed, 1])))
    error = poisoned(tmp_path, steps, replace(RECIPE, ema=0.0))
    assert error.startswith("the validation loss of epoch 1 is nan")


@pytest.mark.slow
def test_deterministic_computing_follows_the_recipe_and_changes_no_number_on_a_cpu(tmp_path):
    weights = []
    for wanted in (True, False):
        trained(tmp_path / str(wanted), replace(RECIPE, deterministic=wanted, epochs=2))
        assert torch.are_deterministic_algorithms_enabled() == wanted
        weights.append((tmp_path / str(wanted) / WEIGHTS).read_bytes())
    assert weights[0] == weights[1]


def average_of(values: list[float], decay: float, average=None) -> WeightAverage:
    """Return the average of a weight that takes these values."""
    layer = nn.Linear(2, 2)
    average = average or WeightAverage(layer, decay)
    for value in values:
        nn.init.constant_(layer.weight, value)
        average.update(layer)
    return average


@pytest.mark.parametrize(
    ("decay", "values", "mean"), [(0.9, [1.0, 2.0, 6.0], 3.0), (0.75, [1.0] * 4 + [5.0], 2.0)]
)
def test_the_first_updates_have_equal_weights_and_older_ones_fade(decay, values, mean):
    assert torch.allclose(average_of(values, decay).mean["weight"], torch.tensor(mean))


def test_an_average_resumes_where_it_was_stored():
    resumed = WeightAverage(nn.Linear(2, 2), decay=0.9)
    resumed.load_state_dict(average_of([1.0, 2.0], 0.9).state_dict())
    whole = average_of([1.0, 2.0, 3.0, 4.0], 0.9)
    assert torch.equal(average_of([3.0, 4.0], 0.9, resumed).mean["weight"], whole.mean["weight"])


def test_the_average_is_applied_and_taken_back_even_after_an_error():
    layers = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    layers[1].weight = layers[0].weight
    average = WeightAverage(layers, decay=0.9)
    for value in (1.0, 3.0):
        nn.init.constant_(layers[0].weight, value)
        average.update(layers)
    with pytest.raises(RuntimeError), average.applied(layers):
        assert torch.allclose(layers[0].weight, torch.tensor(2.0))
        assert layers[1].weight is layers[0].weight
        raise RuntimeError
    assert torch.allclose(layers[0].weight, torch.tensor(3.0))


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
