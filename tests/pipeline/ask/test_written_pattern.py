"""Words by how they are written, known ones and spelled ones alike: exact, and normalised."""

import re

import numpy as np
import pytest

import accord
from accord import load
from accord.models.inference.generation import Beam
from accord.pipeline.ask.generate import Generator
from accord.pipeline.base.names import UNKNOWN_ID, is_special


@pytest.fixture(scope="module")
def scorer(tmp_path_factory, slow):
    changes = {"analyse.protocol": "open", "train.epochs": 1}
    runs = tmp_path_factory.mktemp("open")
    chosen = {"models": ["ll-rnn"], "until": "evaluate"}
    return load(accord.run("tiny", set=changes, **chosen, runs=runs).folder)


def first_words(generator: Generator) -> np.ndarray:
    reading = Beam.begin(generator.model, [], 1)
    log_p = generator.model.log_prob(reading.h, reading.context)
    return np.exp(log_p[0])


def test_a_word_has_its_share_of_all_that_match(scorer):
    """p(x | match) = p(x)·m(x)/Σ p·m: m is 0 or 1 of a known word, the mass of strings else."""
    free, held = (
        Generator(scorer, spelled=True),
        Generator(scorer, pattern="/.*s/ .*", spelled=True),
    )
    (strings,) = held.constrained.strings.values()
    forms = scorer.vocabulary.forms
    matching = np.array([float(not is_special(form) and form.endswith("s")) for form in forms])
    classes = slice(UNKNOWN_ID, UNKNOWN_ID + scorer.spelling.classes)
    matching[classes] = np.exp(strings.log_mass)
    assert ((matching[classes] > 0) & (matching[classes] < 1)).all()
    expected = first_words(free) * matching
    assert first_words(held) == pytest.approx(expected / expected.sum(), abs=1e-6)


def test_spelled_words_match_and_have_the_probability_that_is_shown(scorer):
    expression = "zo[^0-9]*e(ur|t)"
    assert not any(re.fullmatch(expression, form) for form in scorer.vocabulary.known)
    generator = Generator(scorer, pattern=f'le /{expression}/ "."', spelled=True)
    (strings,) = generator.constrained.strings.values()
    le, *_ = scorer.vocabulary.ids(["le"])
    for sentence in generator.sample(20):
        first, word, last = sentence.words
        assert (first.form, last.form) == ("le", ".") and re.fullmatch(expression, word.form)
        # One of the classes was drawn, and the string from it, among those that match.
        of_class = scorer.spelling.log_prob([word.form])[0] - strings.log_mass
        assert word.log_p < of_class.max() + 1e-6
    reading = Beam.begin(generator.model, [le], 1)
    p = np.exp(generator.model.log_prob(reading.h, reading.context)[0])
    classes = slice(UNKNOWN_ID, UNKNOWN_ID + scorer.spelling.classes)
    assert p[classes].sum() == pytest.approx(1, abs=1e-5)


def test_without_spelling_the_known_words_that_match_are_left(scorer):
    sentences = Generator(scorer, pattern='DET NOUN&/.*s/ "."').sample(40)
    assert {s.words[1].form for s in sentences} <= {
        f for f in scorer.vocabulary.known if f[-1] == "s"
    }


def test_a_spelled_word_that_two_tests_could_read_is_refused(scorer):
    with pytest.raises(ValueError, match=r"a spelled word could be one of .*expected one /…/"):
        Generator(scorer, pattern="(/.*s/ le)|(. la)", spelled=True)
    with pytest.raises(ValueError, match="expected one /…/ for a word, found 2"):
        Generator(scorer, pattern="/a.*/&/.*s/", spelled=True)
    with pytest.raises(ValueError, match=r"/\[a/: expected an expression, but unterminated"):
        Generator(scorer, pattern="/[a/")
