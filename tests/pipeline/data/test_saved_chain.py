"""Words met later are told apart as the lexicons of the training did."""

from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import accord
from accord.pipeline.base.names import UNKNOWN

NEW = "zorgulle"  # which no table and no training text has
BEGINNINGS = [f"{first}{vowel}" for first, vowel in product("bcdfglmnprst", "aeiou")]


def write_table(path: Path, upos: str) -> None:
    """Words by whose endings others are guessed; those in -ulle are of the part of speech given."""
    endings = {"oque": "NOUN", "iment": "ADV", "ulle": upos}
    rows = [
        f"{beginning}{ending}\t_\t{of_ending}\t_"
        for ending, of_ending in endings.items()
        for beginning in BEGINNINGS
    ]
    path.write_text("\n".join(["form\tlemma\tupos\tfeats", *rows, ""]), encoding="utf-8")


@pytest.fixture
def table(tmp_path) -> Path:
    write_table(tmp_path / "mots.tsv", "NOUN")
    return tmp_path / "mots.tsv"


@pytest.fixture
def run(table):
    """What runs the stages on a text whose unknown words are of two classes."""
    text = table.parent / "text"
    text.mkdir()
    once = [f"x{start}{ending}" for start in BEGINNINGS for ending in ("oque", "iment")]
    (text / "train.txt").write_text("\n".join(once))
    (text / "test.txt").write_text(NEW)
    settings = {"corpus.source": text, "analyse.lexicon": [str(table), "guesser"]}

    def up_to(stage: str):
        changes = settings | {"train.epochs": 1}
        runs = table.parent / "runs"
        return accord.run("tiny", set=changes, models=["ll-rnn"], until=stage, runs=runs)

    return up_to


def read_as(made) -> str:
    """The unknown word as which the test's only word is encoded."""
    types = pd.read_parquet(made.artefacts["ll-rnn", "analyse"].folder / "types.parquet")
    ids = np.load(made.artefacts["ll-rnn", "encode"].folder / "test.ids.npy")
    return types["form"][ids[0]]


def test_ids_are_made_anew_when_a_lexicon_changes(table, run):
    assert read_as(run("encode")) == f"{UNKNOWN} NOUN"
    write_table(table, "ADV")
    assert read_as(run("encode")) == f"{UNKNOWN} ADV"


@pytest.mark.slow
def test_a_model_needs_no_lexicon_to_tell_words_apart(table, run):
    made = run("evaluate")
    before = accord.load(made.folder).score(NEW)
    write_table(table, "ADV")
    assert accord.load(made.folder).score(NEW) == before
    table.unlink()
    assert accord.load(made.folder).score(NEW) == before
