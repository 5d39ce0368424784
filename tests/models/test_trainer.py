"""Training: it learns, it stops, and it keeps the best."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from query_cases import scored
from training_cases import END, RECIPE, WORDS, model, sentences

from accord.models.common.device import choose_device, has_bfloat16
from accord.models.common.files import WEIGHTS
from accord.models.common.weights import load_tensors, load_weights
from accord.models.data import Sentences, windows
from accord.models.recipe import Recipe
from accord.models.train import Trainer

TEXT = sentences()


@pytest.mark.slow
def test_validation_falls_and_the_best_epoch_is_kept(tmp_path):
    trainer = Trainer(model(), RECIPE, tmp_path)
    trainer.fit(TEXT, TEXT)
    losses = [epoch.valid_nats for epoch in trainer.curve]
    assert losses[-1] < losses[0]
    kept = -scored(trainer.model, TEXT).mean()
    assert kept == pytest.approx(min(losses), abs=1e-9)


@pytest.mark.slow
def test_the_averaged_weights_are_validated_and_saved(tmp_path):
    means = []

    def keep(epoch) -> None:
        means.append({name: each.clone() for name, each in trainer.state.average.mean.items()})

    trainer = Trainer(model(), replace(RECIPE, ema=0.98), tmp_path, on_epoch=keep)
    trainer.fit(TEXT, TEXT)
    network, losses = model(), [epoch.valid_nats for epoch in trainer.curve]
    for mean, nats in zip(means, losses, strict=True):
        load_weights(network, mean)
        assert -scored(network, TEXT).mean() == pytest.approx(nats, abs=1e-9)
    saved, best = load_tensors(tmp_path / WEIGHTS), means[np.argmin(losses)]
    assert all(torch.equal(saved[name], value) for name, value in best.items())


@pytest.mark.slow
def test_a_gain_below_min_delta_is_none_but_its_weights_are_kept(tmp_path):
    recipe = replace(RECIPE, min_delta=10.0, patience=2, epochs=6)
    trainer = Trainer(model(), recipe, tmp_path)
    trainer.fit(TEXT, TEXT)
    first, second, third = (epoch.valid_nats for epoch in trainer.curve)
    assert third < second < first
    rates = [epoch.learning_rate / recipe.learning_rate for epoch in trainer.curve]
    assert rates == pytest.approx([1, 1, 1 / 3])
    assert -scored(trainer.model, TEXT).mean() == pytest.approx(third, abs=1e-9)


@pytest.mark.slow
def test_no_step_is_longer_than_the_clipped_gradient(tmp_path):
    changes = {"optimiser": "sgd", "weight_decay": 0.0, "learning_rate": 0.5}
    recipe = replace(RECIPE, **changes, max_grad_norm=0.01, epochs=1)
    network = model(**changes)
    places = [torch.nn.utils.parameters_to_vector(network.parameters()).detach()]

    def keep(words: int) -> None:
        places.append(torch.nn.utils.parameters_to_vector(network.parameters()).detach())

    Trainer(network, recipe, tmp_path, on_step=keep).fit(TEXT, TEXT)
    lengths = [(after - before).norm().item() for before, after in pairwise(places)]
    assert lengths == pytest.approx([0.5 * 0.01] * len(lengths), rel=1e-2)


@pytest.mark.slow
def test_each_epoch_and_each_seed_reads_in_an_order_of_its_own(tmp_path):
    def orders(seed: int) -> list[list[int]]:
        network, read = model(), [[]]
        network.embedding.register_forward_pre_hook(
            lambda layer, given: (
                read[-1].extend(given[0].flatten().tolist()) if layer.training else None
            )
        )
        recipe, folder = replace(RECIPE, seed=seed, epochs=2), tmp_path / f"{len(done)}"
        folder.mkdir()
        Trainer(network, recipe, folder, on_epoch=lambda epoch: read.append([])).fit(TEXT, TEXT)
        done.append(seed)
        return read[:2]

    done: list[int] = []
    first, again, other = orders(1), orders(1), orders(2)
    assert first == again
    assert first[0] != first[1]
    assert other[0] not in first and other[1] not in first


@pytest.mark.slow
def test_products_are_in_bfloat16_where_that_is_fast_and_else_it_is_said_that_they_are_not(
    tmp_path,
):
    said, losses = [], []
    for precision in ("float32", "bfloat16"):
        recipe = replace(RECIPE, precision=precision, device="cpu", epochs=2)
        (tmp_path / precision).mkdir()
        trainer = Trainer(model(), recipe, tmp_path / precision, say=said.append)
        trainer.fit(TEXT, TEXT)
        losses.append([epoch.valid_nats for epoch in trainer.curve])
    assert losses[1] == pytest.approx(losses[0], abs=0.05)
    is_fast = has_bfloat16(torch.device("cpu"))
    assert is_fast == (losses[0] != losses[1])
    assert is_fast == (not any("bfloat16 are slow" in line for line in said))


@pytest.mark.parametrize("alpha", [0.9, 0.99])
def test_rmsprop_keeps_as_much_of_the_mean_square_as_it_is_told(tmp_path, alpha):
    recipe = replace(RECIPE, optimiser={"kind": "rmsprop", "alpha": alpha})
    groups = Trainer(model(), recipe, tmp_path).state.optimiser.param_groups
    assert [group["alpha"] for group in groups] == [alpha]


def test_an_epoch_reads_every_word_once_after_the_word_before_it():
    recipe = Recipe(batch=4, bptt=7)
    parts = list(windows(TEXT, recipe, np.random.default_rng(0)))
    words, targets = (torch.cat([part[side] for part in parts]) for side in (0, 1))
    assert torch.equal(words[1:], targets[:-1])
    assert (words[0] == END).all()
    read = np.bincount(targets.flatten().numpy(), minlength=WORDS)
    all_words = np.bincount(TEXT.ids, minlength=WORDS)
    assert 0 <= (all_words - read).sum() < recipe.batch, "only what fills no row is left out"


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_a_share_of_the_windows_begins_from_the_zero_state(tmp_path, share):
    recipe = replace(RECIPE, zero_state=share, epochs=3)
    network, began = model(), []
    network.encoder.register_forward_pre_hook(
        lambda encoder, given: began.append(not given[1][0][0].any()) if encoder.training else None
    )
    trainer = Trainer(network, recipe, tmp_path)
    trainer.fit(TEXT, TEXT)
    first = len(trainer.curve)  # of each epoch, which always begins so
    later = (sum(began) - first) / (len(began) - first)
    assert later == share if share in (0, 1) else 0.2 < later < 0.8


def test_a_sentence_scores_the_same_alone_and_among_others():
    network = model().double().eval()
    together = scored(network, TEXT)
    for start, length in zip(TEXT.starts[:10], TEXT.lengths[:10], strict=True):
        alone = Sentences(TEXT.ids[start : start + length], np.array([length]))
        expected = together[start : start + length]
        assert scored(network, alone) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("name", ["banana", "cuda:97"])
def test_a_device_that_is_not_here_is_refused_by_name(name):
    with pytest.raises(ValueError, match=f"device: expected auto, or one that is here; got {name}"):
        choose_device(name)


@pytest.mark.slow
def test_the_words_of_an_epoch_are_added_up_once(tmp_path, monkeypatch):
    """With millions of documents a sum at every step takes longer than the step."""
    added_up = []

    def words(text: Sentences) -> float:
        added_up.append(text)
        return float(len(text.ids))

    monkeypatch.setattr(Sentences, "epoch_words", property(words))
    trainer = Trainer(model(), replace(RECIPE, epochs=2, batch=2), tmp_path)
    trainer.fit(TEXT, TEXT)
    assert len(added_up) == 2
