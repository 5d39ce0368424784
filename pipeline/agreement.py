"""Agreement: does a model find the right sentence of a minimal pair likelier than the wrong one?

A suite is a folder of text files in the form of CLAMS, a construction each: `True`, a tab and a
right sentence, followed by `False`, a tab and a wrong one.
"""

from dataclasses import dataclass
from pathlib import Path

from pipeline.scorer import Scorer


@dataclass(frozen=True)
class Outcome:
    """Pairs of one construction: how many were judged, how many of them rightly."""

    construction: str
    pairs: int
    right: int
    unknown: int  # pairs with a word that the model's closed vocabulary does not hold

    @property
    def accuracy(self) -> float:
        return self.right / (self.pairs - self.unknown) if self.pairs > self.unknown else 0.0


def read_pairs(path: Path) -> list[tuple[str, str]]:
    """The right and the wrong sentence of each pair of a file."""
    pairs, good = [], None
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        kind, tab, sentence = line.partition("\t")
        if kind == "True" and tab:
            good = sentence
        elif kind == "False" and tab and good is not None:
            pairs.append((good, sentence))
        else:
            expected = "True or False, a tab and a sentence, a True line first"
            raise ValueError(f"{path}, line {number}: expected {expected}; got {line!r}")
    return pairs


def judge(scorer: Scorer, suite: Path, most: int | None = None) -> list[Outcome]:
    """Judge a suite by whole sentences; at most so many pairs of each construction, spread out."""
    outcomes = []
    for path in sorted(suite.glob("[a-z]*.txt")):
        pairs = read_pairs(path)
        chosen = pairs[:: max(1, len(pairs) // most)][:most] if most else pairs
        known = [pair for pair in chosen if scorer.knows(pair[0]) and scorer.knows(pair[1])]
        scores = [
            sum(word.log_p for word in sentence)
            for sentence in (scorer.score_all(s for pair in known for s in pair) if known else [])
        ]
        right = sum(good > bad for good, bad in zip(scores[::2], scores[1::2], strict=True))
        outcomes.append(Outcome(path.stem, len(chosen), right, len(chosen) - len(known)))
    return outcomes
