"""Keys that others make void are refused or named, and make no other model."""

from dataclasses import replace

import numpy as np
import pytest

from accord.models.background import Uniform
from accord.models.model import LanguageModel
from accord.models.parts import ENCODERS
from accord.models.phi import Features
from accord.pipeline.config.configuration import load_config


def test_ngrams_and_a_pretrained_model_are_not_both_the_background():
    overrides = ["train.phases={pretraining: {use: background}}", "background.kind=ngram"]
    with pytest.raises(
        ValueError, match=r"model 'rnn': train\.phases: pretraining\.use: background takes the"
    ):
        load_config("tiny", overrides)
    assert load_config("tiny", [overrides[0], "background.kind=uniform"])


@pytest.mark.parametrize("name", ENCODERS.parts())
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("tied", [True, False])
def test_a_width_that_no_layer_has_is_said_and_is_no_other_model(name, layers, tied, capsys):
    """As the models themselves have it: do the shapes of their weights depend on `hidden`?"""
    settings = [
        f"train.encoder={name}",
        f"train.layers={layers}",
        f"train.tied={str(tied).lower()}",
    ]
    features, found, shapes = Features.one_hot(5), [], []
    for hidden in (16, 32):
        config = load_config("tiny", [*settings, f"train.hidden={hidden}"])
        found.append(config.models["ll-rnn"]["train"])
        recipe = replace(found[-1], hidden=hidden)
        model = LanguageModel(recipe, features, Uniform(features), ends=np.ones(5))
        shapes.append([weight.shape for weight in model.parameters()])
    is_unused = shapes[0] == shapes[1]
    assert (found[0] == found[1]) is is_unused
    said = "train.hidden has no effect on rnn, ll-rnn: a tied encoder without hidden layers"
    assert (said in capsys.readouterr().err) is is_unused
