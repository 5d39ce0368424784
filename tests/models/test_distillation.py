"""A student approaches its teachers, and what they teach is their mixture at every word."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from log_linear_cases import random_states, unigram_layer
from query_cases import distributions, scored
from training_cases import RECIPE, WORDS, features, model, sentences

from accord.models import regularisers
from accord.models.background import NGramBackground, kneser_ney
from accord.models.calibration import likeliest_weights
from accord.models.recipe import Teachers
from accord.models.regularisers import (
    LEAST_WEIGHT,
    Distillation,
    divergence,
    likeliest,
    teach,
    tempered,
)
from accord.models.train import Trainer

TEXT = sentences()
ALL = Teachers(top=10**6)
NO_DROPOUT = {f"{name}_dropout": 0.0 for name in ("input", "output", "feature", "weight")}
TAUGHT = NO_DROPOUT | {
    "teachers": Teachers(weight=1.0),
    **{"epochs": 20, "patience": 20, "learning_rate": 0.03, "ema": 0.0, "text": "sentences"},
    "schedule": {"kind": "plateau", "decay": 1.0},
}


def teacher(seed: int = 1, **changes):
    """Return a model that is far from any other."""
    network = model(**changes)
    torch.manual_seed(seed)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.copy_(torch.randn_like(parameter) * 1.5)
    return network.eval()


def distance(one, other) -> float:
    log_p, log_q = (distributions(network, TEXT).double() for network in (one, other))
    return float((log_q.exp() * (log_q - log_p)).sum(dim=1).mean())


@pytest.mark.slow
def test_a_student_of_the_same_architecture_approaches_its_teacher(tmp_path):
    teaching, student, recipe = teacher(), model(**TAUGHT), replace(RECIPE, **TAUGHT)
    distances = [distance(student, teaching)]
    term = Distillation(recipe, lambda: [teaching], is_training_text=True)
    trainer = Trainer(student, recipe, tmp_path, terms=[term])
    trainer.on_epoch = lambda row: distances.append(distance(student, teaching))
    trainer.fit(TEXT, TEXT)
    # The best epoch is that of the text, which the teacher does not know; the last one counts here.
    assert distances[0] > 1
    assert distances[-1] < distances[0] / 5


def of_words(teachers, student, text=TEXT) -> torch.Tensor:
    """Return what is taught of every word; each has a signature of its own here: (N × V)."""
    taught = teach(teachers, text, text, student, is_training_text=True)
    q = torch.zeros(len(text.ids), WORDS)
    q.scatter_(1, taught.signatures.long(), taught.q)
    return q[:, student.output.signature]


def mixture_of(teachers, text=TEXT) -> torch.Tensor:
    """Return the mixture under which the text is likeliest: (N × V)."""
    weights = likeliest_weights(np.stack([scored(network, text) for network in teachers]))
    weights = np.maximum(weights, LEAST_WEIGHT) / np.maximum(weights, LEAST_WEIGHT).sum()
    parts = zip(teachers, weights, strict=True)
    return sum(weight * distributions(network, text).exp() for network, weight in parts).float()


@pytest.mark.parametrize("changes", [[{}, {}], [{"output": "softmax"}]], ids=len)
def test_the_mixture_that_validation_finds_likeliest_is_taught(changes):
    """Teachers with another output are queried for words."""
    teachers = [teacher(number, **settings) for number, settings in enumerate(changes)]
    teachers += [model().eval()] if len(changes) > 1 else []
    taught = of_words(teachers, model(teachers=ALL))
    assert torch.allclose(taught, mixture_of(teachers), atol=1e-5)


@pytest.mark.parametrize("words_in_part", [30, 1 << 16])
def test_teachers_of_sentences_and_of_documents_teach_the_same_words(words_in_part, monkeypatch):
    """Each reads the text in an order of its own."""
    monkeypatch.setattr(regularisers, "WORDS_IN_PART", words_in_part)
    monkeypatch.setattr(regularisers, "WORDS_AT_ONCE", 25)
    documents = np.repeat(np.arange(6), [1, 9, 20, 2, 20, 8])
    text, student = TEXT._replace(documents=documents), model(teachers=ALL)
    teachers = [teacher(1), teacher(2, text="documents")]
    taught = of_words(teachers, student, text)
    assert torch.allclose(taught, mixture_of(teachers, text), atol=1e-5)


def test_teachers_that_left_a_part_out_teach_that_part_alone():
    first, second = (teacher(n, folds=2, fold=n) for n in (1, 2))
    student = model(teachers=ALL)
    both = teach([first, second], TEXT, TEXT, student, is_training_text=True)
    is_first = np.repeat(TEXT.parts(2) == 1, TEXT.lengths)
    for network, mask in ((first, is_first), (second, ~is_first)):
        alone = teach([network], TEXT, TEXT, student, is_training_text=False)
        assert np.allclose(both.q[mask], alone.q[mask], atol=1e-6)
    with pytest.raises(ValueError, match="some that have not read each part"):
        teach([first], TEXT, TEXT, student, is_training_text=True)


def test_ngrams_of_a_teacher_lack_the_part_that_they_teach():
    counted = NGramBackground.learn(features(), [TEXT], 3, kneser_ney, np.ones_like)
    teaching, student = model(), model(teachers=ALL)
    teaching.output.background = counted
    torch.nn.init.zeros_(teaching.output.weight)  # so the n-grams alone are taught
    taught = of_words([teaching], student).double()
    context = torch.from_numpy(counted.contexts(TEXT, training=True))
    assert torch.allclose(taught, counted.log_mass_of(None, context).exp().double(), atol=1e-5)
    surer = distributions(teaching, TEXT).exp().float().double()
    words = torch.from_numpy(TEXT.ids.astype(np.int64)).unsqueeze(1)
    assert taught.gather(1, words).log().mean() < surer.gather(1, words).log().mean() - 0.5


@pytest.mark.parametrize("temperature", [1.0, 2.0])
def test_its_gradient_by_signatures_is_that_of_the_sum_over_words(temperature):
    _, _, layer = unigram_layer()
    _, _, teacher = unigram_layer()
    with torch.no_grad():
        for parameter in teacher.parameters():
            parameter.add_(torch.randn_like(parameter))
    h = random_states(7).requires_grad_()
    of_teacher, of_student = (
        tempered(network.score_signatures(h).log_p, temperature) for network in (teacher, layer)
    )
    taught = likeliest(of_teacher.detach().exp(), 10**6)
    (gradient,) = torch.autograd.grad(divergence(of_student, taught), h)
    assert gradient.abs().max() > 1e-3
    if temperature == 1:
        q, log_p = teacher.log_prob(h).detach().exp(), layer.log_prob(h)
    else:  # by the definition, signature by signature
        q = of_teacher.detach().exp()
        log_p = tempered(layer.score_signatures(h).log_p, temperature)
    (expected,) = torch.autograd.grad(-(q * log_p).sum(dim=1).mean(), h)
    assert torch.allclose(gradient, expected, atol=1e-10)


def test_it_is_zero_between_equals_and_least_there():
    log_p = torch.randn(5, 20, dtype=torch.float64).log_softmax(dim=1)
    others = torch.randn(5, 20, dtype=torch.float64).log_softmax(dim=1)
    for k in (3, 20):
        taught = likeliest(log_p.exp(), k)
        assert divergence(log_p, taught).item() == pytest.approx(0, abs=1e-10)
        assert divergence(others, taught) > 0.1
    whole = (log_p.exp() * (log_p - others)).sum(dim=1).mean()
    assert divergence(others, likeliest(log_p.exp(), 20)).item() == pytest.approx(whole.item())
    assert divergence(others, likeliest(log_p.exp(), 3)) < whole
