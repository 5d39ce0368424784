"""Lexicons of a user's own: a table, and a tagged text with the analyses and counts of its words.

A table is TSV or CSV whose header names form, lemma, upos and feats, maybe count. A tagged text is
a treebank, or a text that spaCy's French model tags in context. A treebank is either a CoNLL-U
file, or a table of form, lemma, UPOS, feats and count without a header, as in the paper. A lexicon
made of the training text knows which words it holds; see the guesser.
"""

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, partial, wraps
from importlib.util import find_spec
from pathlib import Path

from accord.lexicon.analysis import UPOS, LexiconError, join_feats
from accord.lexicon.index import (
    BadRow,
    LeftOut,
    LexiconRow,
    Report,
    TextLexicon,
    amount,
    columns,
    header,
    line_by_line,
    lines,
    rows,
)

REQUIRED = ("form", "lemma", "upos", "feats")
FEATURE = re.compile(r"[^\s=|]+=[^\s=|]+")


def read_table(path: Path, report: Report) -> Iterator[LexiconRow]:
    """Read a table with a header."""
    numbered = lines(path, report)
    split = csv_cells if path.suffix == ".csv" else partial(str.split, sep="\t")
    names = header(path, numbered, REQUIRED, split)
    seen: dict[tuple[str, ...], int] = {}

    def parse(line: str) -> list[LexiconRow]:
        cells = split(line)
        if len(cells) != len(names):
            raise BadRow(f"{len(names)} columns expected, {len(cells)} found")
        row = analysis_row(dict(zip(names, cells, strict=True)))
        if row[:4] in seen:
            raise BadRow(f"the same as line {seen[row[:4]]}")
        seen[row[:4]] = report.line
        return [row]

    return rows(numbered, report, parse)


def csv_cells(line: str) -> list[str]:
    """Return the cells of a line; none if its quotes do not close, or a cell is too long."""
    try:
        return next(csv.reader([line], strict=True))
    except csv.Error:
        return []


def analysis_row(cells: dict[str, str]) -> LexiconRow:
    """Return the row of one line in UD's terms; `_` is UD's sign for nothing."""
    form, lemma, upos, feats = (cells[name].strip() for name in REQUIRED)
    if not form:
        raise BadRow("no form")
    if "\t" in form + lemma:  # which a quoted cell may hold
        raise BadRow("a tab within a word")
    if upos not in UPOS:
        raise BadRow(f"unknown upos {upos!r}")
    feats = "" if feats == "_" else feats
    if feats and not all(FEATURE.fullmatch(pair) for pair in feats.split("|")):
        raise BadRow(f"feats are Name=Value|Name=Value, not {feats!r}")
    if twice := repeated(feats):
        raise BadRow(f"a feature that stands twice: expected {twice}")
    lemma = "" if lemma == "_" and form != "_" else lemma
    count = amount(cells.get("count") or "1")
    return LexiconRow(form, lemma, upos, join_feats(feats), count)


@cache
def repeated(feats: str) -> str | None:
    """Return the right way to write the first feature that stands twice: `Gender=Fem,Masc`."""
    values: dict[str, list[str]] = {}
    for pair in feats.split("|"):
        name, _, value = pair.partition("=")
        values.setdefault(name, []).append(value)
    twice = (name for name in values if len(values[name]) > 1)
    return next((f"{name}={','.join(sorted({*values[name]}))}" for name in twice), None)


def user_table(path: Path) -> TextLexicon:
    """Return the lexicon of a table."""
    return TextLexicon(path.stem, "the user's own", None, str(path), read_table, version=1)


# The words of the corpus `tiny`, and further forms of their lemmas.
TINY = str(Path(__file__).with_name("tiny.tsv"))
tiny = TextLexicon("tiny", "MIT", source=None, file=TINY, read=read_table, version=1)


# Releases before UD 2 have CONJ; the other tags are the coarse ones of the French Treebank, which
# taggers of French may leave in their output.
TAG = {upos: upos for upos in UPOS} | {"CONJ": "CCONJ", "A": "ADJ", "CL": "PRON", "D": "DET"}
TAG |= {"N": "NOUN", "P": "ADP", "PONCT": "PUNCT", "PRO": "PRON", "V": "VERB"}
NUMBER = r"[1-9][0-9]{0,8}"
PLACE = re.compile(rf"{NUMBER}(-{NUMBER})?|[0-9]{{1,9}}\.{NUMBER}")  # 8, 8-9, 8.1
# Marks of syntax and of spelling that UD keeps among the features of a word.
NOT_MORPHOLOGY = ("ExtPos=", "Typo=")


