"""n-best lists and lattices of Kaldi and HTK: read, written, made from text, rescored.

As text, a line for each hypothesis, `ID ||| HYPOTHESIS ||| SCORE`; further scores may follow, after
blanks or `|||`, and are added up. `ID ||| WORDS ||| reference` tells what was said. As JSON lines,
a line for each list: {"id": …, "hypotheses": [{"text": …, "score": …}, …], "reference": …}.
Scores are logarithms, the more the better; a reference is needed to tune weights and count errors.

    total(h) = score(h) + α·log p(h) + β·words(h)

α and β are those of a grid with which a development file has the fewest word errors.

A `Channel` makes such lists from any text, by the frequencies f of words in Lexique:

    score(words) = Σ log f(word) − cost · edits

By the phonetic channel a word becomes one that sounds the same, or an elided word and another
become one (*l'a*, *la*) and back, for nothing; by the spelling channel, one that is a letter away.

Lattices in Kaldi's text form, as `lattice-copy ark:lat.1 ark,t:- | utils/int2sym.pl -f 3 words.txt`
prints them:

    ID                          begins a lattice, which a blank line ends
    START END WORD GRAPH,ACOUSTIC,ALIGNMENT
    END GRAPH,ACOUSTIC,         a final state

Costs are negative logarithms and are added up; what is not there costs nothing, `<eps>` is no word.
What was said stands in a file of the same name that ends in `.txt`: the ID, then words.

Lattices in HTK's Standard Lattice Format (SLF), which SRILM's lattice-tool writes too:

    VERSION=1.0                       a header begins a lattice: `cat` puts several into one file
    UTTERANCE=ID lmscale=12 base=10   further names tell nothing of words
    N=3 L=2                           how many nodes and links there are
    I=1 t=0.36 W=le                   a node; its word may stand on the links that end there instead
    J=0 S=0 E=1 a=-318.2 l=-2.1       a link from a node to another

    score = acscale·a + lmscale·l + ngscale·n + prscale·r, and for a word wdpenalty, in nats

a, l, n and r are logarithms to the base e, or `base`; if that is 0 they are probabilities. `!NULL`
and the marks of a sentence's start and end are no words.
"""

import heapq
import json
import math
import re
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from graphlib import CycleError, TopologicalSorter
from io import TextIOWrapper
from itertools import chain, groupby, islice, pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, NamedTuple

import numpy as np

from accord.corpora.sources import read_words
from accord.corpora.text import OPENERS, kind, lines, open_bytes, parse_line
from accord.errors import AccordError
from accord.lexicon.homophones import Homophones
from accord.models.common.files import whole
from accord.pipeline.ask.scorer import Scorer
from accord.pipeline.base.messages import counted, echo, say
from accord.pipeline.cli.console import AtLeast1, command, make_room
from accord.pipeline.cli.model import load_backward, load_model
from accord.pipeline.data.catalogue import folder_of

REFERENCE = "reference"


@dataclass
class NBest:
    """The hypotheses for one utterance with their scores, and what was said if it is known."""

    id: str
    texts: list[str] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    reference: str | None = None


def read_nbest(path: Path) -> list[NBest]:
    """Read the lists of a file, in order; errors name the line."""
    lists: dict[str, NBest] = {}
    for number, line in enumerate(lines(path), start=1):
        line = line.removeprefix("\ufeff") if number == 1 else line
        if not line.strip():
            continue
        try:
            for name, text, score in _from_json(line) if line.startswith("{") else _from_text(line):
                nbest = lists.setdefault(name, NBest(name))
                if not isinstance(text, str) or not text.split():
                    raise AccordError("expected words in a hypothesis, found none")
                if score is None:
                    if nbest.reference not in (None, text):
                        raise AccordError(f"expected one reference of '{name}', found another")
                    nbest.reference = text
                else:
                    nbest.texts.append(text)
                    nbest.scores.append(score)
        except ValueError as error:
            raise AccordError(f"{path}, line {number}: {error}") from None
    without = next((nbest.id for nbest in lists.values() if not nbest.texts), None)
    if without is not None or not lists:
        where = f"'{without}' has" if lists else "there is"
        raise AccordError(f"{path}: expected hypotheses, but {where} none")
    return list(lists.values())


