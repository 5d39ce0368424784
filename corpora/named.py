"""The corpora that have a name: their folders, files, licences and where they come from."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from corpora import conllu, orangesum, text, wiktionnaire
from corpora.sentence import Sentence


@dataclass(frozen=True)
class Repository:
    """Where a release's files stand in public, with the git blob id of each where it is known."""

    url: str
    tag: str
    blobs: Mapping[str, str | None]  # path in the repository -> git blob id
    licence: str


@dataclass(frozen=True)
class Corpus:
    """`files` maps each file of the folder to the split it is, None where the pipeline splits."""

    folder: str | None  # in the data folder; None for what lies in this package
    files: Mapping[str, str | None]
    read: Callable[[Path, str | None], Iterator[Sentence]]  # a file, of that split
    licence: str
    repository: Repository | None = None


def treebank(folder: str, stem: str, licence: str, url: str, tag: str, blobs: dict) -> Corpus:
    names = {f"{stem}-{split}.conllu": split for split in ("train", "dev", "test")}
    of_files = {name: blobs.get(split) for name, split in names.items()}
    repository = Repository(url, tag, of_files, licence)
    return Corpus(folder, names, conllu.read_sentences, licence, repository)


GSD = "https://github.com/UniversalDependencies/UD_French-GSD"
SEQUOIA = "https://github.com/UniversalDependencies/UD_French-Sequoia"

CORPORA = {
    "wiktionnaire": Corpus(
        "wiktionnaire", {"glosses.txt.gz": None}, wiktionnaire.read, "CC BY-SA 4.0"
    ),
    "orangesum": Corpus("orangesum", {"articles.jsonl.xz": None}, orangesum.read, "CC BY-SA 4.0"),
    "tiny": Corpus(None, {"tiny.txt": None}, text.read, "MIT"),
    "ud-french-1.3": treebank(
        "ud-french-1.3",
        "fr-ud",
        "CC BY-NC-SA 3.0",
        GSD,
        "r1.3",
        {
            "train": "b4f4ceea8d284dcda3f0db0ecf1640c955bea0c1",
            "dev": "9af3cbe96ca82936da8dd572c3e056d7d4038150",
            "test": "2e66d014905af7dd6481509fe196cbf150df9f41",
        },
    ),
    "ud-french-1.4": treebank(
        "ud-french-1.4",
        "fr-ud",
        "CC BY-NC-SA 3.0",
        GSD,
        "r1.4",
        {
            "train": "b022ae4a4cd379863bfb6c931da7727ec2c9fc78",
            "dev": "63c45e88e7585bf5ff83eb174435e54a7f1102e3",
            "test": "650eb63bf9d5f8e1f1f185fe7794505fa3a3cf6f",
        },
    ),
    "ud-french-gsd": treebank("ud-french-gsd-2.16", "fr_gsd-ud", "CC BY-SA 4.0", GSD, "r2.16", {}),
    "ud-french-sequoia": treebank(
        "ud-french-sequoia-2.16",
        "fr_sequoia-ud",
        "LGPL-LR",
        SEQUOIA,
        "r2.16",
        {
            "train": "11af6d52c3d26887e6616220f9bda5633d1fe223",
            "dev": "b3a73c556e7113909b93a26c0e88f43c20938538",
            "test": "67ec0c0aa6d62e44a24758e5f12ab4f8809f5c8e",
        },
    ),
}
