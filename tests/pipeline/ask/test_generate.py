"""Generation from a trained model: constraints and patterns hold, the same seed says the same."""

import re

import numpy as np
import pandas as pd
import pytest

import accord
from accord import load
from accord.lexicon.analysis import UPOS
from accord.models.data import Sentences
from accord.models.inference.generation import Beam, Sampling
from accord.pipeline.ask.generate import Generator, parse
from accord.pipeline.ask.scorer import bundled
from accord.pipeline.base.names import END_ID, UNKNOWN_ID, is_special


@pytest.fixture(scope="module")
def scorer(tiny_run):
    return load(tiny_run.folder, "ll-rnn")


def readings(scorer, form: str) -> list[set[str]]:
    """The part of speech and the features of each analysis of a form."""
    analyses = pd.read_parquet(scorer.trained.folders["analyse"] / "analyses.parquet")
    of_form = analyses[analyses["word"] == scorer.vocabulary.known[form]]
    return [{a.upos, *a.feats.split("|")} for a in of_form.itertuples()]


def test_every_constrained_place_obeys(scorer):
    noun, adjective = {"NOUN", "Gender=Fem", "Number=Plur"}, {"ADJ", "Gender=Fem", "Number=Plur"}
    constraints = ["NOUN Gender=Fem Number=Plur", "3: ADJ Gender=Fem Number=Plur"]
    generator = Generator(scorer, "les", constraints)
    sentences = generator.sample(200) + generator.sample(50, Sampling(1.5, top_k=20))
    sentences += generator.likeliest(5, width=5)
    for sentence in sentences:
        first, _, third = sentence.words[:3]
        assert any(noun <= reading for reading in readings(scorer, first.form))
        assert any(adjective <= reading for reading in readings(scorer, third.form))
        assert sentence.text.startswith("Les ")
    assert len({sentence.words[0].form for sentence in sentences}) > 3


@pytest.mark.parametrize("constraints", [[], ["NOUN", "2: VERB Number=Plur"], ["*: DET"]])
@pytest.mark.parametrize("start", ["", "les petits", "un xylophoniste"])
def test_probabilities_sum_to_one_and_unknown_words_have_none(scorer, start, constraints):
    generator = Generator(scorer, start, constraints)
    reading = Beam.begin(generator.model, generator.start_ids, 1)
    p = np.exp(generator.model.log_prob(reading.h, reading.context)[0])
    assert p.sum() == pytest.approx(1, abs=1e-5)
    assert p[UNKNOWN_ID] == 0


def test_without_constraints_words_keep_their_proportions(scorer):
    """What a constraint takes away is shared among all others as they were."""
    free, held = Generator(scorer, "la"), Generator(scorer, "la", ["NOUN"])
    p_free, p_held = (
        each.model.log_prob(reading.h, reading.context)[0]
        for each in (free, held)
        for reading in [Beam.begin(each.model, each.start_ids, 1)]
    )
    allowed = np.isfinite(p_held)
    difference = (p_held - p_free)[allowed]
    assert 10 < allowed.sum() < len(allowed) / 2
    assert difference == pytest.approx(difference[0], abs=1e-4)


def test_log_p_and_features_are_those_of_the_model(scorer):
    generator = Generator(scorer, "", ["DET", "NOUN"])
    for sentence in generator.sample(3):
        ids = np.array([scorer.id_of(word.form) for word in sentence.words] + [END_ID])
        log_p = generator.model.score(Sentences(ids, np.array([len(ids)])))
        assert [word.log_p for word in sentence.words] == pytest.approx(log_p[:-1], abs=1e-5)
        for word in sentence.words:
            analyses = set().union(*readings(scorer, word.form)) - {""}
            shown = {name.removeprefix("pos=") for name in word.features}
            assert shown <= analyses
            assert shown & {*UPOS} == analyses & {*UPOS} != set()


@pytest.mark.slow
@pytest.mark.parametrize("width", [1, 3])
def test_beam_search_goes_on_after_the_start_and_reports_log_p(width):
    """By log p alone it would end at once; what it reports is log p all the same."""
    generator = Generator(bundled(), "il est")
    found = generator.likeliest(width, width)
    assert len(found) == width
    assert all(len(sentence.words) >= 3 and sentence.ended for sentence in found)
    if width > 1:  # a narrower beam may end with a few words
        assert found[0].text.endswith(".")
    for sentence in found:
        ids = [bundled().id_of(word.form) for word in sentence.words]
        whole = np.array([*generator.start_ids, *ids, END_ID])
        text = Sentences(whole, np.array([len(whole)]))
        log_p = generator.model.score(text)[len(generator.start_ids) :]
        assert [word.log_p for word in sentence.words] == pytest.approx(log_p[:-1], abs=1e-4)
        assert sentence.log_p == pytest.approx(log_p.sum(), abs=1e-3)


def test_the_same_seed_says_the_same_and_another_does_not(scorer):
    generator = Generator(scorer)
    assert generator.sample(5, seed=3) == generator.sample(5, seed=3) != generator.sample(5, seed=4)


def test_words_that_are_not_known_come_where_they_may(scorer):
    held = Generator(scorer, "le", ["2: words=chat"], spelled=True).sample(200, Sampling(3.0))
    known = scorer.vocabulary.known
    spelled = [
        (place, word)
        for sentence in held
        for place, word in enumerate(sentence.words)
        if word.form not in known
    ]
    assert spelled
    assert all(place != 1 and word.form and word.log_p < 0 for place, word in spelled)
    free = Generator(scorer, "le").sample(200, Sampling(3.0))
    assert all(word.form in known for sentence in free for word in sentence.words)