def write_nbest(path: Path, lists: Iterable[NBest]) -> None:
    """Lists as JSON lines."""
    with whole(path) as partial, partial.open("w", encoding="utf-8") as file:
        for nbest in lists:
            scored = zip(nbest.texts, nbest.scores, strict=True)
            hypotheses = [{"text": text, "score": score} for text, score in scored]
            line = {"id": nbest.id, "reference": nbest.reference, "hypotheses": hypotheses}
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
        pairs = [(hypothesis["text"], [hypothesis["score"]]) for hypothesis in hypotheses]
    except ValueError as error:
        raise AccordError(f"expected JSON, but {error}") from None
    except (KeyError, TypeError) as missing:
        expected = 'expected {"id", "hypotheses": [{"text", "score"}, …]}'
        raise AccordError(f"{expected}, but {missing} is missing or wrong") from None
    yield from ((name, text, _sum(scores)) for text, scores in pairs)
    if content.get("reference") is not None:
        yield name, content["reference"], None


def _sum(scores: list) -> float:
    total = _plain_sum(scores)
    if not scores or not math.isfinite(total):
        written = " ".join(map(str, scores)) or "nothing"
        raise AccordError(f"expected finite numbers as scores, or '{REFERENCE}'; found {written}")
    return total


def _plain_sum(numbers: Iterable) -> float:
    """Return the sum of numbers as they are written; nan if one is none."""
    try:
        return sum(map(float, numbers))
    except (TypeError, ValueError, OverflowError):
        return math.nan


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
        """Return the paths of different words with the greatest sums of scores, exactly.

        What is among the best at a node has a beginning that is among the best where it begins;
        one more is kept there, as the path without words, which is none at the end, may be one.
        """
        leaving, final = defaultdict(list), math.inf
        ends = (Arc(node, final, "", score) for node, score in self.ends.items())
        for arc in chain(self.arcs, ends):
            leaving[arc.start].append(arc)
        reached: dict[float, dict[str, float]] = defaultdict(dict, {0: {"": 0.0}})
        for node in sorted(leaving):
            for words, score in best(reached[node].items(), size + 1):
                for arc in leaving[node]:
                    longer, scores = f"{words} {arc.word}".strip(), reached[arc.end]
                    scores[longer] = max(score + arc.score, scores.get(longer, -math.inf))
        reached[final].pop("", None)
        if not reached[final]:
            raise AccordError(f"'{self.id}': expected a path with words from node 0 to an end")
        texts, scores = zip(*best(reached[final].items(), size), strict=True)
        return NBest(self.id, list(texts), list(scores), reference)


def best(scored: Iterable[tuple[str, float]], size: int) -> list[tuple[str, float]]:
    """Return the `size` best by score, the best first; equals in the order of the words."""
    return heapq.nsmallest(size, scored, key=lambda pair: (-pair[1], pair[0]))


# In units in which log p, or the number of words, varies as much as the recogniser's score does.
MODEL_WEIGHTS = np.concatenate([[0], np.geomspace(0.02, 50, 60)])
WORD_WEIGHTS = np.concatenate([[0], *np.outer(np.geomspace(0.05, 20, 15), [1, -1])])


class Weights(NamedTuple):
    model: float  # α
    word: float  # β: what each word adds

    def totals(self, terms: "Terms") -> np.ndarray:
        """Return the total score of each hypothesis."""
        return terms.score + self.model * terms.log_p + self.word * terms.words

    def best(self, terms: "Terms") -> np.ndarray:
        """Return the position of the best hypothesis of each list."""
        return self.totals(terms).argmax(axis=1)


