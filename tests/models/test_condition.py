"""The outside condition C: labels of sentences, or the sentence before."""

import numpy as np
import pytest
import torch
from query_cases import distributions, scored

from accord.models.background import Uniform, Unigram
from accord.models.conditions import Condition
from accord.models.data import END, NO_WORD, Sentences
from accord.models.model import LanguageModel
from accord.models.phi import Features
from accord.models.recipe import Recipe
from accord.models.train import Trainer

WORDS = 7
LABELS = (2, 3)  # how many of each kind
# Two texts of the same words, the second backwards: nothing but the label tells them apart.
FORTH, BACK = [1, 2, 3, 4, 5, 6, END], [6, 5, 4, 3, 2, 1, END]


def features() -> Features:
    """Each word for itself, and whether its number is odd."""
    rows = np.array([[word, WORDS + word % 2] for word in range(WORDS)])
    indptr = np.arange(0, 2 * WORDS + 1, 2)
    return Features.from_rows(indptr, rows.ravel(), np.ones(2 * WORDS), WORDS + 2)


def a_model(condition: str | dict, **said) -> LanguageModel:
    torch.manual_seed(3)
    recipe = Recipe(
        embedding=8, hidden=8, layers=1, condition=condition, text="sentences", batch=4, **said
    )
    phi = features()
    model = LanguageModel(recipe, phi, Unigram(phi, np.arange(1.0, 1 + WORDS)), labels=LABELS)
    return model.eval()


def with_weights(model: LanguageModel) -> LanguageModel:
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if name in ("condition.weight", "output.label_weight"):
                weight.normal_()
    return model


def text(*labels) -> Sentences:
    count = len(labels)
    ids = np.array([*FORTH, *BACK] * count)[: 7 * count]
    return Sentences(ids, np.full(count, 7), np.array(labels, np.int16))


def test_without_a_label_the_model_is_the_one_that_is_told_none():
    none, told = text((0, 0), (0, 0)), with_weights(a_model("crossed"))
    plain = a_model("none")
    assert scored(told, none) == pytest.approx(scored(plain, none), abs=1e-6)
    assert scored(told, none._replace(labels=None)) == pytest.approx(scored(told, none), abs=1e-6)


@pytest.mark.parametrize("condition", ["input", "crossed"])
def test_each_label_gives_a_distribution_of_its_own(condition):
    model, seen = with_weights(a_model(condition)), []
    for labels in ((0, 0), (1, 0), (2, 0), (0, 3), (2, 3)):
        log_p = distributions(model, text(labels))
        assert log_p.exp().sum(dim=1).numpy() == pytest.approx(1, abs=1e-5)
        seen.append(log_p)
    for at, one in enumerate(seen):
        assert all(not torch.allclose(one, other, atol=1e-3) for other in seen[:at])


def test_crossed_labels_add_to_the_weights_of_features():
    """With the input told nothing: p(x | K, C) ∝ p(x | K)·exp(φ(x)·U·c)."""
    model, phi = with_weights(a_model("crossed")), features()
    with torch.no_grad():
        model.condition.weight.zero_()
    dense = torch.zeros(WORDS, WORDS + 2)
    for word in range(WORDS):
        dense[word, phi.indices[phi.indptr[word] : phi.indptr[word + 1]]] = 1
    added = dense @ model.output.label_weight.detach()
    expected = distributions(model, text((0, 0))) + added[:, 1] + added[:, 2 + 2]
    found = distributions(model, text((2, 3)))
    assert torch.allclose(found, expected.log_softmax(dim=1), atol=1e-5)


def test_sentences_of_several_labels_are_scored_as_each_by_itself():
    model = with_weights(a_model("crossed"))
    together = scored(model, text((1, 0), (2, 3), (0, 1)))
    for number, labels in enumerate(((1, 0), (2, 3), (0, 1))):
        own = text(*[labels] * (number + 1))
        assert together[7 * number :][:7] == pytest.approx(scored(model, own)[-7:], abs=1e-6)


def test_a_label_that_is_given_is_that_of_all_sentences_without_one():
    model, bare = with_weights(a_model("crossed")), text((0, 0), (0, 0))._replace(labels=None)
    expected = scored(model, text((2, 1), (2, 1)))
    model.condition.default_labels = torch.tensor([2, 1])
    assert scored(model, bare) == pytest.approx(expected, abs=1e-6)


def test_a_label_is_dropped_from_whole_sentences():
    condition = Condition(LABELS, 4, dropout=0.5)
    words = torch.tensor([END, 1, 2, END, 3, 4, END, 1]).unsqueeze(1).expand(-1, 200)
    c = condition.train()(words, {"labels": torch.tensor([1, 3]).expand(*words.shape, -1)})
    for first, stop in ((0, 3), (3, 6), (6, 8)):
        assert (c[first:stop] == c[first]).all()
    assert c[0].sum(0).tolist() == pytest.approx([100, 0, 0, 0, 100], abs=35)
    assert (c[0] != c[3]).any() and (c[0, :, 0] != c[0, :, 4]).any()
    assert (
        condition.eval()(words, {"labels": torch.tensor([1, 3]).expand(*words.shape, -1)})[..., 0]
        == 1
    ).all()


@pytest.mark.slow
@pytest.mark.parametrize("condition", ["input", "crossed"])
def test_the_right_label_helps_and_the_wrong_one_harms(condition, tmp_path):
    rounds = 24
    labels = np.array([(1, 0), (2, 0)] * rounds, np.int16)
    train = Sentences(np.array([*FORTH, *BACK] * rounds), np.full(2 * rounds, 7), labels)
    model = a_model(
        {"kind": condition, "dropout": 0.3}, epochs=8, learning_rate=0.03, input_dropout=0.0
    )
    Trainer(model, model.recipe, tmp_path).fit(train, train)
    none = np.zeros_like(labels)
    wrong = np.where(labels > 0, 3 - labels, 0)
    right, unlabelled, misled = (  # of first words: those after them follow from these
        -scored(model, train._replace(labels=each))[::7].mean() for each in (labels, none, wrong)
    )
    assert right < unlabelled - 0.2 < misled - 0.4
    assert unlabelled == pytest.approx(np.log(2), abs=0.2)  # which of two it is


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
