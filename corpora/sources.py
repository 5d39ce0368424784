"""Read the sentences of a source: a named corpus, a path, a hub data set, or several."""

import difflib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path
from typing import NamedTuple

from accord.corpora import conllu, formats, text
from accord.corpora.conllu import Tree
from accord.corpora.text import CorpusError, Sentence, Unwanted, words
from accord.corpora.tokenise import normalise, tokenised
from accord.errors import AccordError


@dataclass(frozen=True)
class Repository:
    """The public address of a release's files, and the git blob id of each where it is known."""

    url: str
    tag: str
    blobs: Mapping[str, str | None]  # path in the repository -> git blob id
    licence: str

    @property
    def origin(self) -> str:
        return f"{self.url} at {self.tag}"


@dataclass(frozen=True)
class Corpus:
    """`files` maps each file of the folder to the split it is, None where the pipeline splits."""

    folder: str | None  # in the data folder; None: in this package
    files: Mapping[str, str | None]
    read: Callable[[Path, str | None], Iterator[Sentence | Unwanted]]  # a file, of that split
    licence: str
    repository: Repository | None = None
    running: bool = False  # its documents are texts of sentences that follow each other


def _treebank(
    folder: str, stem: str, licence: str, url: str, tag: str, blobs: str | None = None
) -> Corpus:
    """Return a treebank of three splits; `blobs` are those of train, dev and test."""
    names = {f"{stem}-{split}.conllu": split for split in ("train", "dev", "test")}
    ids = blobs.split() if blobs else [None] * len(names)
    repository = Repository(url, tag, dict(zip(names, ids, strict=True)), licence)
    return Corpus(folder, names, conllu.read_sentences, licence, repository)


GSD = "https://github.com/UniversalDependencies/UD_French-GSD"
SEQUOIA = "https://github.com/UniversalDependencies/UD_French-Sequoia"

OPEN = "CC BY-SA 4.0"
OLD = "CC BY-NC-SA 3.0"

IDS_OF_1_3 = """b4f4ceea8d284dcda3f0db0ecf1640c955bea0c1 9af3cbe96ca82936da8dd572c3e056d7d4038150
    2e66d014905af7dd6481509fe196cbf150df9f41"""
IDS_OF_1_4 = """b022ae4a4cd379863bfb6c931da7727ec2c9fc78 63c45e88e7585bf5ff83eb174435e54a7f1102e3
    650eb63bf9d5f8e1f1f185fe7794505fa3a3cf6f"""
IDS_OF_SEQUOIA = """11af6d52c3d26887e6616220f9bda5633d1fe223
    b3a73c556e7113909b93a26c0e88f43c20938538 67ec0c0aa6d62e44a24758e5f12ab4f8809f5c8e"""

WIKTIONNAIRE, NEWS = formats.read_wiktionnaire, formats.read_orangesum
PARAGRAPHS, DILA = formats.read_paragraphs, "open data of the DILA"
CORPORA = {
    "wiktionnaire": Corpus("wiktionnaire", {"glosses.txt.gz": None}, WIKTIONNAIRE, OPEN),
    "orangesum": Corpus("orangesum", {"articles.jsonl.xz": None}, NEWS, OPEN, running=True),
    "eltec": Corpus("eltec", {"novels.jsonl.xz": None}, PARAGRAPHS, "public domain", running=True),
    "fiches": Corpus("fiches", {"fiches.jsonl.xz": None}, PARAGRAPHS, DILA, running=True),
    "tiny": Corpus(None, {"tiny.txt": None}, text.read, "MIT"),
    "ud-french-1.3": _treebank("ud-french-1.3", "fr-ud", OLD, GSD, "r1.3", IDS_OF_1_3),
    "ud-french-1.4": _treebank("ud-french-1.4", "fr-ud", OLD, GSD, "r1.4", IDS_OF_1_4),
    "ud-french-gsd": _treebank("ud-french-gsd-2.16", "fr_gsd-ud", OPEN, GSD, "r2.16"),
    "ud-french-sequoia": _treebank(
        "ud-french-sequoia-2.16", "fr_sequoia-ud", "LGPL-LR", SEQUOIA, "r2.16", IDS_OF_SEQUOIA
    ),
}

# In a folder that holds both, the text files are a treebank's notes and licence.
READERS = {
    ".conllu": conllu.read_sentences,
    ".txt": text.read,
    ".tsv": formats.read_tsv,
    ".jsonl": formats.read_jsonl,
}
SPLITS = ("train", "valid", "dev", "test")
MOST = 5  # files that an error lists
Folder = Callable[[str], Path]


class SourcePiece(NamedTuple):
    """A part of a source that can be read by itself."""

    source: str
    file: int = 0  # its place among the files of the source; a hub data set is one
    lines: tuple[int, int] | None = None  # the first and the stop, from 0; None: all of them


