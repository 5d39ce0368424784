"""The tables of a model folder: none unpacks to far more than its file, and all can be read.

A Parquet file may hold a long text once for millions of rows, and an Arrow file may be compressed.
pyarrow does not say so until it has unpacked a batch, so that the messages of an Arrow file are
read here. They are FlatBuffers: a table begins with the distance back to a list of its fields'
places, of which each field has a fixed number.
https://arrow.apache.org/docs/format/Columnar.html#ipc-file-format
"""

import struct
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyarrow import compute, parquet

from accord.errors import AccordError
from accord.models.common.arrays import check_stored
from accord.pipeline.model.encoding import FULL_PHI

TYPES = "types.parquet"
MOST_ROWS = 100  # that a byte of a table may stand for, packed as tables are
CODECS = {"UNCOMPRESSED", "SNAPPY"}  # of tables; others pack a thousand bytes into one, or more
MOST_TEXT = 64 << 20  # bytes that the texts of a table may have however small its file is
MOST_PACKED = 100  # bytes of text that one byte of a table may stand for beyond these


def check_tables(folder: Path) -> int:
    """Every table can be read to its end, and Φ is not packed; how many words there are."""
    for path in sorted((*folder.glob("*.parquet"), *folder.glob("*.arrow"))):
        try:
            _table(path).validate(full=True)
        except (pa.ArrowException, OSError) as error:
            raise AccordError(f"{path} cannot be loaded: {error}") from None
    forms = _table(folder / TYPES)["form"]
    if forms.null_count or forms.type.value_type not in (pa.string(), pa.large_string()):
        raise AccordError(f"{folder / TYPES}: expected the form of every word, got none of some")
    if (folder / FULL_PHI).exists():  # a model of subwords has none
        check_stored(folder / FULL_PHI)
    return len(forms)


def _table(path: Path) -> pa.Table:
    """A table that takes little more memory than its file; texts are not written out."""
    if path.suffix == ".parquet":
        return _parquet(path)
    content = pa.memory_map(str(path)).read_buffer()
    if ArrowFile(content).is_compressed():
        raise AccordError(f"{path} is packed: expected columns as they are")
    return pa.ipc.open_file(pa.BufferReader(content)).read_all()


def _parquet(path: Path) -> pa.Table:
    with parquet.ParquetFile(path) as file:
        about, schema, size = file.metadata, file.schema_arrow, path.stat().st_size
    if about.num_rows > MOST_ROWS * size:
        raise AccordError(
            f"{path}: expected at most {MOST_ROWS * size:,} rows in its bytes, "
            f"got {about.num_rows:,}"
        )
    groups = [about.row_group(number).to_dict() for number in range(about.num_row_groups)]
    codecs = {column["compression"] for group in groups for column in group["columns"]}
    if codecs - CODECS or any(pa.types.is_nested(field.type) for field in schema):
        raise AccordError(f"{path}: expected columns of plain values, packed by Snappy or not")
    texts = [field.name for field in schema if _is_text(field.type)]
    table = parquet.read_table(path, read_dictionary=texts)
    most, claimed = MOST_TEXT + MOST_PACKED * size, 0
    for name in texts:  # each holds a text once, however many rows have it
        for chunk in table[name].chunks:
            lengths = compute.binary_length(chunk.dictionary)
            claimed += compute.sum(lengths.take(chunk.indices).cast(pa.int64())).as_py() or 0
    if claimed > most:
        raise AccordError(f"{path}: expected at most {most:,} bytes of text, it claims {claimed:,}")
    return table


def _is_text(kind: pa.DataType) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return any(
        is_kind(kind)
        for is_kind in (
            *(pa.types.is_string, pa.types.is_large_string),
            *(pa.types.is_binary, pa.types.is_large_binary),
        )
    )


MAGIC = b"ARROW1"
DICTIONARIES, BATCHES = 2, 3  # fields of the footer: lists of blocks
BLOCK = struct.Struct("<qi4xq")  # of a message: its place, and the bytes of its head and its body
VERSION, CURRENT = 0, 4  # field of a message; messages of before could hide their compression
HEADER = 2  # field of a message: the batch
KIND, OF_DICTIONARY = 1, 2  # field of a message: what its header is; that of a dictionary
DATA = 1  # field of a dictionary's header: the batch
COMPRESSION = 3  # field of a batch
CONTINUES = 0xFFFFFFFF  # stands before the size of a message


class ArrowFile:
    """The bytes of an Arrow file, read as numbers at places that it has."""

    def __init__(self, content: bytes | memoryview):
        self.content = memoryview(content)

    def is_compressed(self) -> bool:
        """Whether any batch is; ValueError if this is no Arrow file."""
        return any(self._field(batch, COMPRESSION) for batch in self._batches())

    def _batches(self) -> Iterator[int]:
        """The place of every batch, those of dictionaries too."""
        footer = self._footer()
        for field in (DICTIONARIES, BATCHES):
            for place in self._blocks(footer, field):
                head = place + (8 if self._number("<I", place) == CONTINUES else 4)
                message = self._table(head)
                version = self._field(message, VERSION)
                if version is None or self._number("<h", version) != CURRENT:
                    raise AccordError("expected messages of Arrow's format 1.0 or later")
                kind = self._field(message, KIND)
                batch = self._follow(message, HEADER)
                if kind and self._number("<B", kind) == OF_DICTIONARY:
                    batch = self._follow(batch, DATA)
                yield batch

    def _footer(self) -> int:
        end = len(self.content) - len(MAGIC)
        if end < 0 or bytes(self.content[end:]) != MAGIC:
            raise AccordError("expected an Arrow file")
        return self._table(end - 4 - self._number("<i", end - 4))

    def _blocks(self, footer: int, field: int) -> Iterator[int]:
        at = self._field(footer, field)
        if at is None:
            return
        first = at + self._number("<I", at)
        for number in range(self._number("<I", first)):
            yield self._number("<q", first + 4 + number * BLOCK.size)

    def _table(self, root: int) -> int:
        return root + self._number("<I", root)

    def _field(self, table: int, number: int) -> int | None:
        """Where a field of a table stands; nowhere if it has its default."""
        fields = table - self._number("<i", table)
        listed = 4 + 2 * number
        if listed >= self._number("<H", fields):
            return None
        offset = self._number("<H", fields + listed)
        return table + offset if offset else None

    def _follow(self, table: int, number: int) -> int:
        at = self._field(table, number)
        if at is None:
            raise AccordError("expected a batch in every message of an Arrow file")
        return self._table(at)

    def _number(self, kind: str, at: int) -> int:
        if not 0 <= at <= len(self.content) - struct.calcsize(kind):
            raise AccordError("expected an Arrow file whose messages lie in it")
        (number,) = struct.unpack_from(kind, self.content, at)
        return number
