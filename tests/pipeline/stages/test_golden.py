"""Losses and files of the tiny preset are those of before, or a version is new.

What is meant to change the losses writes them anew: `python -m tests.pipeline.stages.test_golden`.
"""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
import pytest

import accord
from accord.pipeline.stages import tokenise
from tests import golden


@pytest.fixture(scope="module")
def expected():
    return json.loads(golden.GOLDEN.read_text(encoding="utf-8"))


def test_the_preset_tiny_gives_what_it_gave(expected, tiny_run):
    assert golden.explained(expected["tiny"], golden.of_run(tiny_run)) == ""


@pytest.mark.slow
def test_every_family_of_parts_gives_what_it_gave(expected, tmp_path):
    run = golden.run_families(tmp_path)
    assert golden.explained(expected["families"], golden.of_run(run)) == ""


def test_every_reader_of_a_lexicon_gives_what_it_gave(expected):
    assert golden.explained(expected["readers"], golden.of_readers()) == ""


@pytest.fixture
def planted(expected, tmp_path, monkeypatch):
    """`tokenise` with a mistake, as far as `analyse`: what is expected and what it gives."""
    right = tokenise.tokenised
    monkeypatch.setattr(tokenise, "tokenised", lambda texts: (each[::-1] for each in right(texts)))

    def run():
        made = accord.run("tiny", set=golden.TINY, until="analyse", runs=tmp_path)
        found = golden.of_run(made)
        return {name: expected["tiny"][name] for name in found}, found

    return run


def test_a_changed_output_fails_and_says_to_raise_the_version_of_that_stage_alone(planted):
    unsaid, others = golden.changes(*planted())
    assert unsaid == ["rnn/tokenise: test.arrow, train.arrow, valid.arrow"]
    assert others == []
    said = golden.explained(*planted())
    assert "Raise the version of the stage" in said
    assert "python -m tests.golden --write" in said


GOLDEN = Path(__file__).parents[2] / "data" / "golden-losses.csv"
STEPS = 50


def losses(run) -> pd.DataFrame:
    """Nats per word of each of the first steps, a column a model."""
    steps = {
        model: pd.read_csv(run.artefacts[model, "train"].folder / "steps.csv")["nats"]
        for model in run.config.models
    }
    return pd.DataFrame(steps)[:STEPS]


def test_the_losses_are_those_of_before(tiny_run):
    expected, found = pd.read_csv(GOLDEN), losses(tiny_run)
    assert found.shape == expected.shape == (STEPS, 2)
    for model in expected:
        # Kernels of other machines round otherwise, and training makes more of it.
        assert found[model].tolist() == pytest.approx(expected[model].tolist(), abs=1e-4)


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        made = accord.run("tiny", set={"train.epochs": 3}, runs=folder)
        losses(made).round(6).to_csv(GOLDEN, index=False)