Reasons = Counter[str]  # how many texts were left out for each


def read(
    source: str,
    *,
    folder: Folder | None = None,
    limit: int | None = None,
    left_out: Reasons | None = None,
    pieces: Sequence[SourcePiece] | None = None,
) -> Iterator[Sentence]:
    """Yield the sentences of a source; `folder(name)` returns the folder of a corpus's data.

    A source is a name in CORPORA, a file, a pattern (`texts/*.txt`), a folder, a data set of
    `save_to_disk` (`FOLDER[#COLUMN]`), or `hub:ID[:CONFIG][#COLUMN]`. Files are `.txt`, `.conllu`,
    `.tsv` or `.jsonl`, compressed or not. Of a data set no more than the first `limit` sentences to
    train on are read.
    `left_out` counts the texts that a reader leaves out. `pieces` are those to read.
    """
    is_empty = pieces is None
    for item in _items(source, folder, limit, pieces):
        if isinstance(item, Sentence):
            is_empty = False
            yield item
        elif left_out is not None:
            left_out[item.reason] += 1
    if is_empty:
        raise CorpusError(f"the corpus {source} is empty: expected at least one sentence")


def files(source: str, *, folder: Folder | None = None) -> list[Path]:
    """Return the files that reading this source opens; none for a hub data set."""
    if saved := formats.saved_folder(source):
        return sorted(path for path in saved.rglob("*") if path.is_file())
    return [*_files_and_splits(source, folder)]


def trees(source: str, *, folder: Folder | None = None) -> Iterator[Tree] | None:
    """Return the trees of a source that is a treebank, None of one that is text."""
    paths = files(source, folder=folder)
    if not paths or any(text.kind(path) != ".conllu" for path in paths):
        return None
    return chain.from_iterable(map(conllu.read, paths))


def read_words(
    source: str, *, folder: Folder | None = None, split: str | None = None
) -> Iterator[tuple[str, list[str]]]:
    """Yield the id and the words of each sentence of a source, or of one of its splits."""
    splits = set()
    for sentence in read(source, folder=folder):
        splits.add(sentence.split)
        if split in (None, sentence.split):
            if sentence.rows is None:
                (of_sentence,) = tokenised([sentence.text])
            else:
                of_sentence = map(normalise, words(sentence.rows, "surface"))
            yield sentence.id, [*of_sentence]
    if split not in {None, *splits}:
        named = ", ".join(sorted(filter(None, splits))) or "none"
        raise AccordError(f"{source}: expected a split of it ({named}), got {split}")


def _items(
    source: str, folder: Folder | None, limit: int | None, pieces: Sequence[SourcePiece] | None
) -> Iterator[Sentence | Unwanted]:
    if source.startswith(formats.HUB) or formats.saved_folder(source):
        yield from formats.read_hub(source, limit)
        return
    paths = _files_and_splits(source, folder)
    named = [*zip(paths.items(), part_names([*map(str, paths)]), strict=True)]
    whole = (SourcePiece(source, number) for number in range(len(named)))
    for _, number, lines in whole if pieces is None else pieces:
        (path, split), name = named[number]
        among = {"among": range(*lines)} if lines else {}
        prefix = "" if source in CORPORA else f"{name}:"  # files may call documents alike
        for item in _reader(source, path)(path, split, **among):
            if isinstance(item, Sentence):
                inner = item.document
                item = item._replace(document=name if inner is None else prefix + inner)
            yield item


def _reader(source: str, path: Path) -> Callable[..., Iterator[Sentence | Unwanted]]:
    return CORPORA[source].read if source in CORPORA else READERS[text.kind(path)]


def shards(sources: Sequence[str], folder: Folder | None, count: int) -> list[list[SourcePiece]]:
    """Cut sources into at most `count` shards of about the same size, in order of `read_parts`.

    Files are cut between lines, where each line stands by itself. A data set is not cut.
    """
    paths = {source: [*_files_and_splits(source, folder)] for source in _ordered(sources, folder)}
    total = sum(path.stat().st_size for of_source in paths.values() for path in of_source) or 1
    shards: dict[int, list[SourcePiece]] = {}
    passed = 0.0  # bytes of the pieces so far
    for source, of_source in paths.items():
        for number, path in enumerate(of_source):
            size, ranges = path.stat().st_size, _line_ranges(source, path, count / total)
            for lines in ranges:
                shard = int((passed + size / len(ranges) / 2) * count / total)
                shards.setdefault(shard, []).append(SourcePiece(source, number, lines))
                passed += size / len(ranges)
        if not of_source:
            shards.setdefault(int(passed * count / total), []).append(SourcePiece(source))
    return [*shards.values()]


