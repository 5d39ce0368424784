"""Agreement suites as text: minimal pairs of a right and a wrong sentence.

A suite is a folder of text files in the form of CLAMS, a construction each: `True`, a tab and a
right sentence, followed by `False`, a tab and a wrong one. Words stand between single spaces.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from corpora.text import lines
from pipeline.data.folders import folder_of

CLAMS = "clams-fr"  # the suite of Mueller et al. (2020), in French


class Pair(NamedTuple):
    construction: str
    good: str
    bad: str


def suite_files(suite: str) -> list[Path]:
    """The files of a suite, one for each construction, by the path or the name of its folder."""
    is_path = "/" in suite or Path(suite).is_dir()
    folder = Path(suite) if is_path else folder_of(suite)
    found = sorted(folder.glob("[a-z]*.txt"))
    if not found:
        raise FileNotFoundError(f"{folder} is no suite: expected a text for each construction")
    return found


def suite_name(suite: str) -> str:
    return Path(suite).resolve().name


def read_suite(suite: str, lowercase: bool = False) -> list[Pair]:
    """All pairs of a suite, file by file."""
    pairs = [pair for path in suite_files(suite) for pair in read_pairs(path)]
    return [Pair(c, good.lower(), bad.lower()) for c, good, bad in pairs] if lowercase else pairs


def suite_words(pairs: Sequence[Pair]) -> set[str]:
    return {word for pair in pairs for text in (pair.good, pair.bad) for word in text.split(" ")}


def read_pairs(path: Path) -> list[Pair]:
    """The pairs of one construction."""
    pairs, good = [], None
    for number, line in enumerate(lines(path), start=1):
        line = line.rstrip("\r\n")
        kind, _, sentence = line.partition("\t")
        words = all(word.isprintable() and word for word in sentence.split(" "))
        if kind == "True" and words and good is None:
            good = sentence
        elif kind == "False" and words and good is not None and sentence != good:
            pairs.append(Pair(path.stem, good, sentence))
            good = None
        else:
            expected = "False, a tab and another sentence" if good else "True, a tab and a sentence"
            raise ValueError(f"{path}, line {number}: expected {expected}; got {line!r}")
    if good is not None:
        raise ValueError(f"{path}: expected a False line at the end, after {good!r}")
    return pairs
