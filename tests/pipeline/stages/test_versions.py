"""No stage and no reader of a lexicon changes what it gives without a new version."""

import json
from dataclasses import replace

import pytest

import accord
from accord.pipeline.stages import tokenise
from accord.pipeline.stages.table import STAGES
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


def test_with_a_new_version_it_only_asks_to_be_written_down(planted, monkeypatch):
    tokenise_ = STAGES["tokenise"]
    monkeypatch.setitem(STAGES, "tokenise", replace(tokenise_, version=tokenise_.version + 1))
    unsaid, others = golden.changes(*planted())
    assert unsaid == []
    assert others == ["rnn/tokenise"]
    assert "Raise" not in golden.explained(*planted())
