"""`accord page`: which models it offers, and what it says where there are none."""

import shutil

from typer.testing import CliRunner

import accord
from accord.pipeline.cli.main import app
from accord.pipeline.cli.page import _loaders


def test_the_models_of_a_run_are_offered_by_name_with_the_last_first(tiny_run, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(tiny_run.folder, other)
    assert list(_loaders([tiny_run.folder])) == ["ll-rnn", "rnn"]
    offered = ["tiny/ll-rnn", "tiny/rnn", "other/ll-rnn", "other/rnn"]
    assert list(_loaders([tiny_run.folder, other])) == offered


def test_without_a_trained_model_it_ends_with_a_word(tmp_path):
    begun = accord.run("tiny", until="corpus", runs=tmp_path).folder
    for folder, said in (
        (begun, "is not finished: expected a trained model"),
        (tmp_path / "none", "is no trained model: expected"),
    ):
        done = CliRunner().invoke(app, ["page", "--run", str(folder), "--port", "0"])
        assert done.exit_code == 1
        assert said in done.stderr
        assert not done.stdout  # no address of a page that cannot answer
