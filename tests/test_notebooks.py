"""The notebooks run from top to bottom with public names, and what their texts claim holds.

The claims are tested here, not in the notebooks, so that a reader can change a cell.
"""

import ast
import json
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest

import accord

FOLDER = Path(__file__).parents[1] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def cells(path: Path) -> list[dict[str, Any]]:
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


def code(path: Path) -> list[str]:
    return ["".join(cell["source"]) for cell in cells(path) if cell["cell_type"] == "code"]


@pytest.fixture(scope="module")
def repository(tmp_path_factory, slow) -> Iterator[Path]:
    """An empty notebooks/ beside an empty runs/; figures are drawn without a screen."""
    folder = tmp_path_factory.mktemp("repository")
    (folder / "notebooks").mkdir()
    before = plt.get_backend()
    plt.switch_backend("agg")
    yield folder
    plt.close("all")
    plt.switch_backend(before)
    assert [*(folder / "notebooks").iterdir()] == []


def executed(name: str, repository: Path) -> dict[str, Any]:
    """The names that a notebook leaves behind."""
    names: dict[str, Any] = {}
    with chdir(repository / "notebooks"):
        for number, source in enumerate(code(FOLDER / f"{name}.ipynb"), start=1):
            exec(compile(source, f"{name}, code cell {number}", "exec"), names)
    return names


def test_the_bundled_model_answers(repository):
    seen = executed("03_ask_a_model", repository)
    expected = seen["expected"].set_index("before")
    assert expected["Number=Plur"].idxmax() == "chiens"
    assert expected["Gender=Fem"].idxmax() == "voisine"

    terms = seen["terms"]
    assert np.allclose(terms.drop("log p").sum(), terms.loc["log p"], atol=1e-4)
    difference = seen["difference"]
    assert (difference.filter(like="Gender=") > 0).all()
    assert difference["background"] < 0
    assert terms["connue"]["log p"] > terms["connu"]["log p"]

    for sentence in seen["drawn"]:
        assert {"pos=NOUN", "Gender=Fem", "Number=Plur"} <= {*sentence.words[0].features}
    assert seen["near"]["words"].iloc[0] == "petite"


def test_a_run_is_inspected(repository):
    seen = executed("01_inspect_a_run", repository)
    assert seen["perplexity"]["rnn"] > seen["perplexity"]["ll-rnn"] and seen["low"] > 1
    assert (seen["pairs"]["ll-rnn"] > 0).sum() > (seen["pairs"]["rnn"] > 0).sum()
    assert seen["by_seen"].loc["unseen", "rnn"] > seen["by_seen"].loc["unseen", "ll-rnn"]


def test_the_paper_in_pytorch_is_the_layer_and_beats_the_softmax(repository):
    seen = executed("05_the_paper_in_pytorch", repository)
    assert seen["gradient_error"] < 1e-12 and seen["difference"] < 1e-6
    assert min(seen["curves"]["LL-RNN"]) < min(seen["curves"]["softmax RNN"])


@pytest.fixture(scope="module")
def swapped(repository) -> dict[str, Any]:
    return executed("02_swap_a_lexicon", repository)


def test_the_larger_lexicon_helps_most_with_unseen_words(swapped):
    test, spread = swapped["test"], swapped["spread"]["perplexity"]
    small, large = (test.loc[name] for name in ("closed", "closed+tiny"))
    assert small["perplexity"] - large["perplexity"] > 3 * spread.max()
    gain = small / large
    assert gain["bits per character of unseen words"] > 1 < gain["perplexity"]
    assert small["words"] == large["words"]

    terms = swapped["terms"]
    assert terms["closed"].filter(regex="^(pos|Gender|Number)=", axis=0).isna().all(axis=None)
    with_gender = terms["closed+tiny"].loc[["Gender=Fem", "Gender=Masc"]]
    assert with_gender.loc["Gender=Fem", "fille"] > 0 > with_gender.loc["Gender=Masc", "garçon"]


def test_trained_models_are_found_again(swapped, repository):
    weights = [*(repository / "runs/artefacts").glob("train-*/**/*")]
    assert weights
    before = {file: file.stat().st_mtime_ns for file in weights}
    executed("02_swap_a_lexicon", repository)
    assert {file: file.stat().st_mtime_ns for file in weights} == before


def test_attraction_is_found(repository):
    seen = executed("04_stimuli_to_statistics", repository)
    cost, plural = seen["cost"], seen["plural"]
    assert (cost > 0).all(axis=None)
    assert seen["test"].pvalue < 0.001
    assert cost["singular"].mean() > cost["plural"].mean() + 1
    assert (plural["plural"] > plural["singular"]).mean() > 0.9

    right = seen["cells"].loc["right", "mean"]
    assert abs(right["plural"] - right["singular"]) < 1
    assert not seen["verbs"]["spelled"].any()

    mixed = seen["mixed"]
    assert mixed.converged
    assert mixed.params["wrong"] == pytest.approx(cost["singular"].mean())
    attraction = cost["plural"].mean() - cost["singular"].mean()
    assert mixed.params["wrong:plural"] == pytest.approx(attraction)
    assert mixed.pvalues["wrong:plural"] < 0.001 < mixed.pvalues["plural"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_only_public_names_are_used(path):
    for node in ast.walk(ast.parse("\n".join(code(path)))):
        assert not isinstance(node, ast.Assert), "a claim is tested here, not in the notebook"
        if isinstance(node, ast.ImportFrom):
            parts = path.stem == "05_the_paper_in_pytorch" and node.module.startswith(
                "accord.models."
            )
            assert parts or not node.module.startswith("accord")
        if isinstance(node, ast.Import):
            assert not any(alias.name.startswith("accord.") for alias in node.names)
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "accord":
            assert node.attr in accord.__all__


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_stored_outputs_can_be_read(path):
    outputs = [out for cell in cells(path) for out in cell.get("outputs", ())]
    assert any("image/png" in out.get("data", {}) for out in outputs)
    for out in outputs:
        assert out["output_type"] != "error"
        shown = "".join(out.get("text", out.get("data", {}).get("text/plain", "")))
        assert "NaN" not in shown
        assert "..." not in shown, "a column or a cell is cut"
