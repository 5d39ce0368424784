"""Stage `encode`: words become ids in memory-mapped arrays, each sentence closed by its end."""

import json
from collections import Counter
from collections.abc import Set
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
import pyarrow.compute as pc

from models.arrays import load_array
from models.batching import Sentences
from pipeline.arrow import batches, splits, word_counts
from pipeline.growing import ArrayFile, JsonList
from pipeline.progress import say
from pipeline.stage import Inputs, Stage
from pipeline.suite import Pair, Suite
from pipeline.units import learn_units
from pipeline.vocabulary import END, END_ID, UNKNOWN, UNKNOWN_ID
from pipeline.word_classes import word_classes


@dataclass(frozen=True)
class Params:
    # Models of units predict words by their spelling: in pieces that so many merges of byte-pair
    # encoding make of letters, 0: in letters; null: words are not taken apart.
    merges: int | None = None
    classes: int = 0  # of words, for `train.output: classes`; 0: none
    # By the words beside them (clusters by exchange), by frequency, or evenly: as many words each.
    classes_by: Literal["neighbours", "frequency", "evenly"] = "neighbours"


def compute(params: Params, inputs: Inputs, out: Path) -> None:
    types = pd.read_parquet(inputs["analyse"] / "types.parquet")
    places = {form: place for place, form in enumerate(types["form"])}
    seen = word_counts(inputs["tokenise"] / "train.arrow").keys()
    texts = splits(inputs["tokenise"])
    about = {split: _encode(path, places, seen, out) for split, path in texts.items()}
    (out / "about.json").write_text(json.dumps(about, indent=1))
    if params.merges is not None:
        learn_units(types["form"].tolist(), types["count"], params.merges).save(out / "units.npz")
    if params.classes:
        text = Sentences(*(load_array(out / f"train.{name}.npy") for name in Sentences._fields))
        counts = types["count"].to_numpy()
        np.save(out / "classes.npy", word_classes(text, counts, params.classes, params.classes_by))
    for path in inputs["analyse"].glob("*.suite.parquet"):
        pairs = [Pair(*row) for row in pd.read_parquet(path).itertuples(index=False)]
        suite = Suite.encode(pairs, places)
        suite.save(out / path.with_suffix(".npz").name)
        say(
            f"encode: {path.stem} has {len(pairs):,} pairs, {(~suite.known).sum():,} of them with "
            f"words that are not known"
        )


def _encode(path: Path, known: dict[str, int], seen: Set[str], out: Path) -> dict[str, int]:
    """Write the arrays of a split, a batch at a time; its sizes come back."""
    about = Counter({"sentences": 0, "words": 0, "characters": 0})
    with (
        ArrayFile(out / f"{path.stem}.ids.npy", np.int32) as ids,
        ArrayFile(out / f"{path.stem}.unseen.npy", np.bool_) as unseen,
        ArrayFile(out / f"{path.stem}.lengths.npy", np.int64) as lengths,
        JsonList(out / f"{path.stem}.spelled.json") as spelled,
    ):
        for batch in batches(path):
            words, sizes = batch["words"].flatten(), batch["words"].value_lengths().to_numpy()
            types = words.dictionary_encode()
            forms, places = types.dictionary.to_pylist(), types.indices.to_numpy()
            numbers = np.array([_id(form, known) for form in forms], np.int32)[places]
            new = np.array([form not in seen for form in forms], np.bool_)[places]
            ids.append(_with_ends(numbers, sizes, END_ID))
            unseen.append(_with_ends(new, sizes, False))
            lengths.append(sizes + 1)
            if UNKNOWN in known:
                spelled.extend(forms[place] for place in places[numbers == UNKNOWN_ID])
            about["sentences"] += len(sizes)
            about["words"] += len(words)
            # A word's letters and the space or line end after it.
            about["characters"] += pc.sum(pc.utf8_length(words)).as_py() + len(words)
    return dict(about)


def _id(form: str, known: dict[str, int]) -> int:
    if form == END:
        raise ValueError(f"the text holds the word '{END}', which stands for a sentence's end")
    if form not in known and UNKNOWN not in known:
        raise ValueError(f"'{form}' is not among the known words of a closed vocabulary")
    return known.get(form, UNKNOWN_ID)


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
        "units.npz": "the units that spell each word, where models of units want them",
        "classes.npy": "the class of each word, where an output wants classes",
        "*.suite.npz": "the sentences of each agreement suite as ids, and how they pair",
    },
    params=Params,
    compute=compute,
)
