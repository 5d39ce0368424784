"""Files written by chunks are those that would be written at once."""

import json
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.pipeline.base.arrow import ArrayFile, Spool


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.bool_])
@given(chunks=st.lists(st.lists(st.integers(0, 1), max_size=20), max_size=5))
def test_an_array_by_chunks_is_the_bytes_of_the_whole(dtype, chunks):
    with tempfile.TemporaryDirectory() as folder:
        grown, saved = Path(folder) / "grown.npy", Path(folder) / "saved.npy"
        with ArrayFile(grown, dtype) as file:
            for chunk in chunks:
                file.append(np.array(chunk, dtype))
        np.save(saved, np.array([value for chunk in chunks for value in chunk], dtype))
        assert grown.read_bytes() == saved.read_bytes()


def test_a_spool_keeps_one_row_of_a_key_and_gives_them_back_in_any_order(tmp_path):
    with Spool(tmp_path / "spool") as spool:
        for word in ("un", "deux", "un", "trois"):
            spool.add(json.dumps({"word": word}), key=word.encode())
        for _ in range(2):
            spool.add('{"word": "sans"}')
        assert len(spool) == 5
        found = [row["word"] for row in spool.rows([4, 2, 0, 1, 3])]
        assert found == ["sans", "trois", "un", "deux", "sans"]
    assert not list(tmp_path.iterdir()), "nothing is left behind"
