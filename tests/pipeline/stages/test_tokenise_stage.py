"""Words of sentences: by one process as by several, of texts and treebanks mixed."""

import subprocess
import sys
from collections import Counter

import pandas as pd
import pytest

from accord.pipeline.base import arrow as tables
from accord.pipeline.base.arrow import WRITTEN, read_written, save_written
from accord.pipeline.config.sections import TokeniseParams
from accord.pipeline.stages import corpus, tokenise


@pytest.fixture
def text(tmp_path):
    """A corpus in several batches, of a text and of a treebank's rows."""

    def row(number: int) -> dict:
        raw = {"id": str(number), "text": f"L'arbre n° {number} du Parc.", "part": "texte"}
        rows = {"forms": ["Du", "de", "le"], "kinds": ["contracted", "part", "part"]}
        return raw if number % 3 else raw | rows | {"part": "arbres"}

    (tmp_path / "corpus").mkdir()
    schema = corpus.SCHEMA.append(corpus.PART)
    tables.write_rows(tmp_path / "corpus" / "train.arrow", schema, map(row, range(50)))
    return tmp_path / "corpus"


def made(out, text, **params) -> list[dict]:
    out.mkdir()
    tokenise.compute(TokeniseParams(**params), {"corpus": text}, out)
    return list(tables.rows(out / "train.arrow"))


UNGUARDED = """
import os, sys
from pathlib import Path

os.fork = None  # a fork copies the locks that other threads hold
print("begins")
from accord.pipeline.config.sections import TokeniseParams
from accord.pipeline.stages import tokenise
text, one, several = map(Path, sys.argv[1:])
tokenise.compute(TokeniseParams(processes=1), {"corpus": text}, one)
tokenise.compute(TokeniseParams(processes=2), {"corpus": text}, several)
"""


@pytest.mark.slow
def test_several_processes_make_the_same_file_without_a_fork_or_the_main_script(
    tmp_path, monkeypatch, text
):
    monkeypatch.setattr(tables, "BATCH", 7)
    folders = [tmp_path / name for name in ("small", "one", "several")]
    for folder in folders:
        folder.mkdir()
    schema = corpus.SCHEMA.append(corpus.PART)
    small = folders[0] / "train.arrow"
    tables.write_rows(small, schema, tables.rows(text / "train.arrow"))
    assert tables.count_batches(small) == 8
    script = tmp_path / "script.py"
    script.write_text(UNGUARDED)
    done = subprocess.run([sys.executable, script, *folders], capture_output=True, text=True)
    assert (done.returncode, done.stdout.count("begins")) == (0, 1), done.stderr
    one, several = ((folder / "train.arrow").read_bytes() for folder in folders[1:])
    assert one == several


def test_texts_and_treebanks_stand_side_by_side_and_keep_their_parts(tmp_path, text):
    found = made(tmp_path / "out", text)
    first, second = found[:2]
    assert (first["words"], first["part"]) == (["du"], "arbres")
    assert second["words"] == ["l'", "arbre", "n°", "1", "du", "parc", "."]
    assert second["part"] == "texte"
    syntactic = made(tmp_path / "syntactic", text, view="syntactic", lowercase=False)
    assert syntactic[3]["words"] == ["de", "le"]
    assert syntactic[4]["words"][-2] == "Parc"


def test_the_commonest_spelling_is_kept_and_small_letters_where_it_is_a_tie(tmp_path):
    counts = Counter({"Paris": 3, "paris": 1, "le": 5, "Le": 5, "LE": 1, "SNCF": 1})
    save_written(tmp_path, counts)
    found = pd.Series(["le", "paris", "sncf", "lyon"]).map(read_written(tmp_path))
    assert found.tolist()[:3] == ["le", "Paris", "SNCF"]
    assert pd.isna(found[3])


def test_only_the_training_text_says_how_words_are_written(tiny_run, tmp_path):
    sentences = tiny_run.artefacts["ll-rnn", "corpus"].folder
    shouted = tmp_path / "corpus"
    shouted.mkdir()
    for path in sentences.glob("*.arrow"):
        kept = tables.rows(path)
        if path.stem != "train":
            kept = (row | {"text": row["text"].upper()} for row in kept)
        tables.write_rows(shouted / path.name, corpus.SCHEMA, kept)
    (tmp_path / "out").mkdir()
    tokenise.compute(TokeniseParams(), {"corpus": shouted}, tmp_path / "out")
    before = tiny_run.artefacts["ll-rnn", "tokenise"].folder / WRITTEN
    assert (tmp_path / "out" / WRITTEN).read_bytes() == before.read_bytes()
