"""Agreement suites as text: minimal pairs of a right and a wrong sentence, a folder or a file.

Sentences are tokenised as `accord score` tokenises them.
"""

from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

import pandas as pd

from accord.corpora.tokenise import tokenised
from accord.pipeline.data.folders import MissingData, folder_of
from accord.pipeline.evaluation.pair import Pair, text_of, words_of
from accord.pipeline.evaluation.suite_reading import KINDS, Line, read_lines

CLAMS = "clams-fr"  # the suite of Mueller et al. (2020), in French
TABLE = "pairs.csv"  # beside texts: a row for each pair in the order in which they are read
NO_PAIRS = ("license", "licence", "readme", "copying", "notice")  # texts that a folder may hold


def suite_files(suite: str) -> list[Path]:
    """The files of a suite, by the path of one or of their folder, or by its name."""
    if Path(suite).is_file():
        if Path(suite).suffix not in KINDS:
            raise ValueError(f"{suite} is no suite: expected a name that ends in {_list(KINDS)}")
        return [Path(suite)]
    folder = _folder(suite)
    found = sorted(path for path in folder.glob("*") if path.suffix in KINDS and _is_part(path))
    if not found:
        raise FileNotFoundError(f"{folder} is no suite: expected files that end in {_list(KINDS)}")
    return found


def _folder(suite: str) -> Path:
    if Path(suite).is_dir():
        return Path(suite)
    try:
        if "/" not in suite and Path(suite).suffix not in KINDS:
            return folder_of(suite)
    except MissingData:
        if suite == CLAMS:  # which can be fetched
            raise
    raise FileNotFoundError(
        f"{suite}: there is no such file or folder, nor data of that name; expected the path of a "
        f"suite, or {CLAMS}"
    )


def _is_part(path: Path) -> bool:
    return path.name != TABLE and path.stem.lower() not in NO_PAIRS


def _list(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"


def suite_name(suite: str) -> str:
    path = Path(suite).resolve()
    return path.stem if path.is_file() else path.name


def read_suite(suite: str, lowercase: bool = False) -> list[Pair]:
    """All pairs of a suite, file by file; every line that is none is reported."""
    hashed = tuple((path, sha256(path.read_bytes()).digest()) for path in suite_files(suite))
    return [*_read(suite, hashed, lowercase)]


@lru_cache(maxsize=1)  # an audit reads it again and again, and so do models that differ elsewhere
def _read(suite: str, files: tuple[tuple[Path, bytes], ...], lowercase: bool) -> list[Pair]:
    """The pairs of these files, each of which comes with the hash of what it holds."""
    found = [line for path, _ in files for line in read_lines(path)]
    texts = dict.fromkeys(text for line in found for text in (line.good, line.bad) if text)
    words = dict(zip(texts, map(text_of, tokenised(texts)), strict=True))
    pairs, faults = [], []
    for line in found:
        pair = Pair(line.construction, words.get(line.good, ""), words.get(line.bad, ""))
        if lowercase:
            pair = lowercased(pair)
        fault = line.fault or _fault(line, pair)
        if fault:
            faults.append(f"{line.where}: {fault}")
        pairs.append(pair)
    if faults:
        raise ValueError("\n".join(faults))
    if not pairs:
        raise ValueError(f"{suite} is no suite: expected pairs of sentences, found none")
    return pairs


def _fault(line: Line, pair: Pair) -> str | None:
    if not pair.good or not pair.bad:
        return f"expected words, got {line.good!r} and {line.bad!r}"
    if pair.good != pair.bad:
        return None
    alike = f"expected two sentences, got one twice: {line.good!r}"
    if line.good == line.bad:
        return alike
    return f"{alike} is to a model the same as {line.bad!r}, by case or spelling"


def lowercased(pair: Pair) -> Pair:
    return Pair(pair.construction, pair.good.lower(), pair.bad.lower())


def pair_table(suite: str) -> pd.DataFrame:
    """What is known of each pair: its construction, and the columns of its table or of TABLE."""
    files = suite_files(suite)
    found = [line for path in files for line in read_lines(path) if not line.fault]
    rows = [{**line.columns, "construction": line.construction} for line in found]
    table = pd.DataFrame(rows) if rows else pd.DataFrame(columns=["construction"])
    path = files[0].parent / TABLE
    if not path.exists() or Path(suite).is_file():
        return table
    try:
        beside = pd.read_csv(path)
    except ValueError as error:
        raise ValueError(f"{path}: expected a table of pairs in UTF-8; {error}") from None
    if beside.get("construction", pd.Series()).tolist() != table["construction"].tolist():
        raise ValueError(f"{path} does not fit its suite: expected a row for each of its pairs")
    return beside


def suite_words(pairs: Sequence[Pair]) -> set[str]:
    return {word for pair in pairs for text in (pair.good, pair.bad) for word in words_of(text)}
