"""Features that are switched off: the definition over an enumerated vocabulary, nothing else."""

import numpy as np
import pytest
import torch
from log_linear_cases import by_definition, dense, random_features, random_mass
from ngram_cases import WORDS, random_sentences

from accord.models.background import Unigram
from accord.models.inference.torch_model import TorchModel
from accord.models.model import LanguageModel
from accord.models.recipe import Recipe

FEATURES = random_features(WORDS, width=6)
TEXT = random_sentences(seed=5, count=10, words=WORDS)
OFF = [1, 4]


HOT = {"kind": "log-linear", "temperature": True}


def model(**recipe) -> TorchModel:
    torch.manual_seed(3)
    background = Unigram(FEATURES, random_mass(WORDS))
    sizes = {"embedding": 6, "hidden": 6, "layers": 1}
    return TorchModel(LanguageModel(Recipe(**sizes, **recipe), FEATURES, background).eval())


@pytest.mark.parametrize(
    ("recipe", "sharp"), [({}, 1.0), ({"tied": True}, 1.0), ({"output": HOT}, 0.7)]
)
@torch.inference_mode()
def test_probabilities_are_those_of_the_features_that_are_left(recipe, sharp):
    whole = model(**recipe)
    if "output" in recipe:
        whole.output.inverse_temperature.fill_(sharp)
    changed = whole.switched_off(OFF)
    (read,) = whole.states(TEXT)
    phi = dense(FEATURES).copy()
    phi[:, OFF] = 0
    log_b = torch.from_numpy(np.log(random_mass(WORDS)))
    believed = sharp * log_b + (1 - sharp) * _shares(log_b)
    expected = by_definition(phi, believed, whole.output.adaptor(read.h).double())
    found = changed.output.log_prob(read.h, torch.from_numpy(read.context)).double()
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(found.exp().sum(dim=1), torch.ones(len(found)).double())


def _shares(log_b: torch.Tensor) -> torch.Tensor:
    """log b(x)/B_s, which no temperature touches."""
    signature = torch.from_numpy(FEATURES.signature)
    mass = torch.zeros(FEATURES.signature_count, dtype=torch.double)
    return log_b - mass.index_add(0, signature, log_b.exp()).log()[signature]


@pytest.mark.parametrize("tied", [False, True])
def test_the_first_model_and_what_is_read_stay_as_they_were(tied):
    whole = model(tied=tied)
    before = whole.score(TEXT)
    changed = whole.switched_off(OFF)
    ((one,), (other,)) = whole.states(TEXT), changed.states(TEXT)
    torch.testing.assert_close(one.h, other.h, atol=0, rtol=0)
    np.testing.assert_array_equal(whole.score(TEXT), before)
    assert not np.allclose(changed.score(TEXT), before)
    np.testing.assert_array_equal(whole.switched_off([]).score(TEXT), before)
    assert not changed.output.adaptor(one.h)[:, OFF].any()