@dataclass(frozen=True, eq=False)
class Terms:
    """The terms of a ranking, a row for each list, padded with scores of −inf."""

    score: np.ndarray
    log_p: np.ndarray
    words: np.ndarray
    unknown: Sequence[str]  # words without probability; their lists stay as they are

    @classmethod
    def scored(cls, lists: Sequence[NBest], scorer: Scorer, backward: Scorer | None = None):
        """Return the terms of a model; with a backward model, log p is the mean of both."""
        if backward is not None:
            one, other = cls.scored(lists, scorer), cls.scored(lists, backward)
            unknown = sorted({*one.unknown, *other.unknown})
            return replace(one, log_p=(one.log_p + other.log_p) / 2, unknown=unknown)
        read = scorer.read(text for nbest in lists for text in nbest.texts)
        words = [[*islice(read, len(nbest.texts))] for nbest in lists]
        unknown = [
            {w for w in chain(*texts) if not (scorer.is_open or w in scorer.vocabulary.known)}
            for texts in words
        ]
        known = [texts for texts, missing in zip(words, unknown, strict=True) if not missing]
        log_p = iter(scorer.log_p([*chain(*known)]).tolist() if known else [])
        shape = len(lists), max(len(nbest.texts) for nbest in lists)
        score, model, length = np.full(shape, -np.inf), np.zeros(shape), np.zeros(shape)
        for row, (nbest, texts, missing) in enumerate(zip(lists, words, unknown, strict=True)):
            count = len(texts)
            score[row, :count] = nbest.scores
            if not missing:
                model[row, :count] = [*islice(log_p, count)]
                length[row, :count] = [*map(len, texts)]
        return cls(score, model, length, sorted(set().union(*unknown)))


def tuned(lists: Sequence[NBest], terms: Terms) -> Weights:
    """Return the weights with the fewest word errors; among equals the lightest."""
    errors, rows = word_errors(lists), np.arange(len(lists))
    unit = _spread(terms.score)
    grid = [
        Weights(model * unit / _spread(terms.log_p), word * unit / _spread(terms.words))
        for model in MODEL_WEIGHTS
        for word in WORD_WEIGHTS
    ]
    return min(grid, key=lambda weights: errors[rows, weights.best(terms)].sum())


def _spread(values: np.ndarray) -> float:
    """Return the mean standard deviation within lists, 1 if it is 0."""
    finite = np.where(np.isfinite(values), values, np.nan)
    varies = np.nanmean(np.nanstd(finite, axis=1))
    return float(varies) if varies > 0 else 1.0


def word_errors(lists: Sequence[NBest]) -> np.ndarray:
    """Return the word errors of each hypothesis, a row for each list, padded with ∞."""
    if without := [nbest.id for nbest in lists if nbest.reference is None]:
        raise AccordError(f"'{without[0]}' has no reference: expected one for every list")
    errors = np.full((len(lists), max(len(nbest.texts) for nbest in lists)), np.inf)
    for row, nbest in zip(errors, lists, strict=True):
        reference = nbest.reference.split()
        row[: len(nbest.texts)] = [distance(text.split(), reference) for text in nbest.texts]
    return errors


def error_rate(lists: Sequence[NBest], chosen: Sequence[int] | None = None) -> float:
    """Word errors of the chosen hypotheses, or of the best ones, by words of the references."""
    errors = word_errors(lists)
    fewest = errors.min(axis=1) if chosen is None else errors[np.arange(len(lists)), chosen]
    return fewest.sum() / sum(len(nbest.reference.split()) for nbest in lists)


def ranks_of_the_best(lists: Sequence[NBest], totals: np.ndarray) -> str:
    """Say how a ranking places the best hypothesis of each list, that with the fewest word errors.

    Of hypotheses with equally few errors the first in the ranking counts. Ranks begin at 1.
    """
    order = np.argsort(-totals, axis=1, kind="stable")
    ranked = np.take_along_axis(word_errors(lists), order, axis=1)
    rank = 1 + ranked.argmin(axis=1)
    return (
        f"first in {np.mean(rank == 1):.1%}, mean {rank.mean():.2f}, mean reciprocal "
        f"{np.mean(1 / rank):.3f}; sentences with an error {np.mean(ranked[:, 0] > 0):.1%}"
    )


