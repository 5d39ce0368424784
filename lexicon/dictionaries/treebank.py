"""A tagged text as a lexicon: the analyses of its words, each with its count.

The text is a treebank, or one that spaCy's French model tags in context. A treebank is either a
CoNLL-U file, or a table of form, lemma, UPOS, feats and count without a header, as in the paper. A
lexicon made of the training text knows which words it holds; see the guesser.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import wraps
from importlib.util import find_spec
from pathlib import Path

from accord.lexicon.analysis import UPOS
from accord.lexicon.dictionaries.table import REQUIRED, analysis_row
from accord.lexicon.index import TextLexicon
from accord.lexicon.reading import (
    BadRow,
    LeftOut,
    LexiconError,
    LexiconRow,
    Report,
    amount,
    columns,
    lines,
    rows,
)

# Releases before UD 2 have CONJ; the other tags are the coarse ones of the French Treebank, which
# taggers of French may leave in their output.
TAG = {upos: upos for upos in UPOS} | {
    "CONJ": "CCONJ",
    "A": "ADJ",
    "CL": "PRON",
    "D": "DET",
    "N": "NOUN",
    "P": "ADP",
    "PONCT": "PUNCT",
    "PRO": "PRON",
    "V": "VERB",
}
NUMBER = r"[1-9][0-9]{0,8}"
PLACE = re.compile(rf"{NUMBER}(-{NUMBER})?|[0-9]{{1,9}}\.{NUMBER}")  # 8, 8-9, 8.1
# Marks of syntax and of spelling that UD keeps among the features of a word.
NOT_MORPHOLOGY = ("ExtPos=", "Typo=")


def morphology(feats: str) -> str:
    return "|".join(pair for pair in feats.split("|") if not pair.startswith(NOT_MORPHOLOGY))


def read_conllu(path: Path, report: Report) -> Iterator[LexiconRow]:
    """Each word with its analysis; a contracted word (`8-9 du`) with those of its parts."""
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
        named = {"form": form, "lemma": lemma, "upos": TAG.get(tag, tag)}
        row = analysis_row(named | {"feats": morphology(feats)})
        return [row, row._replace(form=contracted)] if int(place) <= last else [row]

    for row, count in Counter(rows(lines(path, report), report, parse)).items():
        yield row._replace(count=count)


def read_counts(path: Path, report: Report) -> Iterator[LexiconRow]:
    """A table `form lemma upos feats count`, in which contracted forms have no analysis."""

    def parse(line: str) -> list[LexiconRow]:
        named = dict(zip((*REQUIRED, "count"), columns(line, 5), strict=True))
        if named["upos"] == "_":
            raise LeftOut("a contracted form without an analysis")
        return [analysis_row(named | {"upos": TAG.get(named["upos"], named["upos"])})]

    return rows(lines(path, report, cut_short=True), report, parse)


def treebank(path: Path) -> TextLexicon:
    """The lexicon of a CoNLL-U file, or of a table of counts."""
    read = read_conllu if path.suffix == ".conllu" else read_counts
    return TextLexicon(
        path.stem, "the treebank's", source=None, file=str(path), read=read, version=1, of_text=True
    )


gsd = TextLexicon(
    "gsd-lexicon",
    "CC BY-SA 4.0",
    source="gsd-lexicon",
    file="lexiqueFR-GSD.tsv",
    read=read_counts,
    version=1,
    of_text=True,
)


# The contracted rows of a treebank (`du`, beside `de` and `le`) have no analysis. Their part of
# speech is written so; the LL-RNN paper counts it as one more tag, without a name.
NO_UPOS = "_"


def read_contracted(path: Path, report: Report) -> Iterator[LexiconRow]:
    """The rows of a table `form lemma upos feats count` that have no part of speech."""

    def parse(line: str) -> list[LexiconRow]:
        form, _, upos, _, count = columns(line, 5)
        return [LexiconRow(form, "", NO_UPOS, "", amount(count))] if upos == NO_UPOS else []

    return rows(lines(path, report, cut_short=True), report, parse)


gsd_contracted = TextLexicon(
    "gsd-contracted",
    "CC BY-SA 4.0",
    source="gsd-lexicon",
    file="lexiqueFR-GSD.tsv",
    read=read_contracted,
    version=1,
    of_text=True,
)


SPACY_MODEL = "fr_core_news_sm"
MODEL_NAME = re.compile(r"[a-z]{2}_\w+")  # fr_core_news_md; a path begins otherwise, as C:\\ does


def spacy_tagger(model: str):
    try:
        import spacy

        # Names and dependencies are not needed.
        return spacy.load(model, exclude=["parser", "ner"])
    except (ImportError, OSError) as error:
        how = "pip install 'accord-lm[tagger]'" if model == SPACY_MODEL else f"install {model}"
        raise LexiconError(f"the lexicon spacy needs spaCy's {model}: {how}") from error


def tagged(sentences: Iterable[Sequence[str]], model: str = SPACY_MODEL) -> Iterator[LexiconRow]:
    """Every analysis that the words of the sentences get in context, with its count.

    The words stay as they are: the model tags them and does not tokenise them again.
    """
    from spacy.tokens import Doc

    tagger = spacy_tagger(model)
    texts = (Doc(tagger.vocab, words=list(words)) for words in sentences)
    counts: Counter[tuple[str, str, str, str]] = Counter()
    for doc in tagger.pipe(texts, batch_size=256):
        counts.update((word.text, word.lemma_, word.pos_, str(word.morph)) for word in doc)
    for (form, lemma, upos, feats), count in counts.items():
        if upos != "SPACE":
            yield LexiconRow(form, lemma, upos, feats, count)


def read_tagged(path: Path, report: Report, model: str = SPACY_MODEL) -> Iterator[LexiconRow]:
    """A text of one sentence per line, its words separated by spaces."""
    return tagged((line.split() for _, line in lines(path, report) if line.strip()), model)


def about_spacy_model(model: str = SPACY_MODEL) -> tuple[Path, ...]:
    """The file that states the model's version; none where it is not installed."""
    found = find_spec(model)
    return (Path(found.origin).with_name("meta.json"),) if found and found.origin else ()


def spacy_text(path: Path) -> TextLexicon:
    """The lexicon of `spacy:TEXT`, or of `spacy:MODEL:TEXT` with a model that is installed."""
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

    return TextLexicon(
        "spacy",
        "LGPL-LR (the model)",
        source=None,
        file=text,
        read=read,
        version=1,
        of_text=True,
        read_by=about_spacy_model(model),
    )
