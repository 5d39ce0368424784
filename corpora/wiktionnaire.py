"""French Wiktionary definitions, one sentence each, from `headword<TAB>gloss | gloss | …`."""

from collections.abc import Iterator
from pathlib import Path

from corpora.sentence import Sentence
from corpora.text import CorpusError, lines

# "Relatif à l'Allemagne", "Relatif à Paris": thousands of lines of one pattern and a proper name.
UNWANTED_OPENING = "Relatif à"
FEWEST_WORDS = 10


def read(path: Path, split: str | None = None) -> Iterator[Sentence]:
    """The definitions worth learning from, each text once, in the order of the file."""
    seen = set()
    for number, line in enumerate(lines(path), start=1):
        headword, tab, glosses = line.rstrip("\r\n").partition("\t")
        if not tab or not headword or "\t" in glosses:
            raise CorpusError(f"{path}, line {number}: expected headword, tab, glosses: {line!r}")
        if headword != headword.lower():  # a name, or a form of one
            continue
        for position, gloss in enumerate(glosses.split(" | "), start=1):
            text = gloss.strip()
            if is_wanted(text) and text not in seen:
                seen.add(text)
                yield Sentence(f"{headword}:{number}.{position}", text, split=split)


def is_wanted(text: str) -> bool:
    return not text.startswith(UNWANTED_OPENING) and len(text.split()) >= FEWEST_WORDS
