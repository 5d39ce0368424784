"""Names that come again: which words they are, and that a cache beside a model sums to one."""

import numpy as np
import pytest

import accord
from benchmarks.names import ReadDocument, continuous, figures, measure, names, recent

TEXT = [
    ["Le", "comte", "Zorg", "dort", "."],
    ["Zorg", "voit", "Rose", ",", "une", "rose", "."],
    ["Le", "comte", "voit", "Zorg", "."],
]


def test_a_name_has_a_capital_inside_a_sentence_and_is_never_written_small():
    of_words = [*names(TEXT)]
    flat = [word for words in TEXT for word in [*words, "</s>"]]
    assert [flat[at] for at, kind in enumerate(of_words) if kind] == ["Zorg", "Zorg", "Zorg"]
    assert [kind for kind in of_words if kind] == [1, 2, 2]


FORMS = np.array([0, 1, -1, 0, 2, -1, 1, 3])
STATES = np.random.default_rng(1).normal(size=(8, 4)).astype(np.float32)


@pytest.mark.parametrize("cache", [lambda d: recent(d, 3), lambda d: continuous(d, 5.0)])
def test_a_cache_sums_to_one_over_all_words_and_knows_only_what_was_read(cache):
    h = STATES / np.linalg.norm(STATES, axis=1, keepdims=True)
    for at in range(1, len(FORMS)):
        found = []
        for form in range(-1, 4):  # the end too, which is never cached
            forms = np.array([*FORMS[:at], form])
            document = ReadDocument(forms, 1, np.zeros(at + 1), np.zeros(at + 1), h[: at + 1])
            found.append(np.exp(cache(document)[at]))
        assert sum(found) == pytest.approx(1)
        assert found[0] == 0
        assert {form for form in range(4) if found[1 + form] > 0} == {*FORMS[:at]} - {-1}


def test_before_anything_is_read_the_cache_is_the_model():
    document = ReadDocument(FORMS, 1, np.zeros(8), np.full(8, -2.0), STATES)
    assert recent(document, 3)[0] == -2


def test_figures_are_of_names_by_their_occurrence():
    kinds = np.array([1, 0, 0, 2, 0, 0, 2, 0])
    nats = np.array([8, 1, 1, 4, 1, 1, 2, 1]) * np.log(2)
    found = figures([ReadDocument(FORMS, 19, kinds, -nats, None)])
    assert found == {
        "bits per character": pytest.approx(1),
        "first": pytest.approx(8),
        "again": pytest.approx(3),
        "names again": 2,
    }


def test_a_cache_makes_names_likelier_that_come_again(tiny_run):
    table = measure(accord.load(tiny_run.folder, "ll-rnn"), [TEXT * 3] * 6)
    assert table["context"].tolist() == ["none"] * 3 + ["text"] * 3
    for _, rows in table.groupby("context"):
        none, recent_words, by_states = rows["again"]
        assert recent_words < none and by_states < none
