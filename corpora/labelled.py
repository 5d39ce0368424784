"""Sentences with labels: tab-separated tables with a header, and JSON lines.

The text is in the column `text`; every other column is a label (topic, genre, source) by its name,
and one that is empty is none.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from corpora.json_line import parse_line
from corpora.sentence import Sentence
from corpora.text import CorpusError, lines

TEXT = "text"


def read_tsv(path: Path, split: str | None = None) -> Iterator[Sentence]:
    """One sentence for every line after the header; nothing is quoted, a tab parts columns."""
    names: list[str] = []
    for number, line in enumerate(lines(path), start=1):
        cells = [cell.strip() for cell in line.removeprefix("\ufeff").rstrip("\r\n").split("\t")]
        place = f"{path}, line {number}"
        if not names:
            names = cells
            if TEXT not in names or len({*names}) < len(names):
                raise CorpusError(
                    f"{place}: expected a header of columns that differ, one of them '{TEXT}'; "
                    f"found {', '.join(names)}"
                )
            continue
        if len(cells) != len(names):
            raise CorpusError(f"{place}: expected {len(names)} columns, found {len(cells)}")
        yield _sentence(dict(zip(names, cells, strict=True)), path, number, split)


def read_jsonl(path: Path, split: str | None = None) -> Iterator[Sentence]:
    """One sentence for every line, an object with `text`; lists and objects in it are no labels."""
    for number, line in enumerate(lines(path), start=1):
        place = f"{path}, line {number}"
        try:
            found = parse_line(line)
        except ValueError as error:
            raise CorpusError(f"{place}: expected an object in JSON, but {error}") from None
        if not isinstance(found, dict) or not isinstance(found.get(TEXT), str):
            raise CorpusError(
                f"{place}: expected an object with a string '{TEXT}', found {line[:60]!r}"
            )
        simple = {k: str(v).strip() for k, v in found.items() if isinstance(v, str | int | float)}
        yield _sentence(simple, path, number, split)


def _sentence(row: Mapping[str, str], path: Path, number: int, split: str | None) -> Sentence:
    text = row[TEXT].strip()
    if not text:
        raise CorpusError(f"{path}, line {number}: expected a sentence in '{TEXT}', found none")
    labels = tuple((name, value) for name, value in row.items() if name != TEXT and value)
    return Sentence(f"{path.name}:{number}", text, None, split, labels)
