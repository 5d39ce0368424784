"""Experts that a recipe names: what they name, and a whole model that has one."""

import numpy as np
import torch
from query_cases import distributions
from training_cases import END, WORDS, model, sentences

from accord.models.constraints import ConstrainedModel, WordAutomaton
from accord.models.data import NO_WORD, Sentences
from accord.models.inference.torch_model import TorchModel
from accord.models.phi import Features
from accord.zoo.outputs import EXPERTS

TEXT = sentences(20)
COPY = {"kind": "copy", "reach": 3}


def test_copying_names_the_words_of_the_sentence_so_far():
    text = Sentences(np.array([5, 7, 5, 8, 0, 9, 0]), np.array([5, 2]))
    expert = EXPERTS.make(COPY, Features.one_hot(WORDS))
    words, values = expert.named(torch.from_numpy(expert.contexts(text)))
    none = NO_WORD
    assert words.tolist() == [
        [none, none, none], [none, none, 5], [none, 5, 7], [5, 7, 5], [7, 5, 8],
        [none, none, none], [none, none, 9],
    ]  # fmt: skip
    assert (values == 1).all()


def with_expert(weight: float):
    """Two models that differ in nothing but the weight of the expert feature."""
    plain, copying = model().eval(), model(output={"kind": "expert", "expert": COPY}).eval()
    copying.load_state_dict(plain.state_dict(), strict=False)
    h = next(iter(copying.output.expert_weight))
    with torch.no_grad():
        copying.output.expert_weight.copy_(torch.full_like(h, weight))
    return plain, copying


def test_words_said_before_and_they_alone_are_likelier_by_the_expert_s_weight():
    plain, copying = with_expert(0.3)
    before, after = (distributions(each, TEXT) for each in (plain, copying))
    assert torch.allclose(after.exp().sum(dim=1), torch.ones(len(after)).double(), atol=1e-5)
    gain = after - before
    start = 0
    for length in TEXT.lengths:
        for place in range(length):
            said = {*TEXT.ids[start + max(0, place - 3) : start + place].tolist()}
            others = gain[start + place, [word for word in range(WORDS) if word not in said]]
            assert torch.allclose(others, others[0], atol=1e-4)
            named = gain[start + place, sorted(said)] - others[0]
            assert not len(named) or torch.allclose(named, named[0], atol=1e-4)
        start += length


def test_constraints_hold_beside_it_and_scores_stay_a_distribution():
    _, copying = with_expert(1.0)
    group = np.where(np.arange(WORDS) == END, 0, 1 + np.arange(WORDS) % 2)
    held = ConstrainedModel(TorchModel(copying), WordAutomaton(group, np.array([[0, 0, -1]])))
    p = torch.from_numpy(held.log_distributions(TEXT)).exp()
    assert torch.allclose(p.sum(dim=1), torch.ones(len(p)).double(), atol=1e-5)
    assert (p[:, group == 2] == 0).all()
