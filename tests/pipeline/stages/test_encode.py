"""What `encode` writes of a split is what its sentences hold, ends included."""

import json

import numpy as np
import pandas as pd
import pytest

from accord.pipeline.base.arrow import rows
from accord.pipeline.base.names import END_ID


@pytest.mark.parametrize("split", ["train", "valid", "test"])
def test_arrays_have_a_number_for_each_word_and_each_end(tiny_run, split):
    made = {name: tiny_run.artefacts["rnn", name].folder for name in ("tokenise", "encode")}
    texts = [row["words"] for row in rows(made["tokenise"] / f"{split}.arrow")]
    training = {word for row in rows(made["tokenise"] / "train.arrow") for word in row["words"]}
    names = ("ids", "lengths", "unseen", "form")
    ids, lengths, unseen, form = (np.load(made["encode"] / f"{split}.{n}.npy") for n in names)
    assert lengths.tolist() == [len(words) + 1 for words in texts]
    ends = np.cumsum(lengths) - 1
    assert np.flatnonzero(ids == END_ID).tolist() == ends.tolist()
    written = [word for words in texts for word in (*words, None)]
    assert unseen.tolist() == [word not in training and word is not None for word in written]
    assert unseen.any() == (split != "train")
    forms = json.loads((made["encode"] / f"{split}.forms.json").read_text(encoding="utf-8"))
    assert [None if at < 0 else forms[at] for at in form] == written
    sizes = json.loads((made["encode"] / "about.json").read_text())[split]
    assert sizes == {
        "sentences": len(texts),
        "words": sum(map(len, texts)),
        "characters": sum(len(word) + 1 for words in texts for word in words),
    }


def test_the_ids_are_rows_of_the_table_of_words(tiny_run):
    made = {n: tiny_run.artefacts["rnn", n].folder for n in ("analyse", "tokenise", "encode")}
    forms = pd.read_parquet(made["analyse"] / "types.parquet")["form"]
    ids = np.load(made["encode"] / "valid.ids.npy")
    words = [word for row in rows(made["tokenise"] / "valid.arrow") for word in row["words"]]
    known = [place for place, word in enumerate(words) if word in {*forms}]
    read = forms[ids[ids != END_ID]].to_numpy()
    assert len(known) > len(words) / 2
    assert read[known].tolist() == [words[place] for place in known]
