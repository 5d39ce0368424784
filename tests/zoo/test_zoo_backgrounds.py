"""b by label and topic, and b by a weighted automaton over characters."""

import json
from collections import Counter
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from log_linear_cases import (
    DOUBLE,
    by_definition,
    dense,
    random_features,
    random_layer,
    random_states,
)

from accord.models.common.registry import parted
from accord.models.data import Sentences
from accord.models.phi import Features
from accord.pipeline.config.sections import BackgroundParams
from accord.pipeline.data.encoded import read_text
from accord.zoo.backgrounds import (
    CharacterAutomaton,
    LabelledUnigram,
    labelled,
    prepare_characters,
    prepare_topics,
    weighed,
)

TEXT = Sentences(np.array([1, 2, 0, 3, 3, 0, 1, 0]), np.array([3, 3, 2]), np.array([[1], [2], [0]]))


def test_p_under_a_label_is_that_of_the_definition_and_the_label_may_be_given_later():
    features = random_features()
    mass = np.random.default_rng(0).gamma(1.0, size=(4, 60)) + 0.01
    background = LabelledUnigram(features, mass)
    layer, h = random_layer(features, background), random_states(8)
    text = TEXT._replace(ids=np.arange(8))
    context = torch.from_numpy(layer.background.contexts(text))
    assert context.ravel().tolist() == [1, 1, 1, 2, 2, 2, 0, 0]
    log_b = np.log(mass[context.ravel()])
    expected = by_definition(dense(features), log_b, layer.adaptor(h))
    assert torch.allclose(layer.log_prob(h, context), expected)
    assert torch.allclose(layer.log_prob(h, context).exp().sum(1), torch.ones(8, dtype=DOUBLE))
    background.default_labels = torch.tensor([3])
    assert background.contexts(text._replace(labels=None)).ravel().tolist() == [3] * 8


ARCS = [(0, "a", 0, 0.2), (0, "a", 1, 0.3), (0, "b", 1, 0.1), (1, "a", 0, 0.4), (1, "b", 1, 0.2)]
FINAL = {0: 0.4, 1: 0.4}


def by_paths(form, arcs, final):
    """Σ over all sequences of arcs that spell the form."""
    total = 0.0
    for path in product(arcs, repeat=len(form)):
        states = [0, *(after for *_, after, _ in path)]
        fits = all(
            arc[0] == state and arc[1] == letter
            for arc, state, letter in zip(path, states, form, strict=False)
        )
        weight = np.prod([arc[3] for arc in path]) * final.get(states[-1], 0)
        total += fits * weight
    return total


def total(automaton) -> float:
    """Sum the weights of all strings, length by length."""
    now, mass = Counter({0: 1.0}), 0.0
    for _ in range(500):
        mass += sum(weight * automaton.final.get(state, 0.0) for state, weight in now.items())
        longer = Counter()
        for (state, _), arcs in automaton.arcs.items():
            for target, weight in arcs:
                longer[target] += now[state] * weight
        now = longer
    return mass


@pytest.mark.slow
def test_the_weight_of_a_string_is_the_sum_over_its_paths_and_all_strings_sum_up():
    automaton = CharacterAutomaton(ARCS, FINAL)
    strings = ["".join(letters) for n in range(6) for letters in product("ab", repeat=n)]
    for form in strings:
        assert automaton.weight(form) == pytest.approx(by_paths(form, ARCS, FINAL))
    assert automaton.weight("abc") == 0
    longer = ["".join(letters) for n in range(14) for letters in product("ab", repeat=n)]
    assert total(automaton) == pytest.approx(sum(map(automaton.weight, longer)), abs=1e-3)


@pytest.mark.parametrize("order", [1, 2, 4])
def test_ngrams_of_letters_are_an_automaton_whose_strings_sum_to_one(order):
    automaton = CharacterAutomaton.counted({"chat": 3, "chats": 1, "chien": 2}, order)
    assert total(automaton) == pytest.approx(1)
    if order > 1:
        assert automaton.weight("chats") > automaton.weight("stahc")
    assert automaton.weight("tach") > 0


def test_an_automaton_is_read_from_openfst_text(tmp_path):
    path = tmp_path / "letters.fst.txt"
    path.write_text("0\t1\ta\ta\t0.5\n1\t0\tb\tb\n1\t0.25\n", encoding="utf-8")
    automaton = CharacterAutomaton.read(path)
    assert automaton.weight("aba") == pytest.approx(np.exp(-1.25))
    path.write_text("0\tx\ta\ta\n", encoding="utf-8")
    with pytest.raises(ValueError, match="line 1: expected state, next state, character"):
        CharacterAutomaton.read(path)


def test_words_share_the_mass_by_their_weights_and_special_words_keep_theirs():
    automaton = CharacterAutomaton(ARCS, FINAL)
    special = np.array([True, False, False, False])
    mass = weighed(automaton, ["</s>", "a", "ab", "c"], np.array([1.0, 1, 1, 1]), special)
    a, ab = automaton.weight("a"), automaton.weight("ab")
    assert np.allclose(mass, [0.25, 0.75 * a / (a + ab), 0.75 * ab / (a + ab), 0])


FORMS = ["</s>", "le", "juge", "match"]
MASS = np.array([0.4, 0.3, 0.2, 0.1])


def test_b_by_label_is_counted_on_training_text_and_raised_by_topics(tmp_path):
    topics = tmp_path / "topics.tsv"
    topics.write_text("sport\tmatch\nsport\tinconnu\n", encoding="utf-8")
    kind = {"kind": "labelled", "topics": str(topics), "boost": 3.0}
    params = BackgroundParams(kind=kind)
    prepare_topics(params, FORMS, MASS, tmp_path)
    np.save(tmp_path / "train.ids.npy", np.array([1, 2, 0, 1, 3, 0], np.int32))
    np.save(tmp_path / "train.lengths.npy", np.array([3, 3], np.int32))
    np.save(tmp_path / "train.labels.npy", np.array([[1], [2]], np.int32))
    (tmp_path / "labels.json").write_text(json.dumps({"genre": ["loi", "sport"]}))
    labels = {"genre": ["loi", "sport"]}
    model = SimpleNamespace(folder=tmp_path, labels=labels, mass=lambda: MASS, subwords=None)
    _, settings = parted(params.kind)
    text = read_text(tmp_path, "train")
    background = labelled(model, Features.one_hot(4), [text], 0, **settings)
    b = background.log_mass.exp().numpy()
    sport = 0.5 * np.array([1, 1, 0, 1]) / 3 + 0.5 * MASS
    sport[3] *= 3
    assert np.allclose(b[0], MASS)
    assert np.allclose(b[1], 0.5 * np.array([1, 1, 1, 0]) / 3 + 0.5 * MASS)
    assert np.allclose(b[2], sport / sport.sum())


def test_b_by_letters_replaces_the_counts_of_words(tmp_path):
    params = BackgroundParams(kind={"kind": "characters", "order": 2})
    prepare_characters(params, FORMS, MASS, tmp_path)
    b = np.load(tmp_path / "b.npy")
    assert b.sum() == pytest.approx(1) and b[0] == pytest.approx(0.4)
    assert not np.allclose(b, MASS) and (b > 0).all()
