"""The condition C: labels of sentences beside the input, and crossed with the features."""

import numpy as np
import pytest
import torch
from query_cases import distributions, scored

from accord.models.background import Unigram
from accord.models.conditions import Condition
from accord.models.data import END, Sentences
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


def test_labels_that_do_not_exist_are_refused():
    model = a_model("input")
    with pytest.raises(ValueError, match=r"up to \[2, 3\], got \[3, 0\]"):
        scored(model, text((3, 0)))
    with pytest.raises(ValueError, match="expected one of each of 2 kinds, got 1"):
        scored(model, text((1,)))
    with pytest.raises(ValueError, match="expects labels of the sentences, found none"):
        phi = features()
        LanguageModel(Recipe(condition="input"), phi, Unigram(phi, np.ones(WORDS)))
