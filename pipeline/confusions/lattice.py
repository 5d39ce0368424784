"""A lattice: all that a recogniser thinks may have been said, as paths from one node to another."""

import heapq
from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from accord.pipeline.inference.nbest import NBest


class Arc(NamedTuple):
    """A word between two nodes, none for an arc that is silent, and its score: a logarithm."""

    start: int
    end: int
    word: str
    score: float


class Lattice(NamedTuple):
    """Node 0 is the first, and arcs lead to nodes of greater numbers: `ends` have final scores."""

    id: str
    arcs: tuple[Arc, ...]
    ends: dict[int, float]

    def nbest(self, size: int, reference: str | None = None) -> NBest:
        """The paths of different words with the greatest sums of scores, found exactly.

        What is among the best at a node has a beginning that is among the best where it begins;
        one more is kept there, as the path without words, which is none at the end, may be one.
        """
        leaving = defaultdict(list)
        for arc in self.arcs:
            leaving[arc.start].append(arc)
        reached: dict[int, dict[str, float]] = defaultdict(dict, {0: {"": 0.0}})
        for node in sorted({arc.start for arc in self.arcs}):
            for words, score in best(reached[node].items(), size + 1):
                for arc in leaving[node]:
                    _keep(reached[arc.end], f"{words} {arc.word}".strip(), score + arc.score)
        whole: dict[str, float] = {}
        for node, final in self.ends.items():
            for words, score in reached[node].items():
                if words:
                    _keep(whole, words, score + final)
        if not whole:
            raise ValueError(f"'{self.id}': expected a path with words from node 0 to an end")
        texts, scores = zip(*best(whole.items(), size), strict=True)
        return NBest(self.id, list(texts), list(scores), reference)


def best(scored: Iterable[tuple[str, float]], size: int) -> list[tuple[str, float]]:
    """So many with the greatest scores, the greatest first; equals in the order of the words."""
    return heapq.nsmallest(size, scored, key=lambda each: (-each[1], each[0]))


def _keep(found: dict[str, float], words: str, score: float) -> None:
    found[words] = max(score, found.get(words, score))
