"""A model's calibration is fitted on validation, and is part of the model."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from query_cases import scored
from training_cases import RECIPE, WORDS, log_linear, model, sentences

from accord.models.background import NGramBackground, kneser_ney
from accord.models.calibration import AS_PREDICTED, fit_calibration
from accord.models.common.files import WEIGHTS
from accord.models.common.weights import load_tensors
from accord.models.data import Sentences
from accord.models.inference.torch_model import TorchModel
from accord.models.model import LanguageModel
from accord.models.phi import Features
from accord.models.train import Trainer

STEP = 0.02  # of what is fitted, by which nothing may become better
CALIBRATED = replace(RECIPE, output=log_linear(calibration=True))


def two_to_a_signature() -> Features:
    """Words that share, so that there is something to share."""
    pairs = np.arange(WORDS) // 2
    return Features.from_rows(np.arange(WORDS + 1), pairs, np.ones(WORDS), WORDS // 2)


def over_bigrams() -> LanguageModel:
    torch.manual_seed(5)
    fitted = log_linear(calibration=True, background_gate=True, temperature=True)
    phi, recipe = two_to_a_signature(), replace(RECIPE, output=fitted)
    masses = 2.0 ** -np.arange(WORDS)
    text = sentences(20)
    background = NGramBackground.learn(phi, [text], 2, kneser_ney, lambda counts: masses, folds=0)
    made = LanguageModel(recipe, phi, background).eval()
    with torch.no_grad():
        made.output.inverse_temperature.fill_(0.7)
    return made


def test_no_other_share_makes_the_text_likelier():
    made, text = over_bigrams(), sentences(90)
    before = scored(made, text).mean()
    fit_calibration(made, text)
    fitted = scored(made, text).mean()
    share = made.output.calibration.context_share
    assert fitted > before
    assert 0 < share < 1
    for step in (STEP, -STEP):
        with torch.no_grad():
            share.add_(step)
            assert scored(made, text).mean() < fitted
            share.sub_(step)


def of_octaves(made: LanguageModel, text: Sentences) -> np.ndarray:
    """How many words of each octave the model expects in a text."""
    output, p = made.output, []
    for read in TorchModel(made).states(text):
        p.append(
            output.score_signatures(read.h, torch.from_numpy(read.context)).log_p.exp().detach()
        )
    return np.bincount(output.calibration.octave.numpy(), torch.cat(p).sum(dim=0).numpy())


def test_octaves_come_as_often_as_is_expected():
    made, text = over_bigrams(), sentences(90)
    before = of_octaves(made, text)
    fit_calibration(made, text)
    came = np.bincount(made.output.calibration.octave[made.output.signature].numpy()[text.ids])
    assert np.count_nonzero(came) > 2
    # And so do the few words of a text that is as the network would have it.
    words = len(text.ids)
    expected = (came + AS_PREDICTED * before / words) * words / (words + AS_PREDICTED)
    assert np.abs(before - expected).max() > 10
    assert of_octaves(made, text) == pytest.approx(expected, abs=0.02)


def test_an_octave_that_never_comes_keeps_a_probability():
    made, text = model(output=CALIBRATED.output), sentences(60)
    text = text.chosen(np.add.reduceat(text.ids > WORDS // 2, text.starts) == 0)
    fit_calibration(made, text)
    h = torch.randn(20, made.output.weight.shape[1])
    log_p = made.output.log_prob(h)
    assert log_p.isfinite().all()
    assert torch.allclose(log_p.exp().sum(dim=1), torch.ones(20), atol=1e-5)


@pytest.mark.slow
def test_it_is_fitted_after_the_training_and_saved_with_the_weights(tmp_path):
    train, valid = sentences(80), sentences(30)
    scores, saved = {}, {}
    for name, recipe in (("plain", RECIPE), ("calibrated", CALIBRATED)):
        (tmp_path / name).mkdir()
        made = model(output=recipe.output)
        Trainer(made, recipe, tmp_path / name).fit(train, valid)
        scores[name] = scored(made, valid).mean()
        saved[name] = load_tensors(tmp_path / name / WEIGHTS)
    assert saved["calibrated"]["output.calibration.of_octaves"].any()
    assert all(
        torch.equal(saved["calibrated"][each], saved["plain"][each]) for each in saved["plain"]
    )
    assert scores["calibrated"] > scores["plain"]
