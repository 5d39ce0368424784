"""A text tagged in context by spaCy's French model, the tags gathered per word."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

from lexicon.reading import LexiconError, Report, Row, lines
from lexicon.text import TextLexicon

MODEL = "fr_core_news_sm"


def model():
    try:
        import spacy

        # Nothing here asks who is named or what depends on what.
        return spacy.load(MODEL, exclude=["parser", "ner"])
    except (ImportError, OSError) as error:
        raise LexiconError(
            f"the lexicon spacy needs spaCy's {MODEL}: pip install 'accord-lm[tagger]'"
        ) from error


def tagged(sentences: Iterable[Sequence[str]]) -> Iterator[Row]:
    """Every analysis that the words of the sentences get in context, with its count.

    The words stay as they came: the model tags them, it does not tokenise them anew.
    """
    from spacy.tokens import Doc

    tagger = model()
    texts = (Doc(tagger.vocab, words=list(words)) for words in sentences)
    counts: Counter[tuple[str, str, str, str]] = Counter()
    for doc in tagger.pipe(texts, batch_size=256):
        counts.update((word.text, word.lemma_, word.pos_, str(word.morph)) for word in doc)
    for (form, lemma, upos, feats), count in counts.items():
        if upos != "SPACE":
            yield Row(form, lemma, upos, feats, count)


def read(path: Path, report: Report) -> Iterator[Row]:
    """A text of one sentence a line, its words parted by spaces."""
    return tagged(line.split() for _, line in lines(path, report) if line.strip())


def about_model() -> tuple[Path, ...]:
    """The file that states the model's version; none where it is not installed."""
    found = find_spec(MODEL)
    return (Path(found.origin).with_name("meta.json"),) if found else ()


def spacy_text(path: Path) -> TextLexicon:
    return TextLexicon(
        "spacy",
        "LGPL-LR (the model)",
        source=None,
        file=str(path),
        read=read,
        version=1,
        of_text=True,
        read_by=about_model(),
    )
