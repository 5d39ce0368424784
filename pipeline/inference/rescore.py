"""n-best lists ranked anew with a language model.

    total(h) = score(h) + α·log p(h) + β·words(h)

α and β are those of a grid with which a development file has the fewest word errors.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, islice

import numpy as np

from accord.pipeline.inference.nbest import NBest
from accord.pipeline.inference.scorer import Scorer

# In units in which log p, or the number of words, varies as much as the recogniser's score does.
MODEL_WEIGHTS = np.concatenate([[0], np.geomspace(0.02, 50, 60)])
WORD_WEIGHTS = np.concatenate([[0], *np.outer(np.geomspace(0.05, 20, 15), [1, -1])])


@dataclass(frozen=True)
class Weights:
    model: float  # α
    word: float  # β: what each word adds

    def best(self, terms: "Terms") -> np.ndarray:
        """The place of the best hypothesis of each list."""
        return (terms.score + self.model * terms.log_p + self.word * terms.words).argmax(axis=1)


@dataclass(frozen=True, eq=False)
class Terms:
    """What a ranking adds up, a row for each list and −inf for the score of what fills it up."""

    score: np.ndarray
    log_p: np.ndarray
    words: np.ndarray
    unknown: Sequence[str]  # words without probability; their lists stay as they are

    @classmethod
    def of(cls, lists: Sequence[NBest], scorer: Scorer) -> "Terms":
        read = scorer.read(text for found in lists for text in found.texts)
        words = [[*islice(read, len(found.texts))] for found in lists]
        unknown = [_unknown(of_list, scorer) for of_list in words]
        known = [of_list for of_list, missing in zip(words, unknown, strict=True) if not missing]
        scored = scorer.score_words([*chain.from_iterable(known)]) if known else []
        log_p = iter([sum(word.log_p for word in sentence) for sentence in scored])
        shape = len(lists), max(len(found.texts) for found in lists)
        score, model, length = np.full(shape, -np.inf), np.zeros(shape), np.zeros(shape)
        for row, (found, missing) in enumerate(zip(lists, unknown, strict=True)):
            count = len(found.texts)
            score[row, :count] = found.scores
            if not missing:
                model[row, :count] = [next(log_p) for _ in range(count)]
                length[row, :count] = [len(each) for each in words[row]]
        return cls(score, model, length, sorted(set().union(*unknown)))


def _unknown(hypotheses: Sequence[Sequence[str]], scorer: Scorer) -> set[str]:
    if scorer.is_open:
        return set()
    return {word for words in hypotheses for word in words if word not in scorer.vocabulary.known}


def tuned(lists: Sequence[NBest], terms: Terms) -> Weights:
    """The weights with the fewest word errors; among equals the lightest."""
    errors = np.zeros(terms.score.shape)
    for row, found in enumerate(lists):
        errors[row, : len(found.texts)] = [
            distance(text.split(), _reference(found)) for text in found.texts
        ]
    rows = np.arange(len(lists))
    unit = _spread(terms.score)
    grid = [
        Weights(model * unit / _spread(terms.log_p), word * unit / _spread(terms.words))
        for model in MODEL_WEIGHTS
        for word in WORD_WEIGHTS
    ]
    return min(grid, key=lambda weights: errors[rows, weights.best(terms)].sum())


def _spread(values: np.ndarray) -> float:
    """How much values vary within lists, 1 if not at all."""
    finite = np.where(np.isfinite(values), values, np.nan)
    varies = np.nanmean(np.nanstd(finite, axis=1))
    return float(varies) if varies > 0 else 1.0


def error_rate(lists: Sequence[NBest], chosen: Sequence[int]) -> float:
    """Word errors of the chosen hypotheses by words of the references."""
    references = [_reference(found) for found in lists]
    wrong = sum(
        distance(found.texts[at].split(), reference)
        for found, at, reference in zip(lists, chosen, references, strict=True)
    )
    return wrong / sum(map(len, references))


def oracle(lists: Sequence[NBest]) -> list[int]:
    """The place of the hypothesis with the fewest word errors in each list."""
    return [
        int(np.argmin([distance(text.split(), _reference(found)) for text in found.texts]))
        for found in lists
    ]


def _reference(found: NBest) -> list[str]:
    if found.reference is None:
        raise ValueError(f"'{found.id}' has no reference: expected one for every list")
    return found.reference.split()


def distance(words: Sequence[str], reference: Sequence[str]) -> int:
    """The fewest insertions, deletions and substitutions from one to the other (Levenshtein)."""
    row = list(range(len(reference) + 1))
    for word in words:
        diagonal, row[0] = row[0], row[0] + 1
        for at, other in enumerate(reference, start=1):
            cost = min(row[at] + 1, row[at - 1] + 1, diagonal + (word != other))
            diagonal, row[at] = row[at], cost
    return row[-1]
