"""Compression is found in the messages of an Arrow file, and no damaged file leads outside it."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.pipeline.model.table_checks import ArrowFile

TABLE = pa.table(
    {
        "number": range(100),
        "text": pa.array(["le", "la"] * 50).dictionary_encode(),
        "list": [[number] * 3 for number in range(100)],
    }
)


def written(table: pa.Table, compression: str | None = None, batch: int = 30) -> bytes:
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_file(sink, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=batch)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize("columns", [["number"], ["text"], ["list"], ["number", "text", "list"]])
@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
def test_compression_is_found_in_every_kind_of_batch(columns, compression):
    content = written(TABLE.select(columns), compression)
    assert ArrowFile(content).is_compressed() == (compression is not None)


def test_a_file_without_rows_has_nothing_to_compress():
    assert not ArrowFile(written(TABLE[:0])).is_compressed()


@given(st.data())
def test_whatever_the_bytes_are_it_is_an_answer_or_a_value_error(data):
    content = bytearray(written(TABLE))
    for place in data.draw(st.lists(st.integers(0, len(content) - 1), max_size=5)):
        content[place] = data.draw(st.integers(0, 255))
    content = (
        content[: data.draw(st.integers(0, len(content)))] if data.draw(st.booleans()) else content
    )
    try:
        ArrowFile(bytes(content)).is_compressed()
    except ValueError as error:
        assert str(error).startswith("expected")
