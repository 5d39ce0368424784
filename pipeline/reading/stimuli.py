"""Tables of sentences as people who study reading have them, and the regions they mark.

A sentence may mark its regions by bars, which count as spaces: `Le chien | du voisin | aboie.`
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import pandas as pd
from pyarrow import parquet

from accord.corpora.text import kind, lines, table_rows
from accord.corpora.tokenise import normalise
from accord.pipeline.display.nearest import nearest

BAR = "|"
TABLES = (".csv", ".tsv", ".parquet")
NO_TEXTS = (".json", ".jsonl", ".xls", ".xlsx", ".ods")  # tables too, which would read as lines
SEPARATORS = "\t;,"


def read_table(path: Path, column: str) -> pd.DataFrame:
    """The table of a file, its columns as they are written; a text is a table of its lines."""
    if kind(path) in NO_TEXTS:
        raise ValueError(f"{path}: expected a text, or a name that ends in {', '.join(TABLES)}")
    if kind(path) not in TABLES:
        found = enumerate((line.removeprefix("\ufeff").strip() for line in lines(path)), start=1)
        return pd.DataFrame([each for each in found if each[1]], columns=["line", column])
    if kind(path) == ".parquet":
        return _parquet(path)
    rows = list(table_rows(path, SEPARATORS))
    if faults := [f"{path}, line {line}: {row}" for line, row in rows if isinstance(row, str)]:
        raise ValueError("\n".join(faults))
    if not rows:
        raise ValueError(f"{path}: expected a table with a header and rows, found none")
    return pd.DataFrame([row for _, row in rows])


def _parquet(path: Path) -> pd.DataFrame:
    try:
        table = parquet.read_table(path)
        table.validate(full=True)
        return table.to_pandas()
    except Exception as error:  # which is anything if the file is damaged
        if isinstance(error, OSError) and error.errno is not None:  # the disk, not the content
            raise
        raise ValueError(f"{path}: expected a table in Parquet; {error}") from None


def sentences(table: pd.DataFrame, column: str) -> list[str]:
    """The sentences of a table; every row that has none is named."""
    if column not in table:
        raise ValueError(
            f"expected a column '{column}' of sentences{nearest(column, map(str, table))}"
        )
    found = table[column].tolist()
    empty = [
        str(number)
        for number, text in enumerate(found, start=1)
        if not isinstance(text, str) or not normalise(without_bars(text))
    ]
    if empty:
        raise ValueError(f"expected a sentence in '{column}', found none in row {', '.join(empty)}")
    if not found:
        raise ValueError(f"expected sentences in '{column}', found no row")
    return found


def without_bars(sentence: str) -> str:
    """What is read: as long as the sentence, so that every word stands where it stood."""
    return sentence.replace(BAR, " ")


class Regions:
    """The regions of each sentence: from where, and their names, numbers where none are given.

    `names` has those of each sentence, separated by bars or by spaces: one for each part between
    the sentence's bars or, if it has none, for each word between its spaces.
    """

    def __init__(self, sentences: Sequence[str], names: Sequence[str] | None = None):
        self.starts = [
            list(_parts(sentence, by_space=names is not None and BAR not in sentence))
            for sentence in sentences
        ]
        if names is None:
            self.names = [list(range(1, len(starts) + 1)) for starts in self.starts]
            return
        self.names = [_split(each) for each in names]
        for number, (starts, own) in enumerate(zip(self.starts, self.names, strict=True), start=1):
            if len(starts) != len(own):
                raise ValueError(
                    f"row {number}: expected {len(starts)} names of regions, as the sentence has "
                    f"parts; got {len(own)}: {', '.join(own)}"
                )

    def of(self, sentence: int, place: int) -> int | str:
        """The region in which a place of a sentence is."""
        starts = self.starts[sentence]
        return self.names[sentence][max(sum(start <= place for start in starts) - 1, 0)]


def _parts(sentence: str, by_space: bool) -> Iterator[int]:
    """Where each part begins that holds more than spaces."""
    borders = [n for n, c in enumerate(sentence) if (c.isspace() if by_space else c == BAR)]
    for before, after in pairwise([-1, *borders, len(sentence)]):
        if sentence[before + 1 : after].strip():
            yield before + 1


def _split(names: str) -> list[str]:
    parts = names.split(BAR) if BAR in names else names.split()
    return [part.strip() for part in parts if part.strip()]
