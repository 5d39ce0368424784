"""Formats of single corpora: labelled tables and JSON lines, the French Wiktionary, OrangeSum."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from accord.corpora.segment import segment
from accord.corpora.sentence import Sentence, Unwanted
from accord.corpora.text import CorpusError, lines, parse_line

# The text is in this column; every other column is a label (topic, genre, source) by its name, and
# one that is empty is none. The column `document`, where there is one, also names the document.
TEXT, DOCUMENT = "text", "document"


def read_tsv(path: Path, split: str | None = None) -> Iterator[Sentence]:
    """One sentence for every line after the header. Tabs separate columns; there are no quotes."""
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
    document = row.get(DOCUMENT) or None
    return Sentence(f"{path.name}:{number}", text, None, split, labels, document)


# "Relatif à l'Allemagne", "Relatif à Paris": thousands of lines of one pattern and a proper name.
UNWANTED_OPENING = "Relatif à"
FEWEST_WORDS = 10
# What the export of the wiki left in some definitions: images (`vignette|120px|Armoiries`), links,
# templates, formulas in TeX, tags, entities, addresses, categories, and signs of lists.
MARKUP = re.compile(
    r"[|{}\\]|\[\[|\]\]|''|<[!/A-Za-z]|&#?\w+;|//\w|www\.|\bthumb\b"
    r"|(?:Catégorie|Fichier|File|Image):|\A[#*:;]"
)


def read_wiktionnaire(path: Path, split: str | None = None) -> Iterator[Sentence | Unwanted]:
    """Definitions of the French Wiktionary, from lines `headword<TAB>gloss | gloss | …`.

    Only definitions that are worth learning from are kept, each text once, in the order of the
    file.
    """
    seen = set()
    for number, line in enumerate(lines(path), start=1):
        headword, tab, glosses = line.rstrip("\r\n").partition("\t")
        if not tab or not headword or "\t" in glosses:
            raise CorpusError(f"{path}, line {number}: expected headword, tab, glosses: {line!r}")
        if headword != headword.lower():  # a name, or a form of one
            continue
        for position, gloss in enumerate(glosses.split(" | "), start=1):
            text = gloss.strip()
            if reason := _why_unwanted(text):
                yield Unwanted(reason)
            elif text in seen:
                yield Unwanted("repeated")
            else:
                seen.add(text)
                name = f"{headword}:{number}.{position}"
                yield Sentence(name, text, split=split, document=headword)


def _why_unwanted(gloss: str) -> str | None:
    if len(gloss.split()) < FEWEST_WORDS:
        return f"fewer than {FEWEST_WORDS} words"
    if gloss.startswith(UNWANTED_OPENING):
        return f"{UNWANTED_OPENING} …"
    return "wiki markup" if MARKUP.search(gloss) else None


ARTICLE_PARTS = ("heading", "article")
OF_ARTICLE: Mapping[str, type] = {"id": int, **dict.fromkeys(ARTICLE_PARTS, str)}
# From the first word on: a search would try each letter of what ends in no stop.
COMPLETE = re.compile(r"""\W*\w.*[.!?…][\s»”"')\]]*\Z""", re.DOTALL)
# The initials of those who wrote it, at the end of an agency's dispatch: `burs-kd-ot/ber/roc`.
SIGNATURE = re.compile(r"""(?<=[.!?"»)])\s?[a-z]{1,5}(?:-[a-z]{1,5})*(?:/[a-z]{1,5})+\s*\Z""")


def read_orangesum(path: Path, split: str | None = None) -> Iterator[Sentence | Unwanted]:
    """Articles of French news in JSON lines, as sentences named by article and position in it.

    Of each article its heading (a lead of one to three sentences) and its text are read. Paragraphs
    without a final stop are left out: titles, headings, captions of films, lists.
    """
    for number, line in enumerate(lines(path), start=1):
        article = parse_document(path, number, line, OF_ARTICLE)
        texts = (SIGNATURE.sub("", article[part]) for part in ARTICLE_PARTS)
        sentences = (sentence for text in texts for sentence in segment(text))
        for position, sentence in enumerate(sentences, start=1):
            if COMPLETE.match(sentence):
                name = str(article["id"])
                yield Sentence(f"{name}.{position}", sentence, split=split, document=name)
            else:
                yield Unwanted("no stop at its end")


# A sentence before direct speech ends in a colon.
BEFORE_SPEECH = re.compile(r"\W*\w.*:\Z", re.DOTALL)
DASHES = re.compile(r"\A(?:--|–)(?=\s)")  # before speech, as some novels have them


def read_paragraphs(path: Path, split: str | None = None) -> Iterator[Sentence | Unwanted]:
    """Novels or sheets in JSON lines: `id`, and in `text` paragraphs, one a line.

    Sentences are named by their document and their position in it. Paragraphs without a final stop
    are left out: titles, items of lists.
    """
    for number, line in enumerate(lines(path), start=1):
        found = parse_document(path, number, line, {"id": str, "text": str})
        name, paragraphs = found["id"], found["text"].split("\n")
        sentences = (each for paragraph in paragraphs for each in segment(paragraph))
        for position, sentence in enumerate(sentences, start=1):
            if COMPLETE.match(sentence) or BEFORE_SPEECH.match(sentence):
                text = DASHES.sub("—", sentence)
                yield Sentence(f"{name}.{position}", text, split=split, document=name)
            else:
                yield Unwanted("no stop at its end")


def parse_document(path: Path, number: int, line: str, keys: Mapping[str, type]) -> dict:
    """The document of a line, with the keys that the reader needs."""
    place = f"{path}, line {number}"
    try:
        document = parse_line(line)
    except ValueError as error:
        raise CorpusError(f"{place}: expected a document in JSON, but {error}") from None
    if not isinstance(document, dict):
        raise CorpusError(f"{place}: expected a document in JSON, found {line[:60]!r}")
    for key, kind in keys.items():
        if type(document.get(key)) is not kind:
            found = repr(document[key])[:60] if key in document else "none"
            raise CorpusError(f"{place}: expected {key!r} to be {kind.__name__}, found {found}")
    return document