def distance(words: Sequence[str], reference: Sequence[str]) -> int:
    """Count the insertions, deletions and substitutions between both, at least (Levenshtein)."""
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

    def __init__(self, homophones: Homophones, spelling=False, vocabulary=None):
        self.homophones, self.spelling = homophones, spelling
        self.vocabulary: Container[str] = homophones if vocabulary is None else vocabulary

    def lattice(self, name: str, words: Sequence[str]) -> Lattice:
        """Return the lattice of all words that may have been heard; odd nodes are inside a word."""
        arcs, known = [], self.vocabulary
        for place, word in enumerate(words):
            start, middle, end = 2 * place, 2 * place + 1, 2 * place + 2
            heard = dict.fromkeys(self.typed(word), COST) if self.spelling else {}
            heard |= dict.fromkeys(self.homophones.sounding_like(word), 0.0)
            arcs.append((start, end, word, 0.0))
            arcs += [(start, end, other, cost) for other, cost in heard.items() if other in known]
            for elided, other in self.homophones.parted(word):
                if elided in known and other in known:
                    arcs += [(start, middle, elided, 0.0), (middle, end, other, 0.0)]
            joined = self.homophones.joined(word, *words[place + 1 : place + 2] or [""])
            arcs += [(start, end + 2, other, 0.0) for other in joined if other in known]
        count = self.homophones.count
        scored = (
            Arc(start, end, word, math.log(max(count(word), UNSEEN) / MILLION) - cost)
            for start, end, word, cost in arcs
        )
        return Lattice(name, tuple(dict.fromkeys(scored)), {2 * len(words): 0.0})

    def typed(self, word: str) -> Iterator[str]:
        """Yield the words at one edit from a word: a letter added, dropped, replaced or swapped."""
        if not WORD.fullmatch(word):
            return
        for at in range(len(word) + 1):
            left, letter, right = word[:at], word[at : at + 1], word[at + 1 :]
            edits = [left + new + letter + right for new in LETTERS]
            if letter:
                edits += [left + new + right for new in ("", *LETTERS)]
                edits.append(left + right[:1] + letter + right[1:])
            yield from (other for other in edits if other in self.homophones and other != word)


SILENT = "<eps>"


def _from_kaldi(block: Iterable[str]) -> Lattice:
    """Read a lattice from the lines between two blank lines."""
    arcs, ends, name = [], {}, ""
    for fields in map(str.split, block):
        if not name and len(fields) == 1:
            (name,) = fields
        elif not name:
            raise AccordError(f"expected the ID of a lattice, found {' '.join(fields)!r}")
        elif len(fields) < 3:
            ends[_node(fields[0])] = -_cost(fields[1:])
        elif len(fields) > 4:
            raise AccordError(f"expected START END WORD COSTS, found {' '.join(fields)!r}")
        else:
            start, end = map(_node, fields[:2])
            if start >= end:
                raise AccordError(f"expected an arc to a later node, found {start} to {end}")
            word = "" if fields[2] == SILENT else fields[2]
            arcs.append(Arc(start, end, word, -_cost(fields[3:])))
    return Lattice(name, tuple(arcs), ends)


def kaldi_text_of(lattice: Lattice) -> str:
    """Write a lattice as text, with the blank line that ends it."""
    arcs = (f"{a.start} {a.end} {a.word or SILENT} {-a.score},0," for a in lattice.arcs)
    ends = (f"{node} {-score},0," for node, score in lattice.ends.items())
    return "\n".join([lattice.id, *arcs, *ends, "", ""])


def _node(text: str) -> int:
    if not text.isdecimal():
        raise AccordError(f"expected the number of a node, found {text!r}")
    return int(text)


def _cost(fields: Sequence[str]) -> float:
    """Return the sum of graph and acoustic cost; the alignment behind them is not read."""
    total = _plain_sum(part for part in (fields[0].split(",")[:2] if fields else []) if part)
    if not math.isfinite(total):
        raise AccordError(f"expected finite costs GRAPH,ACOUSTIC, found {fields[0]!r}")
    return total


KALDI, HTK = ".lat", ".slf"  # lattices of HTK are also read if they end as Kaldi's do
SIZE = 100  # so many of the best paths of a lattice are ranked anew


