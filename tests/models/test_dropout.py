from itertools import pairwise

import pytest
import torch
from torch import nn

from accord.models.encoder import FeatureEmbedding, VariationalDropout
from accord.models.phi import Features


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
