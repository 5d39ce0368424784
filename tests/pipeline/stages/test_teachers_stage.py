"""Models of runs teach others."""

from pathlib import Path

import pytest

import accord
from accord.pipeline.model.folder import ModelFolder

ONE_EPOCH = ["train.epochs=1", "analyse.protocol=closed"]


@pytest.fixture(scope="module")
def taught_by(tmp_path_factory, slow):
    """A folder of runs, one of which has two teachers that each left half of the text out."""
    runs = tmp_path_factory.mktemp("runs")
    for fold in (1, 2):
        changes = [*ONE_EPOCH, "train.folds=2", f"train.fold={fold}"]
        chosen = {"models": ["ll-rnn"], "name": f"fold-{fold}", "until": "evaluate"}
        accord.run("tiny", set=changes, **chosen, runs=runs)
    return runs


def changes(runs: Path) -> list[str]:
    return [
        *ONE_EPOCH,
        f"train.teachers={{models: [{runs / 'fold-1'}, {runs / 'fold-2' / 'll-rnn'}]}}",
    ]


def test_a_model_is_taught_by_those_of_runs_and_known_by_their_files(taught_by, capsys):
    chosen = {"models": ["ll-rnn"], "until": "evaluate", "runs": taught_by}
    this = accord.run("tiny", set=changes(taught_by), name="student", **chosen)
    train = this.artefacts["ll-rnn", "train"]
    recipe = ModelFolder(train.folder).recipe
    assert recipe.teachers.models == ("fold-1", "ll-rnn")
    assert sum(name.endswith("config.json") for name in train.meta["data"]) == 2
    plain = accord.run("tiny", set=ONE_EPOCH, name="plain", **chosen)
    steps = [
        (run.artefacts["ll-rnn", "train"].folder / "steps.csv").read_text() for run in (this, plain)
    ]
    assert steps[0] != steps[1]
    assert accord.load(this.folder).score("Le chat dort.")
