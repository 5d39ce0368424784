"""C as a sequence: the sentence before is read by an encoder, and states attend to its words."""

import numpy as np
import pytest
import torch
from query_cases import distributions, scored

from accord.models.background import Uniform
from accord.models.data import NO_WORD, Sentences
from accord.models.model import LanguageModel
from accord.models.phi import Features
from accord.models.recipe import Recipe

WORDS = 7
TEXT = Sentences(
    np.array([1, 2, 3, 0, 4, 0, 5, 6, 0, 1, 0]),
    np.array([4, 2, 3, 2]),
    documents=np.array([1, 1, 1, 2]),
)


def model_of(condition, **recipe):
    torch.manual_seed(0)
    features = Features.one_hot(WORDS)
    small = {"embedding": 5, "hidden": 6, "layers": 1, "condition": condition, **recipe}
    model = LanguageModel(Recipe(**small), features, Uniform(features)).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_(torch.randn(weight.shape) * 0.5)
    return model


def test_the_sentence_before_is_that_of_the_same_document_without_its_end():
    before = TEXT.with_previous(2).previous
    nothing = [NO_WORD, NO_WORD]
    assert before.tolist() == [nothing, [2, 3], [NO_WORD, 4], nothing]
    assert TEXT.with_previous(2).chosen(np.array([False, True, False, True])).previous.tolist() == [
        [2, 3],
        nothing,
    ]
    assert TEXT.alone().with_previous(2).previous is None


@pytest.mark.parametrize("tied", [True, False])
def test_the_adaptor_reads_the_attended_states_of_the_sentence_before(tied):
    model = model_of({"kind": "attended", "reach": 3}, tied=tied)
    condition, output = model.condition, model.output
    words = torch.tensor([[0], [4]])
    before = torch.tensor([[[1, 2, 3]], [[1, 2, 3]]])
    state = model.encoder.initial_state(1)
    seen, _ = model(words, state, {"previous": before})
    h, _ = model.encoder(model.embedding(words), state)
    # By the definition: s_j = GRU(ψ(C_j), s_{j−1}), α_j ∝ exp(h·Q·s_j), a = W·h + U·Σ α_j·s_j + c
    s, states = torch.zeros(1, 1, 5), []
    for word in (1, 2, 3):
        _, s = condition.encoder(model.embedding(torch.tensor([[word]])), s)
        states.append(s[0, 0])
    states = torch.stack(states)
    for h_t, seen_t in zip(h[:, 0], seen[:, 0], strict=True):
        alpha = (states @ (condition.query.weight @ h_t)).softmax(0)
        found = alpha @ states
        assert torch.allclose(seen_t, torch.cat([h_t, found]), atol=1e-6)
        a = output.weight @ h_t + output.label_weight @ found + output.bias
        assert torch.allclose(output.adaptor(seen_t[None])[0], a, atol=1e-6)
        assert torch.allclose(output.log_prob(seen_t[None])[0], a.log_softmax(0), atol=1e-6)


def test_words_that_fill_up_are_not_attended_to_and_without_c_the_vector_is_zero():
    model = model_of({"kind": "attended", "reach": 3})
    words, state = torch.tensor([[2]]), model.encoder.initial_state(1)
    padded, _ = model(words, state, {"previous": torch.tensor([[[NO_WORD, NO_WORD, NO_WORD]]])})
    alone, _ = model(words, state)
    assert torch.equal(padded, alone) and (alone[..., 5:] == 0).all()


def test_scores_depend_on_the_sentence_before_and_sum_to_one():
    model = model_of({"kind": "attended", "reach": 3}, text="stream")
    other = TEXT._replace(ids=np.array([1, 2, 5, 0, 4, 0, 5, 6, 0, 1, 0]))
    first, second = scored(model, TEXT), scored(model, other)
    assert not np.allclose(first[4:6], second[4:6])  # the sentence after the one that differs
    assert np.allclose(first[6:], second[6:])
    total = distributions(model, TEXT).exp().sum(1)
    assert torch.allclose(total, torch.ones(len(TEXT.ids)).double())


def test_no_cuda_graph_records_it():
    """Each different sentence before is read once: how many there are depends on the words."""
    assert not model_of({"kind": "attended", "reach": 3}).has_fixed_shapes
    assert model_of("none").has_fixed_shapes


def test_only_a_log_linear_output_attends():
    with pytest.raises(ValueError, match="condition: attended: expected a log-linear output"):
        Recipe(condition="attended", output="softmax")