def is_lattice_file(path: Path) -> bool:
    return kind(path) in (KALDI, HTK)


def read_lists(path: Path) -> list[NBest]:
    """Read the n-best lists of a file, or the best paths of its lattices."""
    if not is_lattice_file(path):
        return read_nbest(path)
    texts = _references_of(path)
    named = (line.strip().partition(" ") for line in (lines(texts) if texts.is_file() else ()))
    references = {name: words for name, _, words in named}
    return [lattice.nbest(SIZE, references.get(lattice.id)) for lattice in read_lattices(path)]


def read_lattices(path: Path) -> list[Lattice]:
    """Read the lattices of a file, in order; errors name the line.

    A lattice of HTK without a name has the file's, and its number if it is not the first.
    """
    numbered = [
        (number, line.removeprefix("\ufeff").strip(" \t\r\n\f\v"))
        for number, line in enumerate(lines(path), start=1)
    ]
    told = [(number, line) for number, line in numbered if line and not line.startswith("#")]
    is_htk = kind(path) == HTK or bool(told and HEADER.match(told[0][1]))
    if is_htk:  # a header that follows a body begins a lattice
        bodies = [bool(BODY.match(line)) for _, line in told]
        starts = [n for n, body in enumerate(bodies) if not n or (bodies[n - 1] and not body)]
        blocks = [told[start:end] for start, end in pairwise([*starts, len(told)])]
    else:  # blank lines stand between lattices
        groups = groupby(numbered, key=lambda line: bool(line[1].split()))
        blocks = [[*block] for is_filled, block in groups if is_filled]
    if not blocks:
        raise AccordError(f"{path}: expected lattices, but there is none")
    stem, lattices = path.name.partition(".")[0], []
    for place, block in enumerate(blocks, start=1):
        reading = _Block(block)
        try:
            if is_htk:
                lattice = _from_htk(reading, stem + f"-{place}" * (place > 1))
            else:
                lattice = _from_kaldi(reading)
            lattice.nbest(1)  # or an error: there must be a path
        except ValueError as error:
            raise AccordError(f"{path}, line {reading.number}: {error}") from None
        lattices.append(lattice)
    return lattices


class _Block:
    """Numbered lines, and the number of the one that was read last."""

    def __init__(self, block: list[tuple[int, str]]):
        self.block, self.number = block, block[0][0]

    def __iter__(self) -> Iterator[str]:
        for number, line in self.block:
            self.number = number
            yield line


def write_lattices(path: Path, lattices: Iterable[tuple[Lattice, str]]) -> None:
    """Write lattices, and the references to a file beside them."""
    text_of = slf_text_of if kind(path) == HTK else kaldi_text_of
    with ExitStack() as stack:
        file, texts = (
            stack.enter_context(TextIOWrapper(open_bytes(target, "wb"), "utf-8", newline="\n"))
            for target in [stack.enter_context(whole(to)) for to in (path, _references_of(path))]
        )
        for lattice, reference in lattices:
            file.write(text_of(lattice))
            print(lattice.id, reference, file=texts)


def _references_of(path: Path) -> Path:
    plain = path.with_suffix("") if path.suffix in OPENERS else path
    return plain.with_suffix(".txt")


NULL = "!NULL"
HTK_SILENT = {NULL, "!SENT_START", "!SENT_END", "<s>", "</s>"}  # nodes that are no words

SHORT = {
    **{"UTTERANCE": "U", "SUBLAT": "S", "NODES": "N", "LINKS": "L"},
    **{"START": "S", "END": "E", "WORD": "W", "acoustic": "a", "language": "l", "ngram": "n"},
}
VALUE = r"""("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|(?!["'])(?:\\.|[^\s\\])+)(?=\s|$)"""
FIELD = re.compile(rf"(\w+)={VALUE}\s*", re.ASCII)
ESCAPE = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
TO_ESCAPE = re.compile(r"^[\"']|[\\\s\x00-\x1f\x7f]", re.ASCII)


