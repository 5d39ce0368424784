"""Data sets of the Hugging Face hub, streamed: `hub:ID[:CONFIG][#COLUMN]`.

A data set with a column `tokens` is read as a treebank, unless a text column is named; any other
by its column `text`, or the one named, each line of it one sentence. An example is a document.
"""

from collections.abc import Iterator, Mapping
from itertools import chain, islice
from typing import NamedTuple

from accord.corpora.sentence import Sentence, TreebankRow
from accord.corpora.text import CorpusError

PREFIX = "hub:"
SPLITS = {"validation": "valid"}  # the hub's name -> ours; any other is kept
ID_COLUMNS = ("sent_id", "idx", "id")


class Address(NamedTuple):
    id: str
    config: str | None
    column: str | None


def parse(source: str) -> Address:
    """`hub:universal-dependencies/universal_dependencies:fr_gsd#text` in its parts."""
    place, _, column = source.removeprefix(PREFIX).partition("#")
    id, _, config = place.partition(":")
    if not id:
        raise CorpusError(f"{source!r}: expected hub:ID, hub:ID:CONFIG or hub:ID:CONFIG#COLUMN")
    return Address(id, config or None, column or None)


def read(source: str, limit: int | None = None) -> Iterator[Sentence]:
    """The sentences of every split, streamed. If there is a single split, the pipeline divides it.

    `limit` counts training sentences. When it is reached, the download stops.
    """
    address = parse(source)
    splits = load(address)
    for name, examples in splits.items():
        split = SPLITS.get(name, name) if len(splits) > 1 else None
        found = chain.from_iterable(
            sentences(example, f"{name}:{number}", split, address)
            for number, example in enumerate(examples)
        )
        yield from islice(found, limit if split in (None, "train") else None)


def load(address: Address) -> Mapping[str, object]:
    """The data set's splits, opened and not downloaded."""
    import datasets  # here, because it takes seconds and most runs read no hub data set

    try:
        return datasets.load_dataset(address.id, address.config, streaming=True)
    except (datasets.exceptions.DatasetsError, OSError, ValueError, RuntimeError) as error:
        config = f" with configuration {address.config}" if address.config else ""
        raise CorpusError(
            f"the hub data set {address.id}{config} cannot be opened: {str(error).strip()}"
        ) from error


def sentences(example: dict, place: str, split: str | None, address: Address) -> Iterator[Sentence]:
    name = next((str(example[key]) for key in ID_COLUMNS if example.get(key) is not None), place)
    if address.column is None and isinstance(example.get("tokens"), list):
        rows = tuple(treebank_rows(example))
        text = example.get("text") or " ".join(row.form for row in rows if row.kind != "part")
        yield Sentence(name, text, rows, split, labels(example), name)
        return
    column = address.column or "text"
    if not isinstance(example.get(column), str):
        raise CorpusError(
            f"the hub data set {address.id} has no text column {column!r}: "
            f"expected one of {', '.join(example)}, as in hub:{address.id}#COLUMN"
        )
    for number, line in enumerate(example[column].splitlines()):
        if line.strip():
            place = f"{name}.{number}" if number else name
            yield Sentence(place, line.strip(), None, split, labels(example, column), name)


def labels(example: dict, text: str = "text") -> tuple[tuple[str, str], ...]:
    """The other columns of an example that hold words or whole numbers."""
    simple = {name: value for name, value in example.items() if isinstance(value, str | int)}
    return tuple((name, str(value)) for name, value in simple.items() if name != text)


def treebank_rows(example: dict) -> Iterator[TreebankRow]:
    """The rows of one tree in either form that the hub's treebanks have.

    Newer ones keep contractions apart, as `mwt: [{id: "8-9", form: "des"}]`. In older ones a
    contraction is a token without a head, before the two words that it contracts.
    """
    heads = example.get("head") or [0] * len(example["tokens"])
    contracted = {}
    for token in example.get("mwt") or ():
        first, _, last = token["id"].partition("-")
        contracted[int(first)] = (int(last), token["form"])
    word = last_part = 0
    for form, head in zip(example["tokens"], heads, strict=True):
        if head in (None, "None"):
            last_part = word + 2
            yield TreebankRow(form, "contracted")
            continue
        word += 1
        if word in contracted:
            last_part, surface = contracted[word]
            yield TreebankRow(surface, "contracted")
        yield TreebankRow(form, "part" if word <= last_part else "word")
