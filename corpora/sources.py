"""From the name a user writes to sentences: a named corpus, a path or a hub data set."""

import difflib
import glob
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from corpora import conllu, hub, text, wiktionnaire
from corpora.named import CORPORA
from corpora.sentence import Sentence
from corpora.text import CorpusError

READERS = {".txt": text.read, ".conllu": conllu.read_sentences}
SPLITS = ("train", "valid", "dev", "test")
Folder = Callable[[str], Path]


def read(source: str, *, folder: Folder | None = None) -> Iterator[Sentence]:
    """The sentences of a source; `folder(name)` says where a named corpus's data lies.

    A source is a name in CORPORA, a file, a pattern (`texts/*.txt`), a folder, or
    `hub:ID[:CONFIG][#COLUMN]`. Files are `.txt` or `.conllu`, compressed or not.
    """
    empty = True
    for sentence in sentences(source, folder):
        empty = False
        yield sentence
    if empty:
        raise CorpusError(f"the corpus {source} is empty: expected at least one sentence")


def files(source: str, *, folder: Folder | None = None) -> list[Path]:
    """The files that reading this source opens; none for a hub data set."""
    if source.startswith(hub.PREFIX):
        return []
    if source in CORPORA:
        home = home_of(source, folder)
        paths = [home / name for name in CORPORA[source].files]
        for path in paths:
            if not path.is_file():
                raise CorpusError(f"{path} is missing: the corpus {source} reads it")
        return paths
    return local_files(source)


def sentences(source: str, folder: Folder | None) -> Iterator[Sentence]:
    if source.startswith(hub.PREFIX):
        yield from hub.read(source)
    elif source == "wiktionnaire":
        for path in files(source, folder=folder):
            yield from wiktionnaire.read(path)
    else:
        paths = files(source, folder=folder)
        splits = CORPORA[source].files if source in CORPORA else splits_by_name(paths)
        for path in paths:
            yield from READERS[text.kind(path)](path, splits[path.name])


def home_of(name: str, folder: Folder | None) -> Path:
    corpus = CORPORA[name]
    if corpus.folder is None:
        return Path(__file__).parent
    if folder is None:
        raise CorpusError(f"the corpus {name} needs its data folder: pass folder=")
    return Path(folder(corpus.folder))


def local_files(source: str) -> list[Path]:
    """The readable files that a path, a pattern or a folder names, sorted."""
    path = Path(source).expanduser()
    if path.is_dir():
        found = sorted(entry for entry in path.iterdir() if text.kind(entry) in READERS)
    elif path.is_file():
        found = [path]
    else:
        found = sorted(Path(match) for match in glob.glob(str(path), recursive=True))
    if not found:
        raise CorpusError(f"no corpus {source!r}: {expectation(source, path)}")
    for file in found:
        if text.kind(file) not in READERS:
            raise CorpusError(
                f"{file}: expected a file ending in {' or '.join(READERS)}"
                f" (or with {', '.join(text.OPENERS)} after it), got {file.suffix or 'no ending'!r}"
            )
    return found


def splits_by_name(paths: list[Path]) -> dict[str, str | None]:
    """`x-train.txt` beside `x-test.txt` fixes the splits; one name alone fixes nothing."""
    splits = {}
    for path in paths:
        parts = re.split(r"[-_.]", path.name)
        splits[path.name] = next((part for part in parts if part in SPLITS), None)
    if len(set(splits.values())) > 1 and None not in splits.values():
        return splits
    return dict.fromkeys(splits)


def expectation(source: str, path: Path) -> str:
    if path.is_dir():
        return f"the folder holds no file ending in {' or '.join(READERS)}"
    nearest = difflib.get_close_matches(source, CORPORA, n=1, cutoff=0.5)
    hint = f"did you mean {nearest[0]}? " if nearest else ""
    return f"{hint}Expected a path that exists, hub:ID, or one of {', '.join(CORPORA)}"
