"""Under the open protocol, vocabulary, φ and b do not depend on the test's text."""

from pathlib import Path

import pytest

from accord.pipeline.base.arrow import rows, write_rows
from accord.pipeline.config.configuration import load_config
from accord.pipeline.stages.corpus import SCHEMA
from accord.pipeline.stages.table import STAGES

PREPARED = ("tokenise", "analyse", "featurise", "background")


def prepare(corpus: Path, out: Path, model: str) -> dict[str, bytes]:
    """The bytes of every file that the stages from tokenise to background make, test aside."""
    sections = load_config("tiny").models[model]
    folders = {"corpus": corpus}
    for name in PREPARED:
        folders[name] = out / name
        folders[name].mkdir(parents=True)
        STAGES[name].module.compute(sections[name], folders, folders[name])
    made = [path for name in PREPARED for path in folders[name].iterdir()]
    return {p.parent.name + "/" + p.name: p.read_bytes() for p in made if p.stem != "test"}


@pytest.mark.parametrize("model", ["rnn", "ll-rnn"])
def test_deleting_the_tests_text_changes_nothing_that_is_learned(tmp_path, tiny_run, model):
    whole = tiny_run.artefacts[model, "corpus"].folder
    without = tmp_path / "corpus"
    without.mkdir()
    for path in whole.glob("*.arrow"):
        kept = list(rows(path))
        if path.stem == "test":
            kept = [row | {"text": "Rien."} for row in kept[:1]]
        write_rows(without / path.name, SCHEMA, kept)
    before = prepare(whole, tmp_path / "whole", model)
    after = prepare(without, tmp_path / "without", model)
    assert before == after
    assert {"featurise/phi.npz", "background/b.npy", "analyse/types.parquet"} <= set(before)


def test_no_sentence_stands_in_two_splits(tiny_run):
    corpus = tiny_run.artefacts["rnn", "corpus"].folder
    texts = {
        path.stem: {row["text"].casefold() for row in rows(path)} for path in corpus.glob("*.arrow")
    }
    assert set(texts) == {"train", "valid", "test"}
    assert sum(map(len, texts.values())) == len(set().union(*texts.values()))