def _line_ranges(source: str, path: Path, shards_per_byte: float) -> Sequence[tuple | None]:
    """Return a range of lines for each shard of a file; None is the whole file."""
    count = round(path.stat().st_size * shards_per_byte)
    if count < 2 or _reader(source, path) not in formats.LINE_BY_LINE:
        return [None]
    with text.open_bytes(path) as file:
        total = sum(1 for _ in file)
    cuts = sorted({number * total // count for number in range(count + 1)})
    return [*pairwise(cuts)]


def _files_and_splits(source: str, folder: Folder | None) -> dict[Path, str | None]:
    if source.startswith(formats.HUB) or formats.saved_folder(source):
        return {}
    if corpus := CORPORA.get(source):
        if corpus.folder is not None and folder is None:
            raise CorpusError(f"the corpus {source} needs its data folder: pass folder=")
        home = Path(folder(corpus.folder)) if corpus.folder else Path(__file__).parent
        named = {home / file: split for file, split in corpus.files.items()}
        if missing := [path for path in named if not path.is_file()]:
            raise CorpusError(f"{missing[0]} is missing: the corpus {source} reads it")
        return named
    paths = _local_files(source)
    splits = [_split_in_name(path) for path in paths]
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


def held_out_in_name(source: str, folder: Folder | None = None) -> str | None:
    """Return `test` or the like, if files are named so that have no split of their own."""
    splits = _files_and_splits(source, folder)
    names = {_split_in_name(path) for path, split in splits.items() if split is None}
    return names.pop() if len(names) == 1 and not names & {None, "train"} else None


def _local_files(source: str) -> list[Path]:
    """Return the readable files that a path, a pattern or a folder names, sorted."""
    path = Path(source).expanduser()
    if path.is_dir():
        by_ending = {ending: [] for ending in READERS}
        for file in path.iterdir():
            if file.is_file() and text.kind(file) in by_ending:
                by_ending[text.kind(file)].append(file)
        paths = next(filter(None, by_ending.values()), [])
    elif path.is_file():
        paths = [path]
    else:
        matches = Path(path.anchor).glob(str(path.relative_to(path.anchor)))
        paths = [*filter(Path.is_file, matches)]
    if not paths:
        raise CorpusError(f"no corpus {source!r}: {_expectation(source, path)}")
    for file in paths:
        if text.kind(file) not in READERS:
            raise CorpusError(
                f"{file}: expected a name ending in {' or '.join(READERS)}"
                f" (or with {', '.join(text.OPENERS)} after it)"
            )
    return sorted(paths)


def _split_in_name(path: Path) -> str | None:
    return next((part for part in re.split(r"[-_.]", path.name) if part in SPLITS), None)


def _expectation(source: str, path: Path) -> str:
    if path.is_dir():
        return f"the folder holds no file ending in {' or '.join(READERS)}"
    neighbours = map(str, path.parent.iterdir()) if path.parent.is_dir() else ()
    nearest = difflib.get_close_matches(source, [*CORPORA, *neighbours], n=1)
    hint = f"; the nearest is {nearest[0]!r}" if nearest else ""
    return f"expected a path that exists, hub:ID, or one of {', '.join(CORPORA)}{hint}"


def read_parts(
    sources: Sequence[str],
    *,
    folder: Folder | None = None,
    limit: int | None = None,
    left_out: dict[str, Reasons] | None = None,
    shard: Sequence[SourcePiece] | None = None,
) -> Iterator[tuple[str, Sentence]]:
    """Yield the sentences of all sources, each with the name of its part; see `read`.

    Sources that have splits of their own come first. `left_out` counts the texts that readers leave
    out, by part. `shard` has the pieces to read, by default all.
    """
    names = dict(zip(sources, part_names(sources), strict=True))
    in_shard = dict.fromkeys(piece.source for piece in shard or ())
    for source in _ordered(sources, folder) if shard is None else in_shard:
        reasons: Reasons = Counter()
        pieces = None if shard is None else [piece for piece in shard if piece.source == source]
        for sentence in read(source, folder=folder, limit=limit, left_out=reasons, pieces=pieces):
            yield names[source], sentence
        if reasons and left_out is not None:
            left_out[names[source]] = reasons


def _ordered(sources: Sequence[str], folder: Folder | None) -> Sequence[str]:
    """Return sources that have splits of their own before the others."""
    if len(sources) == 1:
        return sources
    return sorted(sources, key=lambda name: next(read(name, folder=folder, limit=1)).split is None)


def part_names(sources: Sequence[str]) -> list[str]:
    """Name each source by itself, or by the end of its path that no other source has."""
    parts = [Path(source).parts for source in sources]
    ends = [
        [Path(*path[-count:]).as_posix() for count in range(1, len(path) + 1)] for path in parts
    ]
    counts = Counter(end for of_path in ends for end in {*of_path})
    return [next((end for end in of_path if counts[end] == 1), of_path[-1]) for of_path in ends]
