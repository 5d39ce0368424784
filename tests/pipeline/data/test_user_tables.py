"""Tables as people have them: Excel, files of older programs, rows without a sentence."""

import pandas as pd
import pytest

from accord.pipeline.base.tables import TABLES, read_table, table_writer, write_table

STIMULI = pd.DataFrame(
    {
        "item": [1, 2],
        "sentence": ["L'été est fini.", "La forêt brûle, hélas."],
        "good": [True, False],
    }
)


@pytest.mark.parametrize("ending", TABLES)
def test_a_table_that_is_written_is_read_again(tmp_path, ending):
    path = tmp_path / f"stimuli{ending}"
    write_table(STIMULI, path)
    read = read_table(path, "sentence")
    assert read["sentence"].tolist() == STIMULI["sentence"].tolist()
    assert read["item"].astype(int).tolist() == [1, 2]
    assert read["good"].astype(str).str.upper().tolist() == ["TRUE", "FALSE"]


@pytest.mark.parametrize("ending", TABLES)
def test_a_table_in_pieces_is_the_table_at_once(tmp_path, ending):
    whole, pieces = tmp_path / f"whole{ending}", tmp_path / f"pieces{ending}"
    write_table(STIMULI, whole)
    with table_writer(pieces) as write:
        for start in range(len(STIMULI)):
            write(STIMULI[start : start + 1])
    assert read_table(pieces, "sentence").equals(read_table(whole, "sentence"))


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".txt"])
@pytest.mark.parametrize(
    ("encoding", "name"), [("cp1252", "Windows-1252"), ("mac_roman", "Mac Roman")]
)
@pytest.mark.parametrize(
    "sentence", ["L'été est fini.", "Où ça ? À l'hôtel, dit « Zoé ».", "Émile dort…", "L’ami dort."]
)
def test_a_file_of_an_older_program_is_recognised_and_it_is_said(
    tmp_path, capsys, ending, encoding, name, sentence
):
    path = tmp_path / f"old{ending}"
    rows = [sentence] if ending == ".txt" else ["sentence", f'"{sentence}"']
    path.write_bytes("\n".join(rows).encode(encoding))
    assert read_table(path, "sentence")["sentence"][0] == sentence
    assert f"is not UTF-8: it is read as {name}" in capsys.readouterr().err


CARRIAGE_RETURNS = "sentence\rL'été est fini.\rZoé dort.\r".encode("mac_roman")


@pytest.mark.parametrize(
    ("name", "data", "fault"),
    [
        ("items.txt", b"\x81 abc", "expected UTF-8, found byte 0x81"),
        ("bytes.csv", b"sentence\nl'\xe9t\xe9 \x81\n", "expected UTF-8, found byte 0xe9"),
        ("a.csv", "sentence\nElle dort.\n".encode("utf-16"), r"a\.csv: .*UTF-8, found UTF-16"),
        ("a.xlsx", b"PK\x03\x04 no workbook", "expected a workbook of Excel"),
        *((f"mac{end}", CARRIAGE_RETURNS, "found carriage returns") for end in (".csv", ".txt")),
    ],
)
def test_what_cannot_be_read_as_a_table_is_refused_by_its_name(tmp_path, name, data, fault):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ValueError, match=fault):
        read_table(tmp_path / name, "sentence")
