"""Regions of stimuli, predictions over them, and the file that says where a table comes from."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from cli_cases import answered, invoked

import accord
from accord.pipeline.ask.surprisal import by_region, predicted, shown, with_joined_punctuation
from accord.pipeline.base.artefact import hash_of_file
from accord.pipeline.base.figures import _within_items

SUBJECTS = ("La fille", "La voiture", "La porte")
VERBS = {"good": "est", "bad": "sont"}
STIMULI = pd.DataFrame(
    {
        "item": number,
        "condition": condition,
        "sentence": f"{subject} | du petit voisin | {verb} | là.",
        "regions": "subject | attractor | verb | rest",
    }
    for number, subject in enumerate(SUBJECTS, start=1)
    for condition, verb in VERBS.items()
)


@pytest.fixture(scope="module")
def words():
    return accord.load().surprisal(STIMULI, regions="regions", expect=["Number=Plur"])


def test_the_regions_have_all_bits_of_their_words(words):
    regions = by_region(words)
    assert len(regions) == 4 * len(STIMULI)
    by_row = [each.groupby("row")["surprisal"].sum() for each in (words, regions)]
    assert np.allclose(*by_row)
    assert regions["words"].sum() == len(words)
    assert np.allclose(regions["mean_surprisal"] * regions["words"], regions["surprisal"])


def test_a_region_knows_what_is_before_it(words):
    regions, own = by_region(words), words[words["row"] == 1].reset_index()
    verb = regions[(regions["row"] == 1) & (regions["region"] == "verb")].iloc[0]
    at = own.index[own["region"] == "verb"][0]
    assert verb["previous_surprisal"] == own["surprisal"][at - 1]
    assert verb["previous_surprisal_2"] == own["surprisal"][at - 2]
    assert verb["first_surprisal"] == own["surprisal"][at]
    assert verb["p_Number_Plur"] == own["p_Number_Plur"][at]
    first = regions[regions["region"] == "subject"].iloc[0]
    assert math.isnan(first["previous_surprisal"]) and math.isnan(first["previous_surprisal_2"])


def test_a_prediction_holds_for_the_items_for_which_it_is_true(words):
    regions = by_region(words)
    found = predicted(regions, "bad.verb > good.verb", "condition", "item")
    assert found.items["item"].tolist() == [1, 2, 3]
    assert found.items["success"].all()
    assert (found.items["bad.verb"] > found.items["good.verb"]).all()
    difference = found.items["bad.verb"] - found.items["good.verb"]
    assert found.items["difference"].tolist() == pytest.approx(difference.tolist())
    (row,) = found.summary.to_dict("records")
    assert row["holds"] == 3 and row["share"] == 1
    assert row["difference"] == pytest.approx(difference.mean())
    assert row["SE"] == pytest.approx(difference.std() / np.sqrt(3))
    (in_words,) = shown([found]).to_dict("records")
    assert in_words["holds"] == "3: 1.000"
    assert in_words["difference"] == f"{difference.mean():+.2f} bits"
    other = predicted(regions, "bad.verb < good.verb", "condition", "item")
    assert not other.items["success"].any()
    middle = regions.pivot(index="item", columns=["condition", "region"], values="surprisal")
    apart = middle["bad"]["verb"] - middle["good"]["verb"]
    bound = apart.sort_values().iloc[1] - 0.001
    some = predicted(regions, f"bad.verb - good.verb > {bound}", "condition", "item")
    assert some.items["success"].sum() == 2


def test_an_item_that_lacks_a_condition_is_left_out_and_counted(words, capsys):
    regions = by_region(words)
    regions = regions[(regions["item"] != 2) | (regions["condition"] == "good")]
    found = predicted(regions, "bad.verb > good.verb", "condition", "item")
    assert found.items["item"].tolist() == [1, 3]
    assert "1 item left out, without bad.verb: 2" in capsys.readouterr().err


def test_intervals_within_items_do_not_see_how_items_differ():
    generator = np.random.default_rng(1)
    rows = [
        {"region": "verb", "item": item, "by": by, "noise": generator.normal()}
        for item in range(30)
        for by in ("a", "b")
    ]
    table = pd.DataFrame(rows)
    spreads = []
    for weight in (0, 100):
        table["surprisal"] = table["noise"] + weight * table["item"]
        spreads.append(_within_items(table, "region", "by", "item").groupby(table["by"]).sem())
    assert np.allclose(*spreads)
    # With two conditions each deviation is half of the difference, and the correction is √2.
    differences = table.pivot(index="item", columns="by", values="noise").diff(axis=1)["b"]
    assert spreads[0]["a"] == pytest.approx(differences.sem() / np.sqrt(2))


@pytest.mark.slow
def test_one_command_writes_words_regions_predictions_a_figure_and_where_they_come_from(tmp_path):
    table, to = tmp_path / "stimuli.csv", tmp_path / "words.csv"
    STIMULI.to_csv(table, index=False)
    command = ["surprisal", str(table), "--regions", "regions", "--per", "region"]
    command += ["--expects", "bad.verb > good.verb", "--plot", str(tmp_path / "words.svg")]
    done = answered(*command, "--to", str(to))
    assert "1.000" in done.output
    made = {path.name for path in tmp_path.iterdir()}
    assert made == {
        *("stimuli.csv", "words.csv", "words.json", "words.svg"),
        *("words.regions.csv", "words.prediction1.csv"),
    }
    about = json.loads((tmp_path / "words.json").read_text(encoding="utf-8"))
    assert about["accord"] == accord.__version__
    assert about["input"] == {"file": "stimuli.csv", "sha256": hash_of_file(table)}
    (model,) = about["models"].values()
    folder = accord.load().trained.place
    assert model["weights"] == {name: hash_of_file(folder / name) for name in model["weights"]}
    assert len(model["weights"]) == len([*folder.glob("*.safetensors")])
    written = pd.read_csv(to)
    assert written["spelled"].dtype == bool
    assert {*about["columns"]["word"]} >= {*written} - {*STIMULI, "row"}
    assert about["counts"]["words"] == len(written)
    assert about["predictions"][0]["share"] == 1
    assert {*about["files"], "stimuli.csv", "words.json"} == made
    regions = pd.read_csv(tmp_path / "words.regions.csv")
    assert {*about["columns"]["region"]} >= {*regions} - {*STIMULI, "row"}
    again = ["surprisal", str(table), "--regions", "regions", "--to", str(to)]
    assert invoked(*again).exit_code == 0
    left = {path.name for path in tmp_path.iterdir()}
    assert left == made - {"words.regions.csv", "words.prediction1.csv"}


@pytest.mark.slow
def test_a_prediction_that_fails_leaves_the_earlier_table_and_where_it_comes_from(tmp_path):
    table, to = tmp_path / "stimuli.csv", tmp_path / "words.csv"
    STIMULI.to_csv(table, index=False)
    command = ["surprisal", str(table), "--regions", "regions", "--to", str(to)]
    assert invoked(*command).exit_code == 0
    before = {path.name: path.read_bytes() for path in tmp_path.glob("words*")}
    done = invoked(*command, "--expects", "bad.verbe > good.verb")
    assert done.exit_code == 2
    assert {path.name: path.read_bytes() for path in tmp_path.glob("words*")} == before


def test_the_stimuli_are_not_replaced_by_their_words(tmp_path):
    table = tmp_path / "stimuli.csv"
    STIMULI.to_csv(table, index=False)
    before = table.read_bytes()
    beside = ["--regions", "regions", "--to", str(table)]
    done = invoked("surprisal", str(table), *beside)
    assert done.exit_code == 2 and "is the table that is read" in done.output
    assert table.read_bytes() == before


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("« Tu viens ? » dit-il (hier).", ["« Tu", "viens ? »", "dit", "-il", "(hier)."]),
        ("— Non, dit-elle... Oui !", ["— Non,", "dit", "-elle...", "Oui !"]),
        ('"Oui", dit l\'homme.', ['"Oui",', "dit", "l'", "homme."]),
    ],
)
def test_marks_are_joined_to_their_words_and_no_bit_is_lost(text, words):
    apart = accord.load().surprisal([text, "Il pleut."])
    joined = with_joined_punctuation(apart)
    assert joined[joined["row"] == 1]["word"].tolist() == words
    of_sentence = joined.groupby(["row", "sentence_number"])
    assert joined["position"].equals(of_sentence.cumcount() + 1)
    sums = [each.groupby("row")["surprisal"].sum() for each in (apart, joined)]
    assert np.allclose(*sums)
    assert list(joined) == list(apart)
    assert joined["previous_surprisal"].equals(of_sentence["surprisal"].shift(1))
    spans = [text[start:end] for start, end in zip(joined["start"], joined["end"], strict=True)]
    assert spans[: len(words)] == words
