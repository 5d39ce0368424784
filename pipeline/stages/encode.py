"""Stage `encode`: words become ids in memory-mapped arrays, each sentence closed by its end."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
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
from accord.models.spelling.subwords import COUNTS, count_subwords
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
    PARTS,
    SIZES,
    VALUES,
    read_forms,
    read_sentences,
)
from accord.pipeline.data.subwords import Speller
from accord.pipeline.data.vocabulary import Vocabulary
from accord.pipeline.data.word_vectors import word_classes
from accord.pipeline.evaluation.suites import Pair, encode_suite
from accord.pipeline.model.endings import read_vocabulary
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
                own = np.array([number.setdefault(form, len(number)) for form in forms], np.int32)
                own[types.indices.to_numpy()].tofile(file)
        _write_forms(number, split, out)


def compute(params: EncodeParams, inputs: Inputs, out: Path, shards: Sequence[Path] = ()) -> None:
    if shards:
        _encode(params, inputs, out, shards)
        return
    with TemporaryDirectory(dir=out) as folder:
        [whole] = pieces(params, inputs, 1)
        shard(params, inputs, whole, Path(folder))
        _encode(params, inputs, out, [Path(folder)])


def _encode(params: EncodeParams, inputs: Inputs, out: Path, shards: Sequence[Path]) -> None:
    """Give the words of all shards their ids."""
    known = read_vocabulary(inputs["analyse"])
    types = pd.read_parquet(inputs["analyse"] / "types.parquet")
    texts = splits(inputs["tokenise"])
    read_as = {"train": _as_trained(types)}
    labels = label_values(texts[split] for split in ("train", PRETRAINING) if split in texts)
    if labels:
        (out / VALUES).write_text(json.dumps(labels, ensure_ascii=False), encoding="utf-8")
    about, seen = {}, None
    for split, path in texts.items():
        text = Words(split, shards)
        seen = seen or text.number.keys()  # the training text comes first
        about[split] = _encode_split(path, text, known, seen, out, read_as.get(split), labels)
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


class Words:
    """The words of a split by the numbers of their forms, read from shards a batch at a time."""

    def __init__(self, split: str, shards: Sequence[Path]):
        self.number: dict[str, int] = {}  # of each form, in the order in which they come
        self._shards: list[tuple[Path, np.ndarray]] = []
        self._offset = 0  # bytes of the first shard that were read
        for folder in shards:
            if (folder / f"{split}.words").exists():
                forms = load_json(folder / f"{split}.forms.json", list)
                own = np.array([self.number.setdefault(each, len(self.number)) for each in forms])
                self._shards.append((folder / f"{split}.words", own.astype(np.int32)))
        if END in self.number:
            raise AccordError(f"the text holds '{END}', which stands for a sentence's end")

    def take(self, count: int) -> np.ndarray:
        """The next words; none of the batches is in two shards."""
        while self._shards:
            path, numbers = self._shards[0]
            found = np.fromfile(path, np.int32, count, offset=self._offset)
            if len(found) == count:
                self._offset += found.nbytes
                return numbers[found]
            del self._shards[0]
            self._offset = 0
        raise AccordError(f"expected {count} more words in the shards, found none")


def _encode_split(
    path: Path,
    text: Words,
    known: Vocabulary,
    seen: Set[str],
    out: Path,
    read_as: np.ndarray | None,
    values: Mapping[str, Sequence[str]],
) -> dict[str, int]:
    """Write the arrays of a split, a batch at a time; returns its sizes."""
    about = Counter({"sentences": 0, "words": 0, "characters": 0})
    forms = [*text.number]
    found = known.ids(forms) if read_as is None else read_as[known.ids(forms)]
    new = np.array([form not in seen for form in forms], np.bool_)
    parts, labels, documents = [], [], DocumentNumbers()
    with (
        ArrayFile(out / f"{path.stem}.ids.npy", np.int32) as ids,
        ArrayFile(out / f"{path.stem}.unseen.npy", np.bool_) as unseen,
        ArrayFile(out / f"{path.stem}.lengths.npy", np.int64) as lengths,
        ArrayFile(out / f"{path.stem}.form.npy", np.int32) as form,
    ):
        for batch in batches(path):
            words, sizes = batch["words"].flatten(), batch["words"].value_lengths().to_numpy()
            numbers = text.take(len(words))
            ids.append(_with_ends(found[numbers], sizes, END_ID))
            form.append(_with_ends(numbers, sizes, -1))
            unseen.append(_with_ends(new[numbers], sizes, False))
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
    _write_forms(forms, path.stem, out)
    if parts:
        _save_parts(pa.chunked_array(parts), out / f"{path.stem}{PARTS}")
    if labels:
        np.save(out / f"{path.stem}{NUMBERS}", np.concatenate(labels))
    if documents.has_long:
        np.save(out / f"{path.stem}{DOCUMENTS}", np.array(documents.numbers, np.int32))
    return dict(about)


def _write_forms(forms: Iterable[str], split: str, out: Path) -> None:
    text = json.dumps([*forms], ensure_ascii=False)
    (out / f"{split}.forms.json").write_text(text, encoding="utf-8")


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
