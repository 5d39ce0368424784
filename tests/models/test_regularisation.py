from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import torch
from query_cases import distributions
from torch import nn
from training_cases import RECIPE, model, sentences

from accord.models.encoder import FeatureEmbedding, VariationalDropout
from accord.models.model import Seen
from accord.models.phi import Features
from accord.models.recipe import Recipe
from accord.models.regularisers import ActivationPenalty, AdaptorPenalty
from accord.models.train import Trainer, WeightAverage


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


def test_variational_dropout_drops_the_same_units_at_every_step():
    dropped = VariationalDropout(0.4)(torch.ones(7, 50, 20))
    assert torch.equal(dropped, dropped[:1].expand_as(dropped))
    assert dropped.unique().tolist() == pytest.approx([0, 1 / 0.6])
    assert (dropped[0] == 0).float().mean().item() == pytest.approx(0.4, abs=0.08)
    assert not torch.equal(dropped[0, 0], dropped[0, 1])


def test_it_may_drop_others_at_each_step():
    dropped = VariationalDropout(0.4, every_step=True)(torch.ones(7, 50, 20))
    assert dropped.unique().tolist() == pytest.approx([0, 1 / 0.6])
    assert (dropped == 0).float().mean().item() == pytest.approx(0.4, abs=0.03)
    assert not any(torch.equal(one, other) for one, other in pairwise(dropped))


def test_feature_dropout_drops_whole_rows():
    embedding = FeatureEmbedding(Features.one_hot(500), 6, dropout=0.3)
    nn.init.ones_(embedding.weight)
    dropped = embedding(torch.arange(500)).detach()
    assert torch.equal(dropped, dropped[:, :1].expand_as(dropped))
    assert dropped.unique().tolist() == pytest.approx([0, 1 / 0.7])
    assert (dropped[:, 0] == 0).float().mean().item() == pytest.approx(0.3, abs=0.08)


def test_dropout_does_nothing_outside_training_or_at_rate_zero():
    values = torch.randn(4, 3, 2)
    assert VariationalDropout(0.9).eval()(values) is values
    assert VariationalDropout(0.0)(values) is values
    for embedding in (
        FeatureEmbedding(Features.one_hot(5), 3, dropout=0.9).eval(),
        FeatureEmbedding(Features.one_hot(5), 3, dropout=0.0),
    ):
        assert torch.equal(embedding(torch.arange(5)), embedding.weight)


def test_the_penalty_of_size_and_of_change():
    outputs = torch.tensor([1.0, 3.0, 3.0]).reshape(3, 1, 1)
    assert ActivationPenalty(1.0, 0.0).of(outputs, outputs * 2) == pytest.approx(76 / 3)
    assert ActivationPenalty(0.0, 1.0).of(outputs, outputs * 2) == pytest.approx(2.0)
    assert ActivationPenalty(2.0, 1.0).of(outputs[:1], outputs[:1]) == pytest.approx(2.0)


@pytest.mark.slow
def test_the_curve_has_nats_of_the_text_whatever_is_penalised(tmp_path):
    dropouts = ("input", "hidden", "output", "feature", "weight")
    still = {f"{name}_dropout": 0.0 for name in dropouts} | {"ema": 0.0, "text": "sentences"}
    still |= {"epochs": 2, "learning_rate": 1e-12}  # nothing is learned either
    losses = {"activation": 2.0, "temporal": 3.0, "adaptor": 4.0, "past_decode": 0.5}
    changes = still | {"losses": losses}
    trainer = Trainer(model(**changes), replace(RECIPE, **changes), tmp_path)
    trainer.fit(sentences(), sentences())
    for epoch in trainer.curve:
        assert epoch.train_nats == pytest.approx(epoch.valid_nats, rel=1e-4)
    assert len(trainer.curve) == 2


