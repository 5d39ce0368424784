"""Stage `encode`: words become ids in memory-mapped arrays, each sentence closed by its end."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.arrow import open_table, splits
from pipeline.progress import say
from pipeline.stage import Inputs, Stage
from pipeline.suite import Pair, Suite
from pipeline.vocabulary import END_ID, UNKNOWN, UNKNOWN_ID


@dataclass(frozen=True)
class Params:
    pass


def compute(params: Params, inputs: Inputs, out: Path) -> None:
    types = pd.read_parquet(inputs["analyse"] / "types.parquet")
    known = pa.array(types["form"])
    seen = pc.unique(_words(inputs["tokenise"] / "train.arrow"))
    about = {}
    for split, path in splits(inputs["tokenise"]).items():
        words = _words(path)
        ids = _ids(words, known)
        spelled = words.filter(pa.array(ids == UNKNOWN_ID)).to_pylist() if _is_open(known) else []
        lengths = pc.list_value_length(open_table(path)["words"]).to_numpy().astype(np.int64)
        unseen = pc.invert(pc.is_in(words, seen)).to_numpy(zero_copy_only=False)
        np.save(out / f"{split}.ids.npy", _with_ends(ids, lengths, END_ID).astype(np.int32))
        np.save(out / f"{split}.unseen.npy", _with_ends(unseen, lengths, False))
        np.save(out / f"{split}.lengths.npy", lengths + 1)
        (out / f"{split}.spelled.json").write_text(json.dumps(spelled, ensure_ascii=False))
        about[split] = {
            "sentences": len(lengths),
            "words": len(words),
            # A word's letters and the space or line end after it.
            "characters": pc.sum(pc.utf8_length(words)).as_py() + len(words),
        }
    (out / "about.json").write_text(json.dumps(about, indent=1))
    places = {form: place for place, form in enumerate(types["form"])}
    for path in inputs["analyse"].glob("*.suite.parquet"):
        pairs = [Pair(*row) for row in pd.read_parquet(path).itertuples(index=False)]
        suite = Suite.encode(pairs, places)
        suite.save(out / path.with_suffix(".npz").name)
        say(
            f"encode: {path.stem} has {len(pairs):,} pairs, {(~suite.known).sum():,} of them with "
            f"words that are not known"
        )


def _words(path: Path) -> pa.Array:
    return open_table(path)["words"].combine_chunks().flatten()


def _is_open(known: pa.Array) -> bool:
    return known[UNKNOWN_ID].as_py() == UNKNOWN


def _ids(words: pa.Array, known: pa.Array) -> np.ndarray:
    found = pc.index_in(words, known)
    if _is_open(known):
        return found.fill_null(UNKNOWN_ID).to_numpy()
    if found.null_count:
        missing = words.filter(pc.is_null(found))[0]
        raise ValueError(f"'{missing}' is not among the known words of a closed vocabulary")
    return found.to_numpy()


def _with_ends(values: np.ndarray, lengths: np.ndarray, end: int) -> np.ndarray:
    """One value per word of all sentences in a row, and that of its end after each."""
    return np.insert(values, np.cumsum(lengths), end)


STAGE = Stage(
    name="encode",
    help="turns words into ids",
    inputs={"tokenise": (), "analyse": ("types.parquet", "*.suite.parquet")},
    outputs={
        "*.ids.npy": "the ids of each split, END after every sentence",
        "*.lengths.npy": "the length of each sentence, END included",
        "*.spelled.json": "the words of each split that have to be spelled, in order",
        "*.unseen.npy": "whether each word is absent from the training text",
        "about.json": "sentences, words and characters of each split",
        "*.suite.npz": "the sentences of each agreement suite as ids, and how they pair",
    },
    params=Params,
    compute=compute,
)