def fields_of(line: str) -> dict[str, str]:
    """Return the values of a line by their short names, without quotes and escapes.

    The line ends where a `#` begins a comment.
    """
    values: dict[str, str] = {}
    at = 0
    while at < len(line) and line[at] != "#":
        field = FIELD.match(line, at)
        if field is None:
            raise AccordError(f"expected NAME=VALUE, found {line[at : at + 40]!r}")
        name = SHORT.get(field[1], field[1])
        if name in values:
            raise AccordError(f"expected {name}= once in a line")
        inside = field[2][1:-1] if field[2][0] in "\"'" else field[2]
        try:
            plain = ESCAPE.sub(
                lambda code: bytes([int(code[1], 8)]) if len(code[1]) == 3 else code[1],
                inside.encode(),
            ).decode()
        except ValueError:
            raise AccordError(f"expected bytes of UTF-8, found {field[2][:40]!r}") from None
        values[name] = " ".join(plain.split())
        at = field.end()
    return values


def number_of(name: str, value: str) -> float:
    number = math.nan if "_" in value else _plain_sum([value])
    if not math.isfinite(number):
        raise AccordError(f"expected a finite number, found {name}={value[:40]}")
    return number


def whole_number_of(name: str, fields: dict[str, str]) -> int:
    value = fields.get(name, "nothing")
    if not value.isdecimal() or len(value) > 18:
        raise AccordError(f"expected {name}= and a whole number, found {value[:40]}")
    return int(value)


def escaped(value: str) -> str:
    """Return a value as it stands in a field."""
    return TO_ESCAPE.sub(lambda character: f"\\{ord(character[0]):03o}", value)


SCALES = {"a": "acscale", "l": "lmscale", "n": "ngscale", "r": "prscale"}
HEADER = re.compile(r"(VERSION|V|UTTERANCE|U|NODES|N|LINKS|L|base|dir|vocab|hmms|lmname|\w+scale)=")
BODY = re.compile(r"[IJ]=")


def _from_htk(block: Iterable[str], name: str) -> Lattice:
    read = _Read()
    for line in block:
        read.line(fields_of(line))
    return read.lattice(name)


class _Label(NamedTuple):
    """The label of a node or a link: a word, "" if it is silent, and scores in nats."""

    word: str | None = None  # None: it does not say
    scores: Mapping[str, float] = MappingProxyType({})


