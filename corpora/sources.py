"""From the name a user writes to sentences: a named corpus, a path or a hub data set."""

import difflib
import re
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

from corpora import conllu, hub, labelled, text
from corpora.named import CORPORA
from corpora.sentence import Sentence
from corpora.text import CorpusError
from corpora.tree import Tree

# In a folder that holds both, the text files are a treebank's notes and licence.
READERS = {
    ".conllu": conllu.read_sentences,
    ".txt": text.read,
    ".tsv": labelled.read_tsv,
    ".jsonl": labelled.read_jsonl,
}
SPLITS = ("train", "valid", "dev", "test")
MOST = 5  # files that an error lists
Folder = Callable[[str], Path]


def read(
    source: str, *, folder: Folder | None = None, limit: int | None = None
) -> Iterator[Sentence]:
    """The sentences of a source; `folder(name)` says where a named corpus's data lies.

    A source is a name in CORPORA, a file, a pattern (`texts/*.txt`), a folder, or
    `hub:ID[:CONFIG][#COLUMN]`. Files are `.txt`, `.conllu`, `.tsv` or `.jsonl`, compressed or not.
    Of a hub data set no more than the first `limit` sentences to train on are downloaded.
    """
    empty = True
    for sentence in sentences(source, folder, limit):
        empty = False
        yield sentence
    if empty:
        raise CorpusError(f"the corpus {source} is empty: expected at least one sentence")


def files(source: str, *, folder: Folder | None = None) -> list[Path]:
    """The files that reading this source opens; none for a hub data set."""
    return [] if source.startswith(hub.PREFIX) else list(files_and_splits(source, folder))


def trees(source: str, *, folder: Folder | None = None) -> Iterator[Tree] | None:
    """The trees of a source that is a treebank, None of one that is text."""
    paths = files(source, folder=folder)
    if not paths or any(text.kind(path) != ".conllu" for path in paths):
        return None
    return chain.from_iterable(map(conllu.read, paths))


def sentences(source: str, folder: Folder | None, limit: int | None) -> Iterator[Sentence]:
    if source.startswith(hub.PREFIX):
        yield from hub.read(source, limit)
        return
    for path, split in files_and_splits(source, folder).items():
        read = CORPORA[source].read if source in CORPORA else READERS[text.kind(path)]
        yield from read(path, split)


def files_and_splits(source: str, folder: Folder | None) -> dict[Path, str | None]:
    if source in CORPORA:
        return named_files(source, folder)
    paths = local_files(source)
    splits = [split_in_name(path) for path in paths]
    without = [path.name for path, split in zip(paths, splits, strict=True) if split is None]
    if 0 < len(without) < len(paths):  # else a test would be trained on, for a README beside it
        raise CorpusError(
            f"the corpus {source}: expected a split ({', '.join(SPLITS)}) in the names of all its "
            f"files or of none; there is none in {', '.join(without[:MOST])}"
            f"{' and others' if len(without) > MOST else ''}. Rename those files or move them"
        )
    # `x-train.txt` beside `x-test.txt` fixes the splits; one name alone fixes nothing.
    fixed = None not in splits and len(set(splits)) > 1
    return dict(zip(paths, splits if fixed else [None] * len(paths), strict=True))


def named_files(name: str, folder: Folder | None) -> dict[Path, str | None]:
    corpus = CORPORA[name]
    if corpus.folder is None:
        home = Path(__file__).parent
    elif folder is None:
        raise CorpusError(f"the corpus {name} needs its data folder: pass folder=")
    else:
        home = Path(folder(corpus.folder))
    paths = {home / file: split for file, split in corpus.files.items()}
    for path in paths:
        if not path.is_file():
            raise CorpusError(f"{path} is missing: the corpus {name} reads it")
    return paths


def local_files(source: str) -> list[Path]:
    """The readable files that a path, a pattern or a folder names, sorted."""
    path = Path(source).expanduser()
    if path.is_dir():
        files = [entry for entry in path.iterdir() if entry.is_file()]
        endings = {text.kind(file) for file in files}
        chosen = next((ending for ending in READERS if ending in endings), None)
        found = [file for file in files if text.kind(file) == chosen]
    elif path.is_file():
        found = [path]
    else:
        matches = Path(path.anchor).glob(str(path.relative_to(path.anchor)))
        found = [match for match in matches if match.is_file()]
    if not found:
        raise CorpusError(f"no corpus {source!r}: {expectation(source, path)}")
    for file in found:
        if text.kind(file) not in READERS:
            raise CorpusError(
                f"{file}: expected a name ending in {' or '.join(READERS)}"
                f" (or with {', '.join(text.OPENERS)} after it)"
            )
    return sorted(found)


def split_in_name(path: Path) -> str | None:
    return next((part for part in re.split(r"[-_.]", path.name) if part in SPLITS), None)


def expectation(source: str, path: Path) -> str:
    if path.is_dir():
        return f"the folder holds no file ending in {' or '.join(READERS)}"
    neighbours = map(str, path.parent.iterdir()) if path.parent.is_dir() else ()
    nearest = difflib.get_close_matches(source, [*CORPORA, *neighbours], n=1)
    hint = f"did you mean {nearest[0]}? " if nearest else ""
    return f"{hint}Expected a path that exists, hub:ID, or one of {', '.join(CORPORA)}"
