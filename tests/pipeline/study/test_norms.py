"""Models held against people: regressions, items held out, words alone and in their texts."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import accord
from accord.pipeline.study.norms import Measured, _p, explained, norms, surprisal_of

RANDOM = np.random.default_rng(7)
TEXT = "Le petit chat de la voisine dort sur le mur, et l'homme le regarde sans bouger."
WORDS = TEXT.split()


@pytest.fixture(scope="module")
def french():
    return accord.load()


def of_people(items: int = 400) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lengths, bits, and times that both make longer."""
    length, bits = RANDOM.integers(2, 12, items).astype(float), RANDOM.gamma(4, 3, items)
    return length, bits, 500 + 8 * length + 3 * bits + RANDOM.normal(0, 20, items)


def log_likelihood(columns: np.ndarray, y: np.ndarray) -> float:
    """Of a regression by least squares, by another way."""
    rest = y - columns @ np.linalg.pinv(columns) @ y
    return stats.norm.logpdf(rest, scale=rest.std(ddof=0)).sum()


def test_the_gain_is_the_difference_of_two_log_likelihoods():
    length, bits, y = of_people()
    found = explained("bits", y, [length], [bits], np.arange(len(y)))
    ones = np.ones(len(y))
    first, second = np.column_stack([ones, length]), np.column_stack([ones, length, bits])
    gain = log_likelihood(second, y) - log_likelihood(first, y)
    assert found.gain == pytest.approx(gain, rel=1e-9)
    assert found.p == pytest.approx(stats.chi2.sf(2 * gain, 1), rel=1e-6)
    assert found.slope == pytest.approx(3, abs=0.5)
    assert found.low < found.held_out < found.high and found.low > 0


def test_what_says_nothing_gains_nothing_on_items_that_were_held_out():
    found = []
    for _ in range(12):
        length, bits, y = of_people()
        noise = [RANDOM.normal(size=len(y)) for _ in range(20)]
        found.append(explained("noise", y, [length, bits], noise, np.arange(len(y))))
    assert np.mean([each.gain for each in found]) == pytest.approx(10, abs=4)  # of 20 columns
    assert np.mean([each.held_out for each in found]) < 0


def test_t_is_that_of_the_regression():
    length, bits, y = of_people(60)
    found = explained("bits", y, [length], [bits], np.arange(len(y)))
    columns = np.column_stack([np.ones(len(y)), length, bits])
    rest = y - columns @ np.linalg.pinv(columns) @ y
    spread = np.sqrt(rest @ rest / (60 - 3) * np.linalg.inv(columns.T @ columns)[2, 2])
    assert found.t == pytest.approx(found.slope / spread, rel=1e-6)


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 5])
def test_p_is_that_of_chi_squared(degrees):
    for statistic in (0.0, 0.5, 3.84, 25.0):
        assert _p(statistic, degrees) == pytest.approx(stats.chi2.sf(statistic, degrees), rel=1e-9)


def test_words_are_read_in_their_texts_and_no_bit_is_lost(french):
    items, texts = [*WORDS, "Il", "pleut."], np.array([0] * len(WORDS) + [1, 1])
    bits = surprisal_of(french, Measured(items, np.ones(len(items)), "time", texts))
    for text in (0, 1):
        own = [item for item, of in zip(items, texts, strict=True) if of == text]
        words = french.score(" ".join(own))[:-1]
        total = -sum(word.log_p for word in words) / np.log(2)
        assert bits[texts == text].sum() == pytest.approx(total, abs=1e-3)
    alone = surprisal_of(french, Measured(items, np.ones(len(items)), "time"))
    assert bits[0] == pytest.approx(alone[0], abs=1e-6) and not np.allclose(bits, alone)


def test_interleaved_texts_are_those_of_a_table_in_order_and_left_out_rows_are_counted(
    french, tmp_path, capsys
):
    rows = [
        {"word": word, "text": f"t{text}", "time": 200 + 10 * len(word) + RANDOM.normal(0, 5)}
        for text in range(6)
        for word in WORDS
    ]
    rows[3]["time"] = "missing"
    rows.append({"word": "chat", "text": None, "time": 300})
    results = []
    for name, order in (("sorted", rows), ("mixed", [r for n in range(16) for r in rows[n::16]])):
        pd.DataFrame(order).to_csv(tmp_path / f"{name}.csv", index=False)
        path = str(tmp_path / f"{name}.csv")
        results.append(norms(path, {"a": french}, item="word", measure="time", text="text"))
        told = capsys.readouterr().err
        assert "2 rows left out, without an item, text or a number in time" in told
        assert "6 items left out, the first words of their texts" in told
    one, other = (held.data.sort_values(["measure"]).reset_index(drop=True) for held in results)
    assert len(one) == 6 * (len(WORDS) - 1) - 1
    assert {"previous_length", "surprisal_a", "previous_surprisal_a"} < {*one}
    assert list(results[0].table["predictor"]) == ["frequency", "a"]
    pd.testing.assert_frame_equal(one, other)


def test_surprisal_explains_reaction_times_beyond_frequency(french, fetched):
    """Chronolex, 1,482 words: the less likely, the slower."""
    fetched("openlexicon")
    held = norms("chronolex", french)
    frequency, surprisal = held.explained
    assert frequency.items == surprisal.items == 1482
    assert surprisal.t > 2 and surprisal.p < 0.05
