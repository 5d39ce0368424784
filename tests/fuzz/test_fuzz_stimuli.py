"""Damaged tables of sentences: the cells that the file has and finite figures, or the line."""

import csv
import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from fuzz_cases import CASES, damaged, fuzz, outcome
from hypothesis import strategies as st

import accord
from accord.pipeline.ask.surprisal import surprisal
from accord.pipeline.base.tables import read_table

ROWS = [
    ("1", "Le chien | du voisin | aboie.", "a b c"),
    ("2", "Oui, l'été…", "d e"),
    ("3", '« Non » ; "rien"', "f g h i j"),
]


def written(ending: str, rows: list[tuple[str, ...]], names: tuple[str, ...]) -> bytes:
    table = pd.DataFrame(rows, columns=names)
    if ending == ".parquet":
        return table.to_parquet()
    if ending == ".txt":
        return "\n".join(table["sentence"]).encode()
    text = io.StringIO(newline="")
    csv.writer(text, delimiter="\t" if ending == ".tsv" else ",").writerows([names, *rows])
    return text.getvalue().encode()


NAMES = ("item", "sentence", "regions")
SOUND = {ending: written(ending, ROWS, NAMES) for ending in (".csv", ".tsv", ".txt", ".parquet")}


def read(path: Path) -> pd.DataFrame:
    return read_table(path, "sentence")


def decoded(data: bytes) -> list[str]:
    """As UTF-8, or in the older encodings that a table may be read in, which is said."""
    try:
        return [data.decode("utf-8")]
    except UnicodeDecodeError:
        return [data.decode(encoding, "replace") for encoding in ("cp1252", "mac_roman")]


@pytest.mark.parametrize("ending", SOUND)
@CASES
def test_damaged_tables(cases, ending, tmp_path):
    """Every cell of a text stands there, but for quotes, which guard what they enclose."""

    def check(data: bytes) -> None:
        table = outcome(read, tmp_path / f"items{ending}", data)
        if table is None or ending == ".parquet":
            return
        cells = table.drop(columns="line") if ending == ".txt" else table
        cells = [cell.replace('"', "") for cell in cells.to_numpy().ravel()]
        texts = [text.replace('"', "") for text in decoded(data)]
        assert any(all(cell in text for cell in cells) for text in texts)

    fuzz(cases, damaged([SOUND[ending]]), check)


CELL = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)


@pytest.mark.parametrize("ending", [".csv", ".tsv"])
@CASES
def test_any_table_is_read_as_it_was_written(cases, ending, tmp_path):
    path = tmp_path / f"items{ending}"

    def check(rows: list[tuple[str, str]]) -> None:
        numbered = [(str(number), *row) for number, row in enumerate(rows)]
        path.write_bytes(written(ending, numbered, NAMES))
        assert read(path).to_numpy().tolist() == [list(row) for row in numbered]

    fuzz(cases, st.lists(st.tuples(CELL, CELL), min_size=1, max_size=4), check)


@CASES
def test_what_is_measured_is_finite(cases, tiny_run, tmp_path):
    """Of any sentences that a damaged table has, and of regions that may no longer fit."""
    scorer = accord.load(tiny_run.folder, "ll-rnn")
    measured = 0

    def check(data: bytes) -> None:
        nonlocal measured
        table = outcome(read, tmp_path / "items.csv", data)
        if table is None:
            return
        try:
            words = surprisal(table, scorer, regions="regions", expect=["Number"])
        except ValueError as error:
            assert not isinstance(error, UnicodeError), "an error that names no row"
            return
        measured += 1
        figures = words[["surprisal", "rank", "entropy", "entropy_reduction", "p_Number_Plur"]]
        assert np.isfinite(figures.to_numpy(float)).all()
        assert (words["surprisal"] >= 0).all()

    fuzz(cases // 5, damaged([SOUND[".csv"]]), check)
    assert measured, "some damage changes words alone"
