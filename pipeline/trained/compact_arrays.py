"""Small encoding: Φ by signature, letter n-grams."""

from pathlib import Path

import numpy as np

from accord.models.background.ngrams import Level
from accord.models.common.arrays import load_arrays
from accord.models.common.checks import check_range
from accord.models.features.phi import Features
from accord.models.spelling.ngram import NGramSpelling, Prefixes
from accord.models.spelling.spelling import Alphabet
from accord.pipeline.trained.compact_words import narrow

PHI, PSI = "phi.compact.npz", "psi.compact.npz"
PHI_ARRAYS = ("lengths", "indices", "values", "value", "vector", "feature_count")


def save_features(features: Features, path: Path) -> None:
    """All but the signatures of the words and the vectors themselves."""
    values, code = np.unique(features.values, return_inverse=True)
    np.savez_compressed(
        path,
        lengths=narrow(np.diff(features.indptr)),
        indices=narrow(features.indices),
        values=values,
        value=narrow(code),
        vector=narrow(features.vector) if features.dimensions else np.zeros(0, np.uint8),
        feature_count=features.feature_count,
    )


def load_features(path: Path, signature: np.ndarray, vectors: np.ndarray | None) -> Features:
    """With the signature of each word, and the vectors that a dense block is made of."""
    arrays = load_arrays(path, PHI_ARRAYS)
    try:
        dense = ()
        if len(arrays["vector"]):
            if vectors is None:
                raise ValueError("expected the vectors of its dense features, found none")
            dense = vectors, arrays["vector"]
        return Features(
            np.concatenate([[0], np.cumsum(arrays["lengths"], dtype=np.int64)]),
            arrays["indices"],
            arrays["values"][arrays["value"]],
            signature,
            int(arrays["feature_count"]),
            *dense,
        )
    except (ValueError, TypeError, IndexError) as error:
        raise ValueError(f"{path}: {error}") from None


LETTERS = "letters.npz"
LETTER_ARRAYS = (
    *("alphabet", "shares", "length", "level_contexts", "level_keys"),
    *("contexts", "keys", "counts", "children", "entries", "begun"),
)


def save_letters(model: NGramSpelling, path: Path) -> None:
    levels, begun = model.levels, model.begun
    np.savez_compressed(
        path,
        alphabet=np.frombuffer("".join(model.alphabet.letters).encode(), np.uint8),
        shares=model.numbers,
        length=model.length,
        level_contexts=[len(level.contexts) for level in levels],
        level_keys=[len(level.keys) for level in levels],
        contexts=_steps([level.contexts for level in levels]),
        keys=_steps([level.keys for level in levels]),
        counts=narrow(np.concatenate([level.counts for level in levels])),
        children=_steps([begun.children]),
        entries=_steps([begun.entries]),
        begun=narrow(begun.counts),
    )


def _steps(rising: list[np.ndarray]) -> np.ndarray:
    """Rising numbers by how much each is more than the one before."""
    return narrow(np.concatenate([np.diff(each, prepend=0) for each in rising]))


def load_letters(path: Path) -> NGramSpelling:
    arrays = load_arrays(path, LETTER_ARRAYS)
    try:
        return _model(arrays)
    except (ValueError, TypeError, IndexError, UnicodeError) as error:
        raise ValueError(f"{path}: {error}") from None


def _model(arrays: dict[str, np.ndarray]) -> NGramSpelling:
    alphabet = Alphabet(list(arrays["alphabet"].tobytes().decode()))
    symbols, shares = len(alphabet), arrays["shares"].astype(np.float64)
    length = float(arrays["length"])
    if not (len(shares) and ((shares >= 0) & (shares < 1)).all() and 1 <= length < np.inf):
        raise ValueError("expected a share of numbers for each class, and their mean length")
    of_level = {
        "contexts": np.cumsum(arrays["level_contexts"])[:-1],
        "keys": np.cumsum(arrays["level_keys"])[:-1],
        "counts": np.cumsum(arrays["level_keys"])[:-1],
    }
    parts = [np.split(arrays[name], ends) for name, ends in of_level.items()]
    levels: list[Level] = []
    for contexts, keys, counts in zip(*parts, strict=True):
        contexts, keys = (np.cumsum(each, dtype=np.int64) for each in (contexts, keys))
        levels.append(_level(contexts, keys, counts.astype(np.int64), symbols, levels))
    children, entries = (np.cumsum(arrays[n], dtype=np.int64) for n in ("children", "entries"))
    counts = arrays["begun"].astype(np.int64)
    check_range("children", "nodes", children // symbols, 0, len(children) + 1)
    check_range("entries", "nodes", entries // symbols // len(shares), 0, len(children) + 1)
    if len(counts) != len(entries) or not len(counts) or counts.min() < 1:
        raise ValueError(f"begun: expected {len(entries):,} counts from 1 on")
    begun = Prefixes(children, entries, counts, symbols, len(shares))
    return NGramSpelling(alphabet, shares, length, levels, begun)


def _level(
    contexts: np.ndarray, keys: np.ndarray, counts: np.ndarray, symbols: int, below: list[Level]
) -> Level:
    """A level above those that are there."""
    if len(counts) != len(keys) or not len(keys) or counts.min() < (1 if below else 0):
        raise ValueError(f"counts: expected {len(keys):,} counts of n-grams")
    check_range("keys", "contexts", keys // symbols, 0, len(contexts))
    if not below:
        if not np.array_equal(keys, np.arange(symbols)):
            raise ValueError(f"keys: expected all of the {symbols} symbols after nothing")
        return Level(contexts, keys, counts, np.zeros(0, np.int64), symbols)
    check_range("contexts", "contexts", contexts // symbols, 0, len(below[-1].contexts))
    wanted = contexts[keys // symbols] // symbols * symbols + keys % symbols
    shorter = np.searchsorted(below[-1].keys, wanted)
    check_range("keys", "n-grams", shorter, 0, len(below[-1].keys))
    return Level(contexts, keys, counts, shorter, symbols)
