"""OrangeSum: articles of French news in JSON lines, as sentences.

Of each article its heading (a lead of one to three sentences) and its text are read. What ends in
no stop is left out: titles, headings within the text, captions of films, lists.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from corpora.json_line import parse_line
from corpora.segment import segment
from corpora.sentence import Sentence
from corpora.text import CorpusError, lines

PARTS = ("heading", "article")
# From the first word on: a search would try each letter of what ends in no stop.
COMPLETE = re.compile(r"""\W*\w.*[.!?…][\s»”"')\]]*\Z""", re.DOTALL)
# The initials of those who wrote it, at the end of an agency's dispatch: `burs-kd-ot/ber/roc`.
SIGNATURE = re.compile(r"""(?<=[.!?"»)])\s?[a-z]{1,5}(?:-[a-z]{1,5})*(?:/[a-z]{1,5})+\s*\Z""")


def read(path: Path, split: str | None = None) -> Iterator[Sentence]:
    """The sentences in the order of the file, named by article and position in it."""
    for number, line in enumerate(lines(path), start=1):
        article = parse(path, number, line)
        texts = (SIGNATURE.sub("", article[part]) for part in PARTS)
        sentences = (sentence for text in texts for sentence in segment(text))
        for position, sentence in enumerate(sentences, start=1):
            if COMPLETE.match(sentence):
                yield Sentence(f"{article['id']}.{position}", sentence, split=split)


def parse(path: Path, number: int, line: str) -> dict:
    """The article of a line, with all that is read of it."""
    place = f"{path}, line {number}"
    try:
        article = parse_line(line)
    except ValueError as error:
        raise CorpusError(f"{place}: expected an article in JSON, but {error}") from None
    if not isinstance(article, dict):
        raise CorpusError(f"{place}: expected an article in JSON, found {line[:60]!r}")
    for key, kind in {"id": int, **dict.fromkeys(PARTS, str)}.items():
        if type(article.get(key)) is not kind:
            found = repr(article[key])[:60] if key in article else "none"
            raise CorpusError(f"{place}: expected {key!r} to be {kind.__name__}, found {found}")
    return article
