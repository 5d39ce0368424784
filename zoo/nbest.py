"""n-best lists, lattices as paths, and their rescoring.

As text, a line for each hypothesis, `ID ||| HYPOTHESIS ||| SCORE`; further scores may follow, after
blanks or `|||`, and are added up. `ID ||| WORDS ||| reference` tells what was said. As JSON lines,
a line for each list: {"id": …, "hypotheses": [{"text": …, "score": …}, …], "reference": …}.
Scores are logarithms, the more the better; a reference is needed to tune weights and count errors.

    total(h) = score(h) + α·log p(h) + β·words(h)

α and β are those of a grid with which a development file has the fewest word errors.

A `Channel` makes such lists from any text. Its language model knows words one by one:

    score(words) = Σ log f(word) − cost · edits

f is the frequency of a word in Lexique. By the phonetic channel a word becomes one that sounds the
same, or an elided word and another become one (*l'a*, *la*) and back, for nothing; by the spelling
channel a word becomes one that is a letter away.
"""

import heapq
import json
import math
import re
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from accord.corpora.text import lines, parse_line
from accord.errors import AccordError
from accord.lexicon.homophones import Homophones
from accord.models.common.files import whole
from accord.pipeline.ask.scorer import Scorer

REFERENCE = "reference"


@dataclass
class NBest:
    """The hypotheses for one utterance with their scores, and what was said if it is known."""

    id: str
    texts: list[str] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    reference: str | None = None


def read_nbest(path: Path) -> list[NBest]:
    """The lists of a file, in order; errors name the line."""
    lists: dict[str, NBest] = {}
    for number, line in enumerate(lines(path), start=1):
        line = line.removeprefix("\ufeff") if number == 1 else line
        if not line.strip():
            continue
        try:
            for name, text, score in _from_json(line) if line.startswith("{") else _from_text(line):
                found = lists.setdefault(name, NBest(name))
                if not isinstance(text, str) or not text.split():
                    raise AccordError("expected words in a hypothesis, found none")
                if score is None:
                    if found.reference not in (None, text):
                        raise AccordError(f"expected one reference of '{name}', found another")
                    found.reference = text
                else:
                    found.texts.append(text)
                    found.scores.append(score)
        except ValueError as error:
            raise AccordError(f"{path}, line {number}: {error}") from None
    without = next((found.id for found in lists.values() if not found.texts), None)
    if without is not None or not lists:
        where = f"'{without}' has" if lists else "there is"
        raise AccordError(f"{path}: expected hypotheses, but {where} none")
    return list(lists.values())


def write_nbest(path: Path, lists: Iterable[NBest]) -> None:
    """Lists as JSON lines."""
    with whole(path) as partial, partial.open("w", encoding="utf-8") as file:
        for found in lists:
            scored = zip(found.texts, found.scores, strict=True)
            hypotheses = [{"text": text, "score": score} for text, score in scored]
            line = {"id": found.id, "reference": found.reference, "hypotheses": hypotheses}
            print(json.dumps(line, ensure_ascii=False), file=file)


def _from_text(line: str) -> Iterator[tuple[str, str, float | None]]:
    name, *fields = (part.strip() for part in line.split("|||"))
    if not name or len(fields) < 2:
        raise AccordError(f"expected ID ||| HYPOTHESIS ||| SCORE, found {line!r}")
    text, *scores = fields
    yield name, text, None if scores == [REFERENCE] else _sum(" ".join(scores).split())


def _from_json(line: str) -> Iterator[tuple[str, str, float | None]]:
    try:
        content = parse_line(line)
        name, hypotheses = str(content["id"]), content["hypotheses"]
        pairs = [(each["text"], [each["score"]]) for each in hypotheses]
    except ValueError as error:
        raise AccordError(f"expected JSON, but {error}") from None
    except (KeyError, TypeError) as missing:
        expected = 'expected {"id", "hypotheses": [{"text", "score"}, …]}'
        raise AccordError(f"{expected}, but {missing} is missing or wrong") from None
    yield from ((name, text, _sum(scores)) for text, scores in pairs)
    if content.get("reference") is not None:
        yield name, content["reference"], None


def _sum(scores: list) -> float:
    try:
        total = sum(float(score) for score in scores)
    except (TypeError, ValueError, OverflowError):
        total = math.nan
    if not scores or not math.isfinite(total):
        found = " ".join(map(str, scores)) or "nothing"
        raise AccordError(f"expected finite numbers as scores, or '{REFERENCE}'; found {found}")
    return total


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
            raise AccordError(f"'{self.id}': expected a path with words from node 0 to an end")
        texts, scores = zip(*best(whole.items(), size), strict=True)
        return NBest(self.id, list(texts), list(scores), reference)


def best(scored: Iterable[tuple[str, float]], size: int) -> list[tuple[str, float]]:
    """The `size` best by score, the best first; equals in the order of the words."""
    return heapq.nsmallest(size, scored, key=lambda each: (-each[1], each[0]))


def _keep(found: dict[str, float], words: str, score: float) -> None:
    found[words] = max(score, found.get(words, score))


# In units in which log p, or the number of words, varies as much as the recogniser's score does.
MODEL_WEIGHTS = np.concatenate([[0], np.geomspace(0.02, 50, 60)])
WORD_WEIGHTS = np.concatenate([[0], *np.outer(np.geomspace(0.05, 20, 15), [1, -1])])


