"""Tables as files: by the name's ending, and harmless in a spreadsheet if that is asked for."""

import pandas as pd
import pytest

from accord.pipeline.base.tables import write_table

TABLE = pd.DataFrame(
    {"word": ["=1+1", "@SUM(A1)", "+1", "-là", "chat"], "=bits": [-1.5, 2, 3, 4, 5]}
)
READERS = {".csv": pd.read_csv, ".tsv": lambda path: pd.read_csv(path, sep="\t")}
READERS[".parquet"] = pd.read_parquet


@pytest.mark.parametrize("ending", READERS)
def test_a_table_is_read_as_it_was(tmp_path, ending):
    path = tmp_path / f"table{ending}"
    write_table(TABLE, path)
    pd.testing.assert_frame_equal(READERS[ending](path), TABLE, check_dtype=False)


@pytest.mark.parametrize("ending", [".csv", ".tsv"])
def test_no_text_is_computed_by_a_spreadsheet(tmp_path, ending):
    path = tmp_path / f"table{ending}"
    write_table(TABLE, path, spreadsheet=True)
    found = READERS[ending](path)
    assert found["word"].tolist() == ["'=1+1", "'@SUM(A1)", "'+1", "'-là", "chat"]
    assert found["'=bits"].tolist() == [-1.5, 2, 3, 4, 5]  # numbers stay numbers
