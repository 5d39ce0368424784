"""A model's temperature is fitted on validation, and is part of the model."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from query_cases import scored
from training_cases import RECIPE, log_linear, model, sentences

from accord.models.calibration import fit_temperature
from accord.models.common.files import WEIGHTS
from accord.models.common.weights import load_tensors
from accord.models.recipe import Recipe
from accord.models.train import Trainer

HOT = replace(RECIPE, output=log_linear(temperature=True))


def test_a_model_that_is_too_sure_is_made_less_so():
    torch.manual_seed(1)
    made, text = model(output=HOT.output), sentences(60)
    with torch.no_grad():
        made.output.weight.mul_(8)
    before = scored(made, text).mean()
    fit_temperature(made, text)
    assert made.output.inverse_temperature < 1
    assert scored(made, text).mean() > before
    h = torch.randn(20, made.output.weight.shape[1])
    assert torch.allclose(made.output.log_prob(h).exp().sum(dim=1), torch.ones(20), atol=1e-5)


@pytest.mark.parametrize("before", [0.1, 0.31])
def test_a_temperature_that_validates_worse_is_not_taken(before):
    """The best that the search can find, 1/T = 0.5, is worse than what a start brings."""
    made, text = model(output=HOT.output), sentences(60)
    with torch.no_grad():
        made.output.weight.mul_(100)
        made.output.inverse_temperature.fill_(before)
    scores = scored(made, text)
    fit_temperature(made, text)
    assert float(made.output.inverse_temperature) == pytest.approx(before, rel=1e-6)
    assert (scored(made, text) == scores).all()


def test_what_is_explained_is_what_is_scored():
    made = model(output=HOT.output)
    with torch.no_grad():
        made.output.inverse_temperature.fill_(0.8)
    output, h = made.output, torch.randn(5, made.output.weight.shape[1])
    words = torch.arange(5).unsqueeze(1)
    rows = output.product(torch.eye(output.product.feature_count))[output.signature[words]]
    features = (rows.squeeze(1) * output.adaptor(h)).sum(dim=1)
    background = output.log_background_of(h, words).squeeze(1).float()
    total = background + features - output.score_signatures(h).logits.logsumexp(dim=1)
    assert torch.allclose(total, output.log_prob_of(h, words).squeeze(1), atol=1e-5)


@pytest.mark.slow
def test_it_is_fitted_after_the_training_and_saved_with_the_weights(tmp_path):
    train, valid = sentences(80), sentences(30)
    for name in ("plain", "hot"):
        (tmp_path / name).mkdir()
    plain = model()
    Trainer(plain, RECIPE, tmp_path / "plain").fit(train, valid)
    hot = model(output=HOT.output)
    Trainer(hot, HOT, tmp_path / "hot").fit(train, valid)
    saved = load_tensors(tmp_path / "hot" / WEIGHTS)
    assert saved.pop("output.inverse_temperature") != 1
    others = load_tensors(tmp_path / "plain" / WEIGHTS)
    assert all(torch.equal(saved[name], others[name]) for name in others)
    assert scored(hot, valid).mean() > scored(plain, valid).mean()
    assert np.isfinite(scored(hot, valid)).all()


def test_other_outputs_have_none():
    with pytest.raises(ValueError, match="output: softmax: unknown setting 'temp"):
        Recipe(output={"kind": "softmax", "temperature": True})