def read_conllu(path: Path, report: Report) -> Iterator[LexiconRow]:
    """Read each word with its analysis; a contracted word (`8-9 du`) has those of its parts."""
    contracted, last = "", 0

    def parse(line: str) -> list[LexiconRow]:
        nonlocal contracted, last
        if not line or line.startswith("#"):
            last = 0
            return []
        place, form, lemma, tag, _, feats, *_ = columns(line, 10)
        if not PLACE.fullmatch(place) or not form.strip():
            raise BadRow("expected an id such as 8, 8-9 or 8.1, and a form")
        if "-" in place:
            contracted, last = form.strip(), int(place.split("-")[1])
            return []
        if "." in place:
            return []  # an empty node: no word of the text
        pairs = (pair for pair in feats.split("|") if not pair.startswith(NOT_MORPHOLOGY))
        cells = {"form": form, "lemma": lemma, "upos": TAG.get(tag, tag), "feats": "|".join(pairs)}
        row = analysis_row(cells)
        return [row, row._replace(form=contracted)] if int(place) <= last else [row]

    for row, count in Counter(rows(lines(path, report), report, parse)).items():
        yield row._replace(count=count)


@line_by_line
def read_counts(line: str) -> list[LexiconRow]:
    """Read a table `form lemma upos feats count`, in which contracted forms have no analysis."""
    cells = dict(zip((*REQUIRED, "count"), columns(line, 5), strict=True))
    if cells["upos"] == "_":
        raise LeftOut("a contracted form without an analysis")
    return [analysis_row(cells | {"upos": TAG.get(cells["upos"], cells["upos"])})]


def treebank(path: Path) -> TextLexicon:
    """Return the lexicon of a CoNLL-U file, or of a table of counts."""
    read = read_conllu if path.suffix == ".conllu" else read_counts
    return TextLexicon(path.stem, "the treebank's", None, str(path), read, version=1, of_text=True)


# The contracted rows of a treebank (`du`, beside `de` and `le`) have no analysis. Their part of
# speech is written so; the LL-RNN paper counts it as one more tag, without a name.
NO_UPOS = "_"


@line_by_line
def read_contracted(line: str) -> list[LexiconRow]:
    """Read the rows of a table `form lemma upos feats count` that have no part of speech."""
    form, _, upos, _, count = columns(line, 5)
    return [LexiconRow(form, "", NO_UPOS, "", amount(count))] if upos == NO_UPOS else []


GSD = "CC BY-SA 4.0", "gsd-lexicon", "lexiqueFR-GSD.tsv"
gsd = TextLexicon("gsd-lexicon", *GSD, read_counts, version=1, of_text=True)
gsd_contracted = TextLexicon("gsd-contracted", *GSD, read_contracted, version=1, of_text=True)


SPACY_MODEL = "fr_core_news_sm"
MODEL_NAME = re.compile(r"[a-z]{2}_\w+")  # fr_core_news_md; a path begins otherwise, as C:\\ does


def tagged(sentences: Iterable[Sequence[str]], model: str = SPACY_MODEL) -> Iterator[LexiconRow]:
    """Yield every analysis that the words of the sentences get in context, with its count.

    The words stay as they are: the model tags them and does not tokenise them again.
    """
    try:
        import spacy

        tagger = spacy.load(model, exclude=["parser", "ner"])  # names, dependencies: not needed
    except (ImportError, OSError) as error:
        how = "pip install 'accord-lm[tagger]'" if model == SPACY_MODEL else f"install {model}"
        raise LexiconError(f"the lexicon spacy needs spaCy's {model}: {how}") from error
    from spacy.tokens import Doc

    texts = (Doc(tagger.vocab, words=list(words)) for words in sentences)
    counts: Counter[tuple[str, str, str, str]] = Counter()
    for doc in tagger.pipe(texts, batch_size=256):
        counts.update((word.text, word.lemma_, word.pos_, str(word.morph)) for word in doc)
    for (form, lemma, upos, feats), count in counts.items():
        if upos != "SPACE":
            yield LexiconRow(form, lemma, upos, feats, count)


def read_tagged(path: Path, report: Report, model: str = SPACY_MODEL) -> Iterator[LexiconRow]:
    """Tag a text of one sentence per line, its words separated by spaces."""
    return tagged((line.split() for _, line in lines(path, report) if line.strip()), model)


def about_spacy_model(model: str = SPACY_MODEL) -> tuple[Path, ...]:
    """Return the file that states the model's version; none where it is not installed."""
    spec = find_spec(model)
    return (Path(spec.origin).with_name("meta.json"),) if spec and spec.origin else ()


def spacy_text(path: Path) -> TextLexicon:
    """Return the lexicon of `spacy:TEXT`, or of `spacy:MODEL:TEXT` with an installed model."""
    model, colon, text = str(path).partition(":")
    if not colon or not MODEL_NAME.fullmatch(model):
        model, text = SPACY_MODEL, str(path)
        if MODEL_NAME.fullmatch(text) and not path.exists():
            raise LexiconError(
                f"spacy:{text} names a model and no text. spaCy tags words in context: write "
                f"spacy:{text}:FILE.txt, with a text of one sentence per line, such as the "
                f"training text"
            )

    @wraps(read_tagged)  # so that the cache knows the reader by its name, and the model by its file
    def read(path: Path, report: Report) -> Iterator[LexiconRow]:
        return read_tagged(path, report, model)

    settings = {"version": 1, "of_text": True, "read_by": about_spacy_model(model)}
    return TextLexicon("spacy", "LGPL-LR (the model)", None, text, read, **settings)
