"""Stage `encode`: words become ids in memory-mapped arrays, each sentence closed by its end."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from accord.models.common.arrays import load_array
from accord.models.common.batching import Sentences
from accord.models.spelling.subwords import COUNTS, count_subwords
from accord.pipeline.artefacts.artefact import Inputs
from accord.pipeline.artefacts.names import (
    END,
    END_ID,
    PRETRAINING,
    is_special,
    read_as_unknown,
)
from accord.pipeline.artefacts.tables import ArrayFile, batches, splits, word_counts
from accord.pipeline.dataset.encoded import (
    DOCUMENTS,
    NUMBERS,
    PARTS,
    SIZES,
    VALUES,
    read_forms,
    read_sentences,
)
from accord.pipeline.dataset.subwords import Speller
from accord.pipeline.dataset.vocabulary import Vocabulary
from accord.pipeline.display.messages import say
from accord.pipeline.evaluation.suites import Pair, encode_suite
from accord.pipeline.features.word_vectors import word_classes
from accord.pipeline.sections import EncodeParams
from accord.pipeline.stages.corpus import label_numbers, label_values


def compute(params: EncodeParams, inputs: Inputs, out: Path) -> None:
    known = Vocabulary.load(inputs["analyse"], with_pretraining=True)
    types = pd.read_parquet(inputs["analyse"] / "types.parquet")
    seen = word_counts(inputs["tokenise"] / "train.arrow").keys()
    texts = splits(inputs["tokenise"])
    read_as = {"train": _as_trained(types)}
    labels = label_values(texts[split] for split in ("train", PRETRAINING) if split in texts)
    if labels:
        (out / VALUES).write_text(json.dumps(labels, ensure_ascii=False), encoding="utf-8")
    about = {
        split: _encode(path, known, seen, out, read_as.get(split), labels)
        for split, path in texts.items()
    }
    (out / SIZES).write_text(json.dumps(about, indent=1))
    speller = None if params.merges is None else _speller(types, params.merges)
    if speller:
        speller.save(out)
        for split in texts:
            speller.subwords(read_forms(out, split).forms).save(out, split)
        np.save(out / COUNTS, _subword_counts(out))
    if params.classes:
        text, counts = read_sentences(out, "train"), types["count"].to_numpy()
        np.save(out / "classes.npy", word_classes(text, counts, params.classes, params.classes_by))
    for path in inputs["analyse"].glob("*.suite.parquet"):
        pairs = [Pair(*row) for row in pd.read_parquet(path).itertuples(index=False)]
        suite = encode_suite(pairs, known)
        suite.save(out / path.with_suffix(".npz").name)
        if speller:
            speller.subwords(suite.forms.tolist()).save(
                out, path.name.removesuffix(".suite.parquet")
            )
        unknown = (~suite.known).sum()
        said = (
            f", {unknown:,} not judged (unknown words, or two equal sentences)" if unknown else ""
        )
        say(f"encode: {path.stem} has {len(pairs):,} pairs{said}")


def _speller(types: pd.DataFrame, merges: int) -> Speller:
    """Learned from the words that are counted."""
    counted = types[(types["count"] > 0) & ~types["form"].map(is_special)]
    return Speller.learn(dict(zip(counted["form"], counted["count"], strict=True)), merges)


def _subword_counts(folder: Path) -> np.ndarray:
    forms = read_forms(folder, "train")
    text = Sentences(forms.positions, load_array(folder / "train.lengths.npy"))
    return forms.subwords.count(text, count_subwords(folder))


def _encode(
    path: Path,
    known: Vocabulary,
    seen: Set[str],
    out: Path,
    read_as: np.ndarray | None,
    values: Mapping[str, Sequence[str]],
) -> dict[str, int]:
    """Write the arrays of a split, a batch at a time; returns its sizes."""
    about = Counter({"sentences": 0, "words": 0, "characters": 0})
    number: dict[str, int] = {}  # of each form, in the order in which they come
    parts, labels, documents = [], [], DocumentNumbers()
    with (
        ArrayFile(out / f"{path.stem}.ids.npy", np.int32) as ids,
        ArrayFile(out / f"{path.stem}.unseen.npy", np.bool_) as unseen,
        ArrayFile(out / f"{path.stem}.lengths.npy", np.int64) as lengths,
        ArrayFile(out / f"{path.stem}.form.npy", np.int32) as form,
    ):
        for batch in batches(path):
            words, sizes = batch["words"].flatten(), batch["words"].value_lengths().to_numpy()
            types = words.dictionary_encode()
            forms, positions = types.dictionary.to_pylist(), types.indices.to_numpy()
            if END in forms:
                raise ValueError(f"the text holds '{END}', which stands for a sentence's end")
            new = np.array([form not in seen for form in forms], np.bool_)[positions]
            of_batch = np.array([number.setdefault(form, len(number)) for form in forms])
            found = known.ids(forms) if read_as is None else read_as[known.ids(forms)]
            ids.append(_with_ends(found[positions], sizes, END_ID))
            form.append(_with_ends(of_batch[positions], sizes, -1))
            unseen.append(_with_ends(new, sizes, False))
            lengths.append(sizes + 1)
            if "part" in batch.schema.names:
                parts.append(batch["part"])
            if values:
                labels.append(label_numbers(batch, values))
            if "document" in batch.schema.names:
                documents.add(batch)
            about["sentences"] += len(sizes)
            about["words"] += len(words)
            # A word's letters and the space or line end after it.
            about["characters"] += pc.sum(pc.utf8_length(words)).as_py() + len(words)
    forms = json.dumps([*number], ensure_ascii=False)
    (out / f"{path.stem}.forms.json").write_text(forms, encoding="utf-8")
    if parts:
        _save_parts(pa.chunked_array(parts), out / f"{path.stem}{PARTS}")
    if labels:
        np.save(out / f"{path.stem}{NUMBERS}", np.concatenate(labels))
    if documents.has_long:
        np.save(out / f"{path.stem}{DOCUMENTS}", np.array(documents.numbers, np.int32))
    return dict(about)


class DocumentNumbers:
    """The number of each sentence's document; neighbours in the same one have the same number."""

    def __init__(self):
        self.numbers: list[int] = []
        self.has_long = False  # whether a document has several sentences
        self._before: tuple | None = None  # source and document of the last sentence

    def add(self, batch: pa.RecordBatch) -> None:
        names = batch["document"].to_pylist()
        has_parts = "part" in batch.schema.names
        parts = batch["part"].to_pylist() if has_parts else [None] * len(names)
        for name, part in zip(names, parts, strict=True):
            goes_on = name is not None and (part, name) == self._before
            last = self.numbers[-1] if self.numbers else -1
            self.numbers.append(last if goes_on else last + 1)
            self.has_long |= goes_on
            self._before = part, name


def _save_parts(parts: pa.ChunkedArray, path: Path) -> None:
    encoded = parts.combine_chunks().dictionary_encode()
    names = encoded.dictionary.to_pylist()
    np.savez(path, names=np.array(names), part=encoded.indices.to_numpy().astype(np.int16))


def _as_trained(types: pd.DataFrame) -> np.ndarray:
    """The word that training reads for each: one seen once is read as unknown."""
    return np.where(read_as_unknown(types), types.get("unknown", 0), types.index)


def _with_ends(values: np.ndarray, lengths: np.ndarray, end: int) -> np.ndarray:
    """One value per word of all sentences in a row, and that of its end after each."""
    return np.insert(values, np.cumsum(lengths), end)
