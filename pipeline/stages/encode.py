"""Stage `encode`: words become ids in memory-mapped arrays, each sentence closed by its end."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from accord.errors import AccordError
from accord.models.common.arrays import load_array
from accord.models.common.files import load_json
from accord.models.data import Sentences
from accord.models.spelling import COUNTS, count_subwords
from accord.pipeline.base.arrow import ArrayFile, Ranges, batch_ranges, batches, splits
from accord.pipeline.base.artefact import Inputs
from accord.pipeline.base.messages import say
from accord.pipeline.base.names import (
    END,
    END_ID,
    PRETRAINING,
    is_special,
    read_as_unknown,
)
from accord.pipeline.config.sections import EncodeParams
from accord.pipeline.data.encoded import (
    DOCUMENTS,
    NUMBERS,
    Speller,
    read_forms,
    read_sentences,
    save_forms,
    save_parts,
    save_sizes,
    save_values,
)
from accord.pipeline.data.word_vectors import word_classes
from accord.pipeline.model.endings import read_vocabulary
from accord.pipeline.model.suites import Pair, encode_suite
from accord.pipeline.model.words import Vocabulary
from accord.pipeline.stages.corpus import label_numbers, label_values


def pieces(params: EncodeParams, inputs: Inputs, count: int) -> list[Ranges]:
    return batch_ranges(splits(inputs["tokenise"]), count)


def shard(params: EncodeParams, inputs: Inputs, piece: Ranges, out: Path) -> None:
    """Number the words of some batches, each form in the order in which it comes."""
    for split, chosen in piece.items():
        number: dict[str, int] = {}
        with (out / f"{split}.words").open("wb") as file:
            for batch in batches(inputs["tokenise"] / f"{split}.arrow", range(*chosen)):
                types = batch["words"].flatten().dictionary_encode()
                forms = types.dictionary.to_pylist()
                numbers = [number.setdefault(form, len(number)) for form in forms]
                np.array(numbers, np.int32)[types.indices.to_numpy()].tofile(file)
        save_forms([*number], out, split)


def compute(params: EncodeParams, inputs: Inputs, out: Path, shards: Sequence[Path] = ()) -> None:
    vocabulary = read_vocabulary(inputs["analyse"])
    types = pd.read_parquet(inputs["analyse"] / "types.parquet")
    texts = splits(inputs["tokenise"])
    suites = {path: pd.read_parquet(path) for path in inputs["analyse"].glob("*.suite.parquet")}
    with TemporaryDirectory(dir=out) as folder:
        if not shards:
            [whole] = pieces(params, inputs, 1)
            shard(params, inputs, whole, Path(folder))
        _encode_splits(vocabulary, types, texts, shards or [Path(folder)], out)
    speller = None if params.merges is None else _speller(types, params.merges)
    if speller:
        speller.save(out)
        for split in texts:
            speller.subwords(read_forms(out, split).forms).save(out, split)
        written, lengths = read_forms(out, "train"), load_array(out / "train.lengths.npy")
        text = Sentences(written.positions, lengths)
        np.save(out / COUNTS, written.subwords.count(text, count_subwords(out)))
    if params.classes:
        text, counts = read_sentences(out, "train"), types["count"].to_numpy()
        np.save(out / "classes.npy", word_classes(text, counts, params.classes, params.classes_by))
    for path, rows in suites.items():
        pairs = [Pair(*row) for row in rows.itertuples(index=False)]
        suite = encode_suite(pairs, vocabulary)
        suite.save(out / path.with_suffix(".npz").name)
        if speller:
            name = path.name.removesuffix(".suite.parquet")
            speller.subwords(suite.forms.tolist()).save(out, name)
        unknown = (~suite.known).sum()
        left = f", {unknown:,} not judged (unknown words, or two equal sentences)"
        say(f"encode: {path.stem} has {len(pairs):,} pairs{left if unknown else ''}")


def _encode_splits(
    vocabulary: Vocabulary,
    types: pd.DataFrame,
    texts: Mapping[str, Path],
    shards: Sequence[Path],
    out: Path,
) -> None:
    """Give the words of all shards their ids."""
    labels = label_values(texts[split] for split in ("train", PRETRAINING) if split in texts)
    if labels:
        save_values(labels, out)
    sizes, seen = {}, None
    for split, path in texts.items():
        words = Words(split, shards)
        seen = seen or words.number.keys()  # the training text comes first
        forms = [*words.number]
        ids = vocabulary.ids(forms)
        if split == "train":  # which reads a word seen once as unknown
            ids = np.where(read_as_unknown(types), types.get("unknown", 0), types.index)[ids]
        is_new = np.array([form not in seen for form in forms], np.bool_)
        sizes[split] = _encode_split(path, words, ids, is_new, labels, out)
        save_forms(forms, out, split)
    save_sizes(sizes, out)


def _speller(types: pd.DataFrame, merges: int) -> Speller:
    """Learn a speller from the words that are counted."""
    counted = types[(types["count"] > 0) & ~types["form"].map(is_special)]
    return Speller.learn(dict(zip(counted["form"], counted["count"], strict=True)), merges)


class Words:
    """The words of a split by the numbers of their forms, read from shards a batch at a time."""

    def __init__(self, split: str, shards: Sequence[Path]):
        self.number: dict[str, int] = {}  # of each form, in the order in which they come
        self._shards: list[tuple[Path, np.ndarray]] = []
        self._offset = 0  # bytes of the first shard that were read
        for folder in shards:
            if (folder / f"{split}.words").exists():
                forms = load_json(folder / f"{split}.forms.json", list)
                numbers = [self.number.setdefault(form, len(self.number)) for form in forms]
                self._shards.append((folder / f"{split}.words", np.array(numbers, np.int32)))
        if END in self.number:
            raise AccordError(f"the text holds '{END}', which stands for a sentence's end")

    def take(self, count: int) -> np.ndarray:
        """Return the next words; none of the batches is in two shards."""
        while self._shards:
            path, numbers = self._shards[0]
            words = np.fromfile(path, np.int32, count, offset=self._offset)
            if len(words) == count:
                self._offset += words.nbytes
                return numbers[words]
            del self._shards[0]
            self._offset = 0
        raise AccordError(f"expected {count} more words in the shards, found none")


def _encode_split(
    path: Path,
    text: Words,
    id_of_form: np.ndarray,
    is_new: np.ndarray,
    values: Mapping[str, Sequence[str]],
    out: Path,
) -> dict[str, int]:
    """Write the arrays of a split, a batch at a time; returns its sizes."""
    about = Counter({"sentences": 0, "words": 0, "characters": 0})
    parts, labels, documents = [], [], []
    with (
        ArrayFile(out / f"{path.stem}.ids.npy", np.int32) as ids,
        ArrayFile(out / f"{path.stem}.unseen.npy", np.bool_) as unseen,
        ArrayFile(out / f"{path.stem}.lengths.npy", np.int64) as lengths,
        ArrayFile(out / f"{path.stem}.form.npy", np.int32) as form,
    ):
        for batch in batches(path):
            words, sizes = batch["words"].flatten(), batch["words"].value_lengths().to_numpy()
            numbers = text.take(len(words))
            ids.append(_with_ends(id_of_form[numbers], sizes, END_ID))
            form.append(_with_ends(numbers, sizes, -1))
            unseen.append(_with_ends(is_new[numbers], sizes, False))
            lengths.append(sizes + 1)
            if "part" in batch.schema.names:
                parts.append(batch["part"])
            if values:
                labels.append(label_numbers(batch, values))
            if "document" in batch.schema.names:
                documents.append(batch["document"])
            about["sentences"] += len(sizes)
            about["words"] += len(words)
            # A word's letters and the space or line end after it.
            about["characters"] += pc.sum(pc.utf8_length(words)).as_py() + len(words)
    if labels:
        np.save(out / f"{path.stem}{NUMBERS}", np.concatenate(labels))
    follows = np.full(max(about["sentences"] - 1, 0), bool(documents))  # one of the same document
    for column in filter(None, (documents, parts)):
        encoded = pa.chunked_array(column).combine_chunks().dictionary_encode()
        codes = encoded.indices.fill_null(-1).to_numpy()
        follows &= (codes[1:] == codes[:-1]) & (codes[1:] >= 0)
        if column is parts:
            save_parts(encoded.dictionary.to_pylist(), codes, out, path.stem)
    if follows.any():
        numbers = np.concatenate([[0], np.cumsum(~follows)])
        np.save(out / f"{path.stem}{DOCUMENTS}", numbers.astype(np.int32))
    return dict(about)


def _with_ends(values: np.ndarray, lengths: np.ndarray, end: int) -> np.ndarray:
    """Insert the value of the end after each sentence."""
    return np.insert(values, np.cumsum(lengths), end)