class _Read:
    """A lattice as far as it was read."""

    def __init__(self):
        self.header: dict[str, str] = {}
        self.nodes: dict[int, _Label] = {}
        self.links: dict[int, tuple[int, int, _Label]] = {}

    def line(self, fields: dict[str, str]) -> None:
        first = next(iter(fields))
        if first != "J" and (part := fields.get("L" if first == "I" else "S")) is not None:
            name = "L" if first == "I" else "SUBLAT"
            raise AccordError(f"expected no sub-lattice, found {name}={part}")
        if first == "I":
            self.nodes[self._number(fields, "I", "N", self.nodes)] = self._label(fields)
        elif first == "J":
            number = self._number(fields, "J", "L", self.links)
            start, end = (self._number(fields, name, "N") for name in "SE")
            self.links[number] = start, end, self._label(fields)
        else:
            if fields.get("dir", "f") != "f":
                raise AccordError(f"expected dir=f, found dir={fields['dir']}")
            for name in {"base", "wdpenalty", *SCALES.values()} & fields.keys():
                number_of(name, fields[name])
            self.header |= fields

    def _number(self, fields: dict[str, str], name: str, size: str, known: Container = ()) -> int:
        """Return the number of a node or link, which is below the header's number of them."""
        number, count = whole_number_of(name, fields), whole_number_of(size, self.header)
        if number >= count:
            raise AccordError(f"expected {name} below {size}={count}, found {number}")
        if number in known:
            raise AccordError(f"expected {name}={number} once")
        return number

    def _setting(self, name: str, default: float = 1.0) -> float:
        return float(self.header.get(name, default))

    def _label(self, fields: dict[str, str]) -> _Label:
        word = fields.get("W")
        if word == "":
            raise AccordError("expected a word, found blanks alone")
        base, scores = self._setting("base"), {}  # the scores are in nats; HTK writes 1 for e
        for name in filter(fields.__contains__, SCALES):
            value = number_of(name, fields[name])
            if base < 0 or (base == 0 and value <= 0):
                expected = "a probability above 0" if base == 0 else "a base of 0 or more"
                fault = f"base={base:g} and {name}={fields[name]}"
                raise AccordError(f"expected {expected}, found {fault}")
            nats = math.log(value) if base == 0 else value * (math.log(base) if base != 1 else 1)
            scores[name] = self._setting(SCALES[name]) * nats
        return _Label("" if word in HTK_SILENT else word, scores)

    def lattice(self, name: str) -> Lattice:
        """Return the whole, its nodes numbered in the order in which paths meet them."""
        links = [self.links[number] for number in sorted(self.links)]
        nodes = {node for link in links for node in link[:2]}
        sizes = [("L", "links", links), ("N", "nodes with links", nodes)]
        for size, what, read in [*sizes, *[("N", "lines of nodes", self.nodes)] * bool(self.nodes)]:
            if len(read) != whole_number_of(size, self.header):
                raise AccordError(f"expected {size}={self.header[size]} {what}, found {len(read)}")
        first = _only(nodes - {end for _, end, _ in links}, "leads to")
        last = _only(nodes - {start for start, _, _ in links}, "leaves")
        if self.nodes.get(first, _Label()).word:
            links.append((-1, first, _Label()))
        predecessors = defaultdict(set)
        for start, end, _ in links:
            predecessors[end].add(start)
        try:
            order = [*TopologicalSorter(predecessors).static_order()]
        except CycleError:
            raise AccordError("expected links that lead on, found a loop") from None
        place = {node: number for number, node in enumerate(order)}
        arcs = [
            Arc(place[start], place[end], *self._said(end, label)) for start, end, label in links
        ]
        return Lattice(self.header.get("U") or name, tuple(arcs), {place[last]: 0.0})

    def _said(self, end: int, label: _Label) -> tuple[str, float]:
        """Return the word and score of a link; its last node may complete them."""
        node = self.nodes.get(end, _Label())
        if node.word and label.word not in (None, node.word):
            raise AccordError(f"expected the word of node {end}, {node.word}, found {label.word}")
        word = node.word or label.word or ""
        score = sum({**node.scores, **label.scores}.values())
        score += self._setting("wdpenalty", 0.0) if word else 0.0
        if not math.isfinite(score):
            raise AccordError(f"expected finite scores, found {score} with {word or 'no word'}")
        return word, score


def _only(nodes: set[int], what: str) -> int:
    if len(nodes) != 1:
        raise AccordError(f"expected one node that no link {what}, found {len(nodes)}")
    return nodes.pop()


def slf_text_of(lattice: Lattice) -> str:
    """Write a lattice as text; HTK knows one end, to which a silent link leads from each."""
    last = 1 + max([*lattice.ends, *(arc.end for arc in lattice.arcs)])
    ends = (Arc(node, last, "", score) for node, score in lattice.ends.items())
    arcs = _on_paths([*lattice.arcs, *ends], last)
    number = {node: n for n, node in enumerate(sorted({node for arc in arcs for node in arc[:2]}))}
    words, links = [NULL] * len(number), []
    for arc in arcs:
        start, end = number[arc.start], number[arc.end]
        if arc.word:
            links.append(f"S={len(words)} E={end}")
            end = len(words)
            if arc.word in HTK_SILENT:
                raise AccordError(
                    f"'{arc.word}' is no word in HTK's lattices: expected no such word"
                )
            words.append(escaped(arc.word))
        links.append(f"S={start} E={end} a={arc.score}")
    header = ["VERSION=1.0", f"UTTERANCE={escaped(lattice.id)}", f"N={len(words)} L={len(links)}"]
    nodes = (f"I={n} W={word}" for n, word in enumerate(words))
    return "\n".join([*header, *nodes, *(f"J={n} {link}" for n, link in enumerate(links)), ""])


