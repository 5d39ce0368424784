"""A model trained towards others comes near them, and goes on where it was interrupted."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from query_cases import distributions, scored
from training_cases import RECIPE, WORDS, features, model, sentences

from accord.models import distillation
from accord.models.background import NGramBackground, kneser_ney
from accord.models.common.files import WEIGHTS
from accord.models.distillation import LEAST_WEIGHT, Distillation, teach
from accord.models.mixture import likeliest_weights
from accord.models.recipe import Teachers
from accord.models.train import Trainer

TEXT = sentences()
ALL = Teachers(top=10**6)
TAUGHT = {
    "teachers": Teachers(weight=1.0),
    "epochs": 20,
    "learning_rate": 0.03,
    "input_dropout": 0.0,
    "output_dropout": 0.0,
    "feature_dropout": 0.0,
    "weight_dropout": 0.0,
    "ema": 0.0,
    "text": "sentences",
    "patience": 20,
    "schedule": {"kind": "plateau", "decay": 1.0},
}

STILL = {"epochs": 1, "learning_rate": 1e-12}  # nothing is learned: training and validation agree


def teacher(seed: int = 1, **changes):
    made = model(**changes)
    torch.manual_seed(seed)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.copy_(torch.randn_like(parameter) * 1.5)
    return made.eval()


def distance(one, other) -> float:
    log_p, log_q = (distributions(each, TEXT).double() for each in (one, other))
    return float((log_q.exp() * (log_q - log_p)).sum(dim=1).mean())


def towards(recipe, teachers) -> list[Distillation]:
    return [Distillation(recipe, lambda: teachers, is_training_text=True)]


def taught(folder, recipe, teachers, on_step=lambda words: None):
    folder.mkdir(exist_ok=True)
    changes = {key: value for key, value in vars(recipe).items() if value != getattr(RECIPE, key)}
    student = model(**changes)
    Trainer(student, recipe, folder, on_step, terms=towards(recipe, teachers)).fit(TEXT, TEXT)
    return student


@pytest.mark.slow
def test_a_student_of_the_same_architecture_approaches_its_teacher(tmp_path):
    of, student = teacher(), model(**TAUGHT)
    before = distance(student, of)
    # The best epoch is that of the text, which the teacher does not know: the last one is asked.
    recipe = replace(RECIPE, **TAUGHT)
    trainer = Trainer(student, recipe, tmp_path, terms=towards(recipe, [of]))
    kept = []
    trainer.on_epoch = lambda row: kept.append(distance(student, of))
    trainer.fit(TEXT, TEXT)
    assert before > 1
    assert kept[-1] < before / 5


@pytest.mark.slow
def test_the_curve_has_nats_of_the_text_whatever_the_teachers_say(tmp_path):
    recipe, student = replace(RECIPE, **TAUGHT | STILL), model(**TAUGHT)
    trainer = Trainer(student, recipe, tmp_path, terms=towards(recipe, [teacher()]))
    trainer.fit(TEXT, TEXT)
    assert trainer.curve[0].train_nats == pytest.approx(trainer.curve[0].valid_nats, rel=1e-4)


def of_words(teachers, student, text=TEXT) -> torch.Tensor:
    """Return what is taught of every word; each has a signature of its own here: (N × V)."""
    found = teach(teachers, text, text, student, is_training_text=True)
    q = torch.zeros(len(TEXT.ids), WORDS)
    q.scatter_(1, torch.from_numpy(found.signatures.astype(np.int64)), torch.from_numpy(found.q))
    return q[:, student.output.signature]


def test_what_is_taught_is_the_mixture_of_the_teachers_that_validation_likes_best():
    teachers, student = [teacher(1), teacher(2), model().eval()], model(teachers=ALL)
    weights = likeliest_weights(np.stack([scored(each, TEXT) for each in teachers]))
    assert weights.max() > 0.5  # two of them are no good
    weights = np.maximum(weights, LEAST_WEIGHT) / np.maximum(weights, LEAST_WEIGHT).sum()
    parts = zip(teachers, weights, strict=True)
    mixture = sum(weight * distributions(each, TEXT).exp() for each, weight in parts)
    assert torch.allclose(of_words(teachers, student), mixture.float(), atol=1e-5)


@pytest.mark.parametrize("words_in_part", [30, 1 << 16])
def test_teachers_of_sentences_and_of_documents_teach_the_same_words(words_in_part, monkeypatch):
    """Each reads the text in an order of its own."""
    monkeypatch.setattr(distillation, "WORDS_IN_PART", words_in_part)
    monkeypatch.setattr(distillation, "WORDS_AT_ONCE", 25)
    documents = np.repeat(np.arange(6), [1, 9, 20, 2, 20, 8])
    text, student = TEXT._replace(documents=documents), model(teachers=ALL)
    teachers = [teacher(1), teacher(2, text="documents")]
    log_p = np.stack([scored(each, text) for each in teachers])
    weights = np.maximum(likeliest_weights(log_p), LEAST_WEIGHT)
    parts = zip(teachers, weights / weights.sum(), strict=True)
    mixture = sum(weight * distributions(each, text).exp() for each, weight in parts)
    assert torch.allclose(of_words(teachers, student, text), mixture.float(), atol=1e-5)


def test_a_teacher_of_another_output_is_asked_for_words():
    of, student = teacher(output="softmax"), model(teachers=ALL)
    mean = distributions(of, TEXT).exp().float()
    assert torch.allclose(of_words([of], student), mean, atol=1e-5)


def test_who_left_a_part_out_teaches_that_part_alone():
    first, second = (teacher(n, folds=2, fold=n) for n in (1, 2))
    student = model(teachers=ALL)
    both = teach([first, second], TEXT, TEXT, student, is_training_text=True)
    is_first = np.repeat(TEXT.parts(2) == 1, TEXT.lengths)
    for each, mask in ((first, is_first), (second, ~is_first)):
        alone = teach([each], TEXT, TEXT, student, is_training_text=False)
        assert np.allclose(both.q[mask], alone.q[mask], atol=1e-6)
    with pytest.raises(ValueError, match="some that have not read each part"):
        teach([first], TEXT, TEXT, student, is_training_text=True)


def test_ngrams_of_a_teacher_lack_the_part_that_they_teach():
    counted = NGramBackground.learn(features(), [TEXT], 3, kneser_ney, np.ones_like)
    of, student = model(), model(teachers=ALL)
    of.output.background = counted
    torch.nn.init.zeros_(of.output.weight)  # the network says nothing: n-grams alone are taught
    taught = of_words([of], student).double()
    context = torch.from_numpy(counted.contexts(TEXT, training=True))
    assert torch.allclose(taught, counted.log_mass_of(None, context).exp().double(), atol=1e-5)
    surer = distributions(of, TEXT).exp().float().double()
    own = torch.from_numpy(TEXT.ids.astype(np.int64)).unsqueeze(1)
    assert taught.gather(1, own).log().mean() < surer.gather(1, own).log().mean() - 0.5


def test_a_teacher_with_an_expert_is_asked_for_words():
    of, student = teacher(output="expert"), model(teachers=ALL)
    mean = distributions(of, TEXT).exp().float()
    assert torch.allclose(of_words([of], student), mean, atol=1e-5)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"output": "softmax"}, "teachers: expected output: log-linear, got softmax"),
        ({"output": "expert"}, "teachers: expected output: log-linear, got expert"),
        ({"folds": 2}, "folds: expected 0 of a model that is taught"),
    ],
)
def test_who_cannot_be_taught_is_refused(changes, said):
    with pytest.raises(ValueError, match=said):
        replace(RECIPE, teachers=Teachers(("a",)), **changes)


@pytest.mark.slow
def test_resumed_is_uninterrupted(tmp_path):
    recipe = replace(RECIPE, teachers=Teachers(weight=0.7, top=4), checkpoint_steps=4)
    teachers = [teacher(1), teacher(2)]
    taught(tmp_path / "whole", recipe, teachers)
    steps = 0

    def interrupt(words):
        nonlocal steps
        steps += 1
        if steps == 10:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        taught(tmp_path / "parts", recipe, teachers, interrupt)
    taught(tmp_path / "parts", recipe, teachers)
    whole, parts = ((tmp_path / each / WEIGHTS).read_bytes() for each in ("whole", "parts"))
    assert whole == parts
