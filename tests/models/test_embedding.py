import pytest
import torch
from log_linear_cases import dense, random_features

from accord.models.background import Uniform
from accord.models.encoder import FeatureEmbedding
from accord.models.log_linear import LogLinear


def test_a_word_is_the_sum_of_its_features():
    features = random_features()
    embedding = FeatureEmbedding(features, 5).double()
    words = torch.tensor([[3, 59, 0], [7, 7, 1]])
    expected = (torch.from_numpy(dense(features)) @ embedding.weight)[words]
    assert torch.allclose(embedding(words), expected, atol=1e-12)


def test_tied_weights_learn_from_both_sides():
    features = random_features()
    embedding = FeatureEmbedding(features, 5)
    layer = LogLinear(features, Uniform(features), 5, weight=embedding.weight)
    assert layer.weight is embedding.weight
    words = torch.tensor([1, 2, 3])
    layer.loss(embedding(words), words).backward()
    both = layer.weight.grad.clone()
    layer.weight.grad = None
    layer.loss(embedding(words).detach(), words).backward()
    assert not torch.allclose(both, layer.weight.grad)


@pytest.mark.slow
def test_feature_dropout_leaves_out_features_in_training_only():
    features = random_features(words=400, width=12)
    torch.manual_seed(0)
    embedding = FeatureEmbedding(features, 3, dropout=0.5)
    words = torch.arange(400)
    kept = embedding.eval()(words)
    dropped = embedding.train()(words)
    by_signature = dropped[torch.from_numpy(features.members[0])]
    assert not torch.allclose(kept, dropped)
    sizes = torch.from_numpy(features.members[1]).diff().tolist()
    assert all(torch.equal(rows, rows[:1].expand_as(rows)) for rows in by_signature.split(sizes))
    with torch.no_grad():
        mean = torch.stack([embedding(words) for _ in range(2000)]).mean(dim=0)
    assert torch.allclose(mean, kept, atol=0.2)


def test_a_word_out_of_range_is_refused():
    with pytest.raises(IndexError, match=r"words: .* under 60; got 60 at index \(0, 1\)"):
        FeatureEmbedding(random_features(), 5)(torch.tensor([[0, 60]]))