def test_constraints_that_contradict_each_other_are_refused_with_the_place(scorer):
    with pytest.raises(ValueError, match="expected words that all allow, word 2 has none"):
        Generator(scorer, "", ["2: NOUN Gender=Fem", "*: words=le,chat"])


def test_constraints_are_read_in_turn_or_by_place():
    parsed = parse(["DET", "4:NOUN Gender=Fem", "*: words=a,b", "Number=Plur"], list)
    assert [(place, test.upos, {*test.feats}, {*test.words}) for place, test in parsed] == [
        (1, "DET", set(), set()),
        (4, "NOUN", {"Gender=Fem"}, set()),
        (0, None, set(), {"a", "b"}),
        (2, None, {"Number=Plur"}, set()),
    ]


@pytest.mark.parametrize(
    ("constraint", "message"),
    [
        ("NOON", "unknown part of speech 'NOON'; the nearest is 'NOUN'"),
        ("*: words=le,xylophage,chaat", "does not know 'chaat', 'xylophage'"),
        ("NOUN Gender=Neut", "no known word has 'Gender=Neut'; the nearest is 'Gender="),
    ],
)
def test_a_wrong_constraint_is_refused(scorer, constraint, message):
    with pytest.raises(ValueError, match=message):
        Generator(scorer, "", [constraint])


def test_every_sentence_matches(scorer):
    generator = Generator(scorer, pattern='(Le|la|les) ADJ* NOUN VERB&Person=3 "."')
    sentences = generator.sample(100) + generator.likeliest(5, width=5)
    for sentence in sentences:
        first, *middle, noun, verb, stop = sentence.words
        assert sentence.ended and first.form in {"le", "la", "les"} and stop.form == "."
        assert all("pos=ADJ" in word.features for word in middle)
        assert "pos=NOUN" in noun.features and {"pos=VERB", "Person=3"} <= {*verb.features}
    assert len({sentence.text for sentence in sentences}) > 20


@pytest.mark.parametrize(
    ("pattern", "fault"),
    [("DET NUON", "the nearest is 'NOUN'"), ("DET schtroumpf", "does not know 'schtroumpf'")],
)
def test_what_no_sentence_can_match_is_refused(scorer, pattern, fault):
    with pytest.raises(ValueError, match=fault):
        Generator(scorer, pattern=pattern)


@pytest.fixture(scope="module")
def open_scorer(tmp_path_factory, slow):
    changes = {"analyse.protocol": "open", "train.epochs": 1}
    runs = tmp_path_factory.mktemp("open")
    chosen = {"models": ["ll-rnn"], "until": "evaluate"}
    return load(accord.run("tiny", set=changes, **chosen, runs=runs).folder)


def first_words(generator: Generator) -> np.ndarray:
    reading = Beam.begin(generator.model, [], 1)
    log_p = generator.model.log_prob(reading.h, reading.context)
    return np.exp(log_p[0])


def test_a_word_has_its_share_of_all_that_match(open_scorer):
    """p(x | match) = p(x)·m(x)/Σ p·m: m is 0 or 1 of a known word, the mass of strings else."""
    free, held = (
        Generator(open_scorer, spelled=True),
        Generator(open_scorer, pattern="/.*s/ .*", spelled=True),
    )
    (strings,) = held.constrained.strings.values()
    forms = open_scorer.vocabulary.forms
    matching = np.array([float(not is_special(form) and form.endswith("s")) for form in forms])
    classes = slice(UNKNOWN_ID, UNKNOWN_ID + open_scorer.spelling.classes)
    matching[classes] = np.exp(strings.log_mass)
    assert ((matching[classes] > 0) & (matching[classes] < 1)).all()
    expected = first_words(free) * matching
    assert first_words(held) == pytest.approx(expected / expected.sum(), abs=1e-6)


def test_spelled_words_match_and_have_the_probability_that_is_shown(open_scorer):
    expression = "zo[^0-9]*e(ur|t)"
    assert not any(re.fullmatch(expression, form) for form in open_scorer.vocabulary.known)
    generator = Generator(open_scorer, pattern=f'le /{expression}/ "."', spelled=True)
    (strings,) = generator.constrained.strings.values()
    le, *_ = open_scorer.vocabulary.ids(["le"])
    for sentence in generator.sample(20):
        first, word, last = sentence.words
        assert (first.form, last.form) == ("le", ".") and re.fullmatch(expression, word.form)
        # One of the classes was drawn, and the string from it, among those that match.
        of_class = open_scorer.spelling.log_prob([word.form])[0] - strings.log_mass
        assert word.log_p < of_class.max() + 1e-6
    reading = Beam.begin(generator.model, [le], 1)
    p = np.exp(generator.model.log_prob(reading.h, reading.context)[0])
    classes = slice(UNKNOWN_ID, UNKNOWN_ID + open_scorer.spelling.classes)
    assert p[classes].sum() == pytest.approx(1, abs=1e-5)


def test_a_spelled_word_that_two_tests_could_read_is_refused(open_scorer):
    with pytest.raises(ValueError, match=r"a spelled word could be one of .*expected one /…/"):
        Generator(open_scorer, pattern="(/.*s/ le)|(. la)", spelled=True)
    with pytest.raises(ValueError, match="expected one /…/ for a word, found 2"):
        Generator(open_scorer, pattern="/a.*/&/.*s/", spelled=True)
    with pytest.raises(ValueError, match=r"/\[a/: expected an expression, but unterminated"):
        Generator(open_scorer, pattern="/[a/")