def padded(lengths: list[int]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Outputs and dropped outputs of columns with so many words, and which are words."""
    outputs, dropped = torch.randn(2, max(lengths), len(lengths), 5, dtype=torch.float64)
    is_word = torch.arange(max(lengths))[:, None] < torch.tensor(lengths)
    return outputs, dropped, is_word


def penalty(outputs, dropped, is_word) -> torch.Tensor:
    real = is_word.flatten().nonzero().squeeze(1)
    return ActivationPenalty(2.0, 3.0).of(outputs, dropped, real)


@pytest.mark.parametrize("lengths", [[7], [4, 4, 4], [1, 6, 2, 2, 9], [1, 1]])
def test_the_penalty_of_a_batch_is_that_of_its_sentences_by_their_words(lengths):
    outputs, dropped, is_word = padded(lengths)
    alone = [
        length * ActivationPenalty(2.0, 3.0).of(outputs[:length, [at]], dropped[:length, [at]])
        for at, length in enumerate(lengths)
    ]
    found = penalty(outputs, dropped, is_word)
    assert found.item() == pytest.approx(sum(alone).item() / sum(lengths))
    outputs[~is_word], dropped[~is_word] = 1e3, -1e3
    assert penalty(outputs, dropped, is_word).equal(found), "what is behind an end does not count"


@pytest.mark.parametrize("lengths", [[1, 6, 2, 2, 9], [3, 3, 8]])
def test_the_penalty_of_a_batch_is_that_of_shares_by_their_words(lengths):
    whole = padded(lengths)
    for cut in range(1, len(lengths)):
        parts = [[each[:, side] for each in whole] for side in (slice(cut), slice(cut, None))]
        shares = [part[2].sum() / sum(lengths) * penalty(*part) for part in parts]
        assert sum(shares).item() == pytest.approx(penalty(*whole).item())


def train(model, average, values):
    for value in values:
        nn.init.constant_(model.weight, value)
        average.update(model)


def test_the_first_updates_count_alike():
    model = nn.Linear(2, 2)
    average = WeightAverage(model, decay=0.9)
    train(model, average, [1.0, 2.0, 6.0])
    assert torch.allclose(average.mean["weight"], torch.tensor(3.0))


def test_a_decaying_average_forgets():
    model = nn.Linear(2, 2)
    average = WeightAverage(model, decay=0.75)
    train(model, average, [1.0, 1.0, 1.0, 1.0, 5.0])
    assert torch.allclose(average.mean["weight"], torch.tensor(2.0))


def test_the_average_is_applied_and_taken_back_even_after_an_error():
    model = nn.Linear(2, 2)
    average = WeightAverage(model, decay=0.9)
    train(model, average, [1.0, 3.0])
    with pytest.raises(RuntimeError), average.applied(model):
        assert torch.allclose(model.weight, torch.tensor(2.0))
        raise RuntimeError
    assert torch.allclose(model.weight, torch.tensor(3.0))


def test_an_average_goes_on_where_it_was_stored():
    model = nn.Linear(2, 2)
    whole, first, second = (WeightAverage(model, decay=0.9) for _ in range(3))
    train(model, whole, [1.0, 2.0, 3.0, 4.0])
    train(model, first, [1.0, 2.0])
    second.load_state_dict(first.state_dict())
    train(model, second, [3.0, 4.0])
    assert torch.equal(second.mean["weight"], whole.mean["weight"])


def test_tied_weights_are_averaged_once():
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    model[1].weight = model[0].weight
    average = WeightAverage(model, decay=0.9)
    average.update(model)
    with average.applied(model):
        assert model[1].weight is model[0].weight


def test_a_decay_out_of_range_is_refused():
    with pytest.raises(ValueError, match="ema: expected from 0 to under 1, got 1"):
        Recipe(ema=1.0)


@pytest.mark.slow
def test_the_adaptor_penalty_is_the_norm_of_the_weights_and_pulls_p_towards_b():
    network = model()
    h = torch.randn(9, 8)
    nn.init.normal_(network.output.bias)
    seen = Seen(*[None] * 4, states=h, output=network.output, classes=None, nats=None, after=())
    penalty = AdaptorPenalty(0.5)(torch.zeros(()), seen)
    assert penalty.item() == pytest.approx(
        0.5 * network.output.adaptor(h).pow(2).sum(dim=1).mean().item(), rel=1e-5
    )
    far = []
    for strength in (0.0, 10.0):
        with TemporaryDirectory() as folder:
            recipe = replace(RECIPE, losses={"adaptor": strength}, learning_rate=0.02)
            trainer = Trainer(model(losses=recipe.losses), recipe, Path(folder))
            trainer.fit(sentences(), sentences())
        log_b = trainer.model.output.background.log_mass
        far.append((distributions(trainer.model, sentences()) - log_b).abs().mean().item())
    assert far[1] < 0.1 < 0.3 < far[0]
