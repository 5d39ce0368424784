"""How training writes its words is kept where they are lowercased, and of no other text."""

from collections import Counter

import pandas as pd

from accord.pipeline.base.arrow import rows, write_rows
from accord.pipeline.config.sections import TokeniseParams
from accord.pipeline.data.vocabulary import WRITTEN, read_written, save_written
from accord.pipeline.stages import tokenise
from accord.pipeline.stages.corpus import SCHEMA


def test_the_commonest_spelling_is_kept_and_small_letters_where_it_is_a_tie(tmp_path):
    counts = Counter({"Paris": 3, "paris": 1, "le": 5, "Le": 5, "LE": 1, "SNCF": 1})
    save_written(tmp_path, counts)
    found = pd.Series(["le", "paris", "sncf", "lyon"]).map(read_written(tmp_path))
    assert found.tolist()[:3] == ["le", "Paris", "SNCF"]
    assert pd.isna(found[3])


def test_only_the_training_text_says_how_words_are_written(tiny_run, tmp_path):
    corpus = tiny_run.artefacts["ll-rnn", "corpus"].folder
    shouted = tmp_path / "corpus"
    shouted.mkdir()
    for path in corpus.glob("*.arrow"):
        kept = rows(path)
        if path.stem != "train":
            kept = (row | {"text": row["text"].upper()} for row in kept)
        write_rows(shouted / path.name, SCHEMA, kept)
    (tmp_path / "out").mkdir()
    tokenise.compute(TokeniseParams(), {"corpus": shouted}, tmp_path / "out")
    before = tiny_run.artefacts["ll-rnn", "tokenise"].folder / WRITTEN
    assert (tmp_path / "out" / WRITTEN).read_bytes() == before.read_bytes()


def test_where_capitals_are_kept_there_is_nothing_to_keep(tiny_run, tmp_path):
    corpus = tiny_run.artefacts["ll-rnn", "corpus"].folder
    tokenise.compute(TokeniseParams(lowercase=False), {"corpus": corpus}, tmp_path)
    assert not (tmp_path / WRITTEN).exists()