@dataclass(frozen=True)
class Weights:
    model: float  # α
    word: float  # β: what each word adds

    def totals(self, terms: "Terms") -> np.ndarray:
        """The total score of each hypothesis."""
        return terms.score + self.model * terms.log_p + self.word * terms.words

    def best(self, terms: "Terms") -> np.ndarray:
        """The position of the best hypothesis of each list."""
        return self.totals(terms).argmax(axis=1)


@dataclass(frozen=True, eq=False)
class Terms:
    """The terms of a ranking, a row for each list, padded with scores of −inf."""

    score: np.ndarray
    log_p: np.ndarray
    words: np.ndarray
    unknown: Sequence[str]  # words without probability; their lists stay as they are

    @classmethod
    def of(cls, lists: Sequence[NBest], scorer: Scorer, backward: Scorer | None = None) -> "Terms":
        """Of a model; with a backward model beside it, log p is the mean of both."""
        if backward is not None:
            one, other = cls.of(lists, scorer), cls.of(lists, backward)
            unknown = sorted({*one.unknown, *other.unknown})
            return replace(one, log_p=(one.log_p + other.log_p) / 2, unknown=unknown)
        read = scorer.read(text for found in lists for text in found.texts)
        words = [[*islice(read, len(found.texts))] for found in lists]
        unknown = [_unknown(of_list, scorer) for of_list in words]
        known = [of_list for of_list, missing in zip(words, unknown, strict=True) if not missing]
        log_p = iter(scorer.log_p([*chain.from_iterable(known)]).tolist() if known else [])
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


@dataclass(frozen=True)
class RankMeasures:
    """How a ranking places the best hypothesis of each list, that with the fewest word errors.

    Of hypotheses with equally few errors the first in the ranking counts. Ranks begin at 1.
    """

    first: float  # share of lists whose best hypothesis is ranked first
    reciprocal: float  # mean of 1 / rank
    rank: float  # mean rank
    sentences: float  # share of lists whose first hypothesis has a word error

    @classmethod
    def of(cls, lists: Sequence[NBest], totals: np.ndarray) -> "RankMeasures":
        """Of the total scores of all hypotheses, a row for each list, padded with −inf."""
        ranks, wrong = [], []
        for found, row in zip(lists, totals, strict=True):
            reference = _reference(found)
            errors = np.array([distance(text.split(), reference) for text in found.texts])
            ranked = errors[np.argsort(-row[: len(errors)], kind="stable")]
            ranks.append(1 + int(np.argmin(ranked)))
            wrong.append(ranked[0] > 0)
        at = np.array(ranks)
        return cls(*(float(np.mean(each)) for each in (at == 1, 1 / at, at, wrong)))


def oracle(lists: Sequence[NBest]) -> list[int]:
    """The position of the hypothesis with the fewest word errors in each list."""
    return [
        int(np.argmin([distance(text.split(), _reference(found)) for text in found.texts]))
        for found in lists
    ]


def _reference(found: NBest) -> list[str]:
    if found.reference is None:
        raise AccordError(f"'{found.id}' has no reference: expected one for every list")
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


UNSEEN = 0.01  # occurrences per million words: the least that Lexique counts
MILLION = 1e6
COST = 6.0  # nats: about one word in 400 is mistyped
LETTERS = "abcdefghijklmnopqrstuvwxyzàâçéèêëîïôùûü"
WORD = re.compile(r"[^\W\d_][\w'-]*")


class Channel:
    """Makes lattices from sentences; with a vocabulary, only its words occur."""

    def __init__(
        self,
        homophones: Homophones,
        spelling: bool = False,
        vocabulary: Container[str] | None = None,
    ):
        self.homophones = homophones
        self.spelling = spelling
        self.vocabulary = homophones if vocabulary is None else vocabulary

    def lattice(self, name: str, words: Sequence[str]) -> Lattice:
        """The lattice of all words that may have been heard; odd nodes are inside a word."""
        arcs = []
        for place, word in enumerate(words):
            start, middle, end = 2 * place, 2 * place + 1, 2 * place + 2
            arcs.append(self._arc(start, end, word))
            for other, cost in self._heard(word).items():
                arcs.append(self._arc(start, end, other, cost))
            for elided, other in self.homophones.parted(word):
                if elided in self.vocabulary and other in self.vocabulary:
                    arcs += [self._arc(start, middle, elided), self._arc(middle, end, other)]
            for other in self.homophones.joined(word, *words[place + 1 : place + 2] or [""]):
                if other in self.vocabulary:
                    arcs.append(self._arc(start, end + 2, other))
        return Lattice(name, tuple(dict.fromkeys(arcs)), {2 * len(words): 0.0})

    def _heard(self, word: str) -> dict[str, float]:
        """The other words that a word may become, and their costs."""
        typed = dict.fromkeys(self.typed(word), COST) if self.spelling else {}
        heard = typed | dict.fromkeys(self.homophones.sounding_like(word), 0.0)
        return {other: cost for other, cost in heard.items() if other in self.vocabulary}

    def typed(self, word: str) -> Iterator[str]:
        """The words at one edit from a word: a letter added, dropped, replaced or swapped."""
        if not WORD.fullmatch(word):
            return
        for at in range(len(word) + 1):
            before, letter, after = word[:at], word[at : at + 1], word[at + 1 :]
            edits = [before + new + letter + after for new in LETTERS]
            if letter:
                edits += [before + new + after for new in ("", *LETTERS)]
                edits.append(before + after[:1] + letter + after[1:])
            yield from (other for other in edits if other in self.homophones and other != word)

    def _arc(self, start: int, end: int, word: str, cost: float = 0.0) -> Arc:
        frequency = max(self.homophones.count(word), UNSEEN) / MILLION
        return Arc(start, end, word, math.log(frequency) - cost)