def _on_paths(arcs: list[Arc], last: int) -> list[Arc]:
    """Return the arcs between the first node and the last."""
    reached, leading = {0}, {last}
    for arc in sorted(arcs, key=lambda arc: arc.start):
        if arc.start in reached:
            reached.add(arc.end)
    for arc in sorted(arcs, key=lambda arc: -arc.end):
        if arc.end in leading:
            leading.add(arc.start)
    return [arc for arc in arcs if arc.start in reached and arc.end in leading]


@command
def rescore(
    nbest: Path,
    tune: Path | None = None,
    run: Path | None = None,
    model: str | None = None,
    backward: Path | None = None,
    model_weight: float = 1.0,
    word_weight: float = 0.0,
    make: str | None = None,
    split: str | None = None,
    limit: Annotated[int | None, AtLeast1] = None,
    size: Annotated[int, AtLeast1] = 100,
    spelling: bool = False,
    known: bool = False,
) -> None:
    """Rescore n-best lists or lattices with a model and print the best hypothesis of each.

    Args:
        nbest (NBEST): File of n-best lists, in lines ID ||| HYPOTHESIS ||| SCORE or in JSON lines;
            or of lattices in Kaldi's text form or HTK's (SLF), if its name ends in .lat or .slf.
        tune (DEV): File of n-best lists or lattices with references, to tune the weights on.
        run (FOLDER|ID|FILE): Folder of a run or of an exported model, hf:OWNER/NAME on the Hugging
            Face hub, or a file .arpa or .arpa.gz; by default the bundled model.
        model_weight: Weight of the model's log p, if none is tuned.
        word_weight: Score that each word adds, if nothing is tuned.
        make (CORPUS): Write NBEST instead: lists or lattices of homophones of the sentences of a
            corpus, a name or a path, of all of them unless --split or --limit is given.
        size: With --make, number of hypotheses in each list.
        spelling: With --make, confuse words that are one letter apart.
        known: With --make, hear the words of --run alone, of a closed vocabulary.
    """
    if make:
        vocabulary = load_model(run, model).vocabulary.known if known else None
        _make(nbest, make, Channel(Homophones.bundled(), spelling, vocabulary), split, limit, size)
        return
    lists, development = read_lists(nbest), read_lists(tune) if tune else []
    scorer, other = load_model(run, model), load_backward(backward)
    weights = Weights(model_weight, word_weight)
    if tune:
        weights = tuned(development, Terms.scored(development, scorer, other))
        say(f"log p × {weights.model:.4g}, a word {weights.word:+.4g}")
    terms = Terms.scored(lists, scorer, other)
    if terms.unknown:
        say(f"lists with words that the model does not know stay: {', '.join(terms.unknown)}")
    chosen = weights.best(terms)
    for hypotheses, at in zip(lists, chosen, strict=True):
        echo(f"{hypotheses.id} ||| {hypotheses.texts[at]}")
    if all(hypotheses.reference for hypotheses in lists):
        first, reranked = (error_rate(lists, at) for at in (Weights(0, 0).best(terms), chosen))
        least = error_rate(lists)
        say(f"word error rate: {first:.2%} before, {reranked:.2%} after, {least:.2%} at the least")
        for name, weighting in (("before", Weights(0, 0)), ("after", weights)):
            ranks = ranks_of_the_best(lists, weighting.totals(terms))
            say(f"rank of the best hypothesis {name}: {ranks}")


def _make(
    to: Path, corpus: str, channel: Channel, split: str | None, limit: int | None, size: int
) -> None:
    """Write what a recogniser may have heard of each sentence of a corpus."""
    make_room(to)
    sentences = [
        (name, " ".join(words).lower().split())  # 50 000 is two words to a recogniser
        for name, words in islice(read_words(corpus, folder=folder_of, split=split), limit)
    ]
    heard = ((channel.lattice(name, words), " ".join(words)) for name, words in sentences)
    if is_lattice_file(to):
        write_lattices(to, heard)
    else:
        write_nbest(to, (lattice.nbest(size, reference) for lattice, reference in heard))
    echo(f"{counted(len(sentences), 'sentence')}: {to}")
