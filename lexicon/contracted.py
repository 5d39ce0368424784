"""The contracted rows of a treebank (`du`, beside `de` and `le`), which it gives no analysis.

Their part of speech is written `_`; the LL-RNN paper counts it as one more tag, without a name.
"""

from collections.abc import Iterator
from pathlib import Path

from lexicon.reading import Report, Row, amount, columns, lines, rows
from lexicon.text import TextLexicon

NO_UPOS = "_"


def read(path: Path, report: Report) -> Iterator[Row]:
    """Of a table `form lemma upos feats count` the rows alone that have no part of speech."""

    def parse(line: str) -> list[Row]:
        form, _, upos, _, count = columns(line, 5)
        return [Row(form, "", NO_UPOS, "", amount(count))] if upos == NO_UPOS else []

    return rows(lines(path, report, cut_short=True), report, parse)


gsd = TextLexicon(
    "gsd-contracted",
    "CC BY-SA 4.0",
    source="gsd-lexicon",
    file="lexiqueFR-GSD.tsv",
    read=read,
    version=1,
    of_text=True,
)
