"""`accord agree` and `accord suite make`: shares with Wilson's interval, models side by side."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import pearsonr

from accord.pipeline.evaluation.metrics import wilson
from accord.pipeline.evaluation.suites import Pair, encode_suite, read_suite
from accord.pipeline.model.endings import read_vocabulary
from accord.pipeline.model.find import BUNDLED_FOLDER
from accord.pipeline.study.agreement import JudgedSuite, groups, judged, side_by_side, with_people

DATA = Path(__file__).parents[2] / "data"


def test_wilsons_interval_is_the_one_worked_out_by_hand():
    # 8 of 10, z² = 3.841459: centre (0.8 + 0.1920729) / 1.3841459 = 0.7167402,
    # half 1.959964 · √(0.016 + 0.00960365) / 1.3841459 = 0.2265776.
    assert wilson(8, 10) == pytest.approx((0.4901625, 0.9433178), abs=1e-6)
    assert wilson(0, 5) == pytest.approx((0, 0.4344825), abs=1e-6)
    low, high = wilson(5, 5)
    assert low == pytest.approx(1 - 0.4344825, abs=1e-6) and high == pytest.approx(1)


def test_the_table_counts_what_was_judged_and_what_could_not_be(tmp_path):
    pairs = [Pair("one", "a b", "a c"), Pair("one", "a d", "a b"), Pair("two", "b", "x")]
    (tmp_path / "one.txt").write_text("True\ta b\nFalse\ta c\nTrue\ta d\nFalse\ta b\n")
    (tmp_path / "two.txt").write_text("True\tb\nFalse\tx\n")
    pd.DataFrame({"form": ["</s>", *"abcd"], "share": 1.0}).to_parquet(tmp_path / "types.parquet")
    suite = encode_suite(pairs, read_vocabulary(tmp_path))
    margins = np.array([[1.0, -1.0], [-1.0, -1.0], [np.nan, np.nan]])
    table = side_by_side(
        {"m": JudgedSuite(suite, margins)}, groups(read_suite(str(tmp_path)), "construction"), 0
    )
    assert table.values.tolist() == [
        ["one", "2", "0.500 [0.095, 0.905]"],
        ["two", "1", "–"],
        ["mean of the rows", "", "0.500"],
        ["ties", "", "0"],
        ["pairs with unknown words", "", "1"],
    ]


def test_a_model_that_knows_no_pair_keeps_its_column(tmp_path):
    (tmp_path / "one.txt").write_text("True\ta b\nFalse\ta c\n")
    pd.DataFrame({"form": ["</s>", "x"], "share": 1.0}).to_parquet(tmp_path / "types.parquet")
    suite = encode_suite([Pair("one", "a b", "a c")], read_vocabulary(tmp_path))
    asked = {"m": JudgedSuite(suite, np.full((1, 2), np.nan))}
    table = side_by_side(asked, groups(read_suite(str(tmp_path)), "construction"), 0)
    assert table.values.tolist() == [
        ["one", "1", "–"],
        ["mean of the rows", "", "–"],
        ["ties", "", "–"],
        ["pairs with unknown words", "", "1"],
    ]


def test_models_with_one_name_keep_a_column_each(tiny_run, tmp_path):
    suite = tmp_path / "one.csv"
    suite.write_text("good,bad\nLe chat dort.,Le chat dorment.\n")
    exported = [tmp_path / "a" / "m", tmp_path / "b" / "m", tmp_path / "rnn"]
    for place in exported:
        place.parent.mkdir(exist_ok=True)
        place.symlink_to(BUNDLED_FOLDER)
    first, second, of_run = exported
    pairs = read_suite(str(suite))
    assert [*judged([first, second, first], pairs)] == ["a/m", "b/m"]
    with pytest.raises(ValueError, match="two that are called rnn"):
        judged([of_run, tiny_run.folder], pairs)


def test_margins_are_held_against_what_people_said(tmp_path):
    subjects = ("La fille", "Le chat", "Les amis", "Une femme", "Des enfants", "Le roi")
    rows = [
        (f"{subject} {verb} là.", f"{subject} {wrong} là.")
        for subject in subjects
        for verb, wrong in (("est", "sont"), ("dort", "dorment"))
    ]
    path = tmp_path / "pairs.csv"
    table = pd.DataFrame(rows, columns=["good", "bad"])
    table.to_csv(path, index=False)
    asked = judged([BUNDLED_FOLDER], read_suite(str(path)))
    margin = next(iter(asked.values())).margins[:, 0]
    table["people"] = 0.5 + margin / 100  # people who are as sure as the model
    table["others"] = np.random.default_rng(1).random(len(table))
    table.to_csv(path, index=False)
    found = with_people(asked, read_suite(str(path)), "people").iloc[0]
    assert found["r"] == found["ρ"] == "1.000" and found["pairs"] == "12"
    scattered = with_people(asked, read_suite(str(path)), "others").iloc[0]
    expected = np.corrcoef(margin, table["others"])[0, 1]
    assert float(scattered["r"]) == pytest.approx(expected, abs=1e-3)
    low, high = map(float, scattered["95 %"].split(" to "))
    exact = pearsonr(margin, table["others"]).confidence_interval()
    assert (low, high) == pytest.approx((exact.low, exact.high), abs=1e-3)
    with pytest.raises(ValueError, match=r"--people: .* does not say 'peopl'.*'people'"):
        with_people(asked, read_suite(str(path)), "peopl")
