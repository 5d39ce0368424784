"""n-gram models of every history go through the stages, and are the same when exported."""

import pytest
from run_cases import scores_of

import accord
from accord.models.parts import HISTORIES

SENTENCES = ["La petite fille mange une pomme.", "Un zyglotron dort."]


@pytest.fixture(scope="module")
def run(tmp_path_factory, slow):
    folder = tmp_path_factory.mktemp("histories")
    models = "".join(f"  {name}: {{background: {{history: {name}}}}}\n" for name in HISTORIES)
    (folder / "histories.yaml").write_text(
        "base: tiny\n"
        "encode: {classes: 12}\n"
        "background: {kind: ngram, order: 3}\n"
        "train: {output: background}\n"
        f"models:\n{models}"
    )
    return accord.run(str(folder / "histories.yaml"), until="evaluate", runs=folder / "runs")


@pytest.mark.parametrize("history", HISTORIES)
def test_a_model_of_each_history_is_measured_and_exported(run, history, tmp_path):
    table = scores_of(run.folder)
    of_model = table[(table["model"] == history) & (table["metric"] == "perplexity")]
    assert of_model["value"].between(1, 1000).all() and len(of_model)
    accord.export(run.folder, history, tmp_path / "out")
    there, here = accord.load(tmp_path / "out"), accord.load(run.folder, history)
    assert there.score_all(SENTENCES) == here.score_all(SENTENCES)
