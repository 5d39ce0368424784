"""Lattices in HTK's Standard Lattice Format (SLF), which SRILM's lattice-tool writes too.

    VERSION=1.0                       a header begins a lattice: `cat` puts several into one file
    UTTERANCE=ID lmscale=12 base=10   further names tell nothing of words
    N=3 L=2                           how many nodes and links there are
    I=1 t=0.36 W=le                   a node; its word may stand on the links that end there instead
    J=0 S=0 E=1 a=-318.2 l=-2.1       a link from a node to another

    score = acscale·a + lmscale·l + ngscale·n + prscale·r, and for a word wdpenalty, in nats

a, l, n and r are logarithms to the base e, or `base`; if that is 0 they are probabilities. `!NULL`
and the marks of a sentence's start and end are no words.
"""

import math
import re
from collections import defaultdict
from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from accord.corpora.text import lines
from accord.errors import AccordError
from accord.zoo.nbest import Arc, Lattice

NULL = "!NULL"
SILENT = {NULL, "!SENT_START", "!SENT_END", "<s>", "</s>"}  # nodes that are no words

SHORT = {
    **{"UTTERANCE": "U", "SUBLAT": "S", "NODES": "N", "LINKS": "L"},
    **{"START": "S", "END": "E", "WORD": "W", "acoustic": "a", "language": "l", "ngram": "n"},
}
VALUE = r"""("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|(?!["'])(?:\\.|[^\s\\])+)(?=\s|$)"""
FIELD = re.compile(rf"(\w+)={VALUE}\s*", re.ASCII)
ESCAPE = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
TO_ESCAPE = re.compile(r"^[\"']|[\\\s\x00-\x1f\x7f]", re.ASCII)


def fields_of(line: str) -> dict[str, str]:
    """The values of a line by their short names; it ends where a `#` begins a comment."""
    found: dict[str, str] = {}
    at = 0
    while at < len(line) and line[at] != "#":
        field = FIELD.match(line, at)
        if field is None:
            raise AccordError(f"expected NAME=VALUE, found {line[at : at + 40]!r}")
        name = SHORT.get(field[1], field[1])
        if name in found:
            raise AccordError(f"expected {name}= once in a line")
        found[name] = _plain(field[2])
        at = field.end()
    return found


def escaped(value: str) -> str:
    """As it stands in a field."""
    return TO_ESCAPE.sub(lambda found: f"\\{ord(found[0]):03o}", value)


def number_of(name: str, value: str) -> float:
    try:
        number = math.nan if "_" in value else float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise AccordError(f"expected a finite number, found {name}={value[:40]}")
    return number


def whole_number_of(name: str, fields: dict[str, str]) -> int:
    value = fields.get(name, "nothing")
    if not value.isdecimal() or len(value) > 18:
        raise AccordError(f"expected {name}= and a whole number, found {value[:40]}")
    return int(value)


def _plain(value: str) -> str:
    """Without quotes and escapes, and with single blanks."""
    inside = value[1:-1] if value[0] in "\"'" else value
    try:
        plain = ESCAPE.sub(_meant, inside.encode()).decode()
    except ValueError:
        raise AccordError(f"expected bytes of UTF-8, found {value[:40]!r}") from None
    return " ".join(plain.split())


def _meant(escape: re.Match[bytes]) -> bytes:
    return bytes([int(escape[1], 8)]) if len(escape[1]) == 3 else escape[1]


SCALES = {"a": "acscale", "l": "lmscale", "n": "ngscale", "r": "prscale"}
HEADER = re.compile(r"(VERSION|V|UTTERANCE|U|NODES|N|LINKS|L|base|dir|vocab|hmms|lmname|\w+scale)=")
BODY = re.compile(r"[IJ]=")


def is_slf(path: Path) -> bool:
    """Whether the first line of a file that says something is of this form's header."""
    return bool(HEADER.match(next((line for _, line in _telling(path)), "")))


def read_lattices(path: Path) -> list[Lattice]:
    """The lattices of a file, in order; errors name the line.

    One without a name has the file's, and its number if it is not the first.
    """
    blocks: list[list[tuple[int, str]]] = []
    was_body = True
    for number, line in _telling(path):
        is_body = bool(BODY.match(line))
        if not blocks or (was_body and not is_body):
            blocks.append([])
        blocks[-1].append((number, line))
        was_body = is_body
    if not blocks:
        raise AccordError(f"{path}: expected lattices, but there is none")
    return [_lattice(path, place, block) for place, block in enumerate(blocks, start=1)]


def _telling(path: Path) -> Iterator[tuple[int, str]]:
    """The numbered lines that are neither blank nor comments."""
    for number, line in enumerate(lines(path), start=1):
        line = line.removeprefix("\ufeff").strip(" \t\r\n\f\v")
        if line and not line.startswith("#"):
            yield number, line


def _lattice(path: Path, place: int, block: list[tuple[int, str]]) -> Lattice:
    read, number = _Read(), block[0][0]
    name = path.name.partition(".")[0] + f"-{place}" * (place > 1)
    try:
        for at, line in block:
            number = at
            read.line(fields_of(line))
        lattice = read.lattice(name)
        lattice.nbest(1)  # or an error: there must be a path
    except ValueError as error:
        raise AccordError(f"{path}, line {number}: {error}") from None
    return lattice


@dataclass(frozen=True)
class _Label:
    """The label of a node or a link: a word, "" if it is silent, and scores in nats."""

    word: str | None = None  # not said here
    scores: dict[str, float] = field(default_factory=dict)


@dataclass
class _Read:
    """A lattice as far as it was read."""

    header: dict[str, str] = field(default_factory=dict)
    nodes: dict[int, _Label] = field(default_factory=dict)
    links: dict[int, tuple[int, int, _Label]] = field(default_factory=dict)

    def line(self, fields: dict[str, str]) -> None:
        first = next(iter(fields))
        if first == "I":
            if "L" in fields:
                raise AccordError(f"expected no sub-lattice, found L={fields['L']}")
            self.nodes[self._new(fields, "I", "N", self.nodes)] = self._label(fields)
        elif first == "J":
            number = self._new(fields, "J", "L", self.links)
            start, end = (self._below(fields, name, "N") for name in "SE")
            self.links[number] = start, end, self._label(fields)
        else:
            self._read_header(fields)

    def _read_header(self, fields: dict[str, str]) -> None:
        if "S" in fields:
            raise AccordError(f"expected no sub-lattice, found SUBLAT={fields['S']}")
        if fields.get("dir", "f") != "f":
            raise AccordError(f"expected dir=f, found dir={fields['dir']}")
        for name in {"base", "wdpenalty", *SCALES.values()} & fields.keys():
            number_of(name, fields[name])
        self.header |= fields

    def _new(self, fields: dict[str, str], name: str, size: str, known: Container[int]) -> int:
        number = self._below(fields, name, size)
        if number in known:
            raise AccordError(f"expected {name}={number} once")
        return number

    def _below(self, fields: dict[str, str], name: str, size: str) -> int:
        number, count = whole_number_of(name, fields), whole_number_of(size, self.header)
        if number >= count:
            raise AccordError(f"expected {name} below {size}={count}, found {number}")
        return number

    def _setting(self, name: str, default: float = 1.0) -> float:
        return float(self.header.get(name, default))

    def _label(self, fields: dict[str, str]) -> _Label:
        if fields.get("W") == "":
            raise AccordError("expected a word, found blanks alone")
        scores = {
            name: self._setting(scale) * self._nats(name, fields[name])
            for name, scale in SCALES.items()
            if name in fields
        }
        word = fields.get("W")
        return _Label("" if word in SILENT else word, scores)

    def _nats(self, name: str, text: str) -> float:
        """A score in nats, by the base of the header; HTK writes 1 for e."""
        base, value = self._setting("base"), number_of(name, text)
        if base < 0 or (base == 0 and value <= 0):
            expected = "a probability above 0" if base == 0 else "a base of 0 or more"
            raise AccordError(f"expected {expected}, found base={base:g} and {name}={text}")
        if base == 0:
            return math.log(value)
        return value if base == 1 else value * math.log(base)

    def lattice(self, name: str) -> Lattice:
        """The whole, its nodes numbered in the order in which paths meet them."""
        links = [self.links[number] for number in sorted(self.links)]
        nodes = {node for link in links for node in link[:2]}
        self._check_size("L", "links", len(links))
        self._check_size("N", "nodes with links", len(nodes))
        if self.nodes:
            self._check_size("N", "lines of nodes", len(self.nodes))
        first = _only(nodes - {end for _, end, _ in links}, "leads to")
        last = _only(nodes - {start for start, _, _ in links}, "leaves")
        if self.nodes.get(first, _Label()).word:
            links.append((-1, first, _Label()))
        place = _order(links)
        arcs = tuple(
            Arc(place[start], place[end], *self._said(end, label)) for start, end, label in links
        )
        return Lattice(self.header.get("U") or name, arcs, {place[last]: 0.0})

    def _check_size(self, size: str, what: str, found: int) -> None:
        if found != whole_number_of(size, self.header):
            raise AccordError(f"expected {size}={self.header[size]} {what}, found {found}")

    def _said(self, end: int, label: _Label) -> tuple[str, float]:
        """The word and score of a link; its last node may complete them."""
        node = self.nodes.get(end, _Label())
        if node.word and label.word not in (None, node.word):
            raise AccordError(f"expected the word of node {end}, {node.word}, found {label.word}")
        word = node.word or label.word or ""
        score = sum((node.scores | label.scores).values())
        score += self._setting("wdpenalty", 0.0) if word else 0.0
        if not math.isfinite(score):
            raise AccordError(f"expected finite scores, found {score} with {word or 'no word'}")
        return word, score


def _only(nodes: set[int], what: str) -> int:
    if len(nodes) != 1:
        raise AccordError(f"expected one node that no link {what}, found {len(nodes)}")
    return nodes.pop()


def _order(links: list[tuple[int, int, _Label]]) -> dict[int, int]:
    before = defaultdict(set)
    for start, end, _ in links:
        before[end].add(start)
    try:
        order = TopologicalSorter(before).static_order()
        return {node: place for place, node in enumerate(order)}
    except CycleError:
        raise AccordError("expected links that lead on, found a loop") from None


def text_of(lattice: Lattice) -> str:
    """A lattice as a file has it; HTK knows one end, to which a silent link leads from each."""
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
            words.append(_written(arc.word))
        links.append(f"S={start} E={end} a={arc.score}")
    header = ["VERSION=1.0", f"UTTERANCE={escaped(lattice.id)}", f"N={len(words)} L={len(links)}"]
    nodes = (f"I={n} W={word}" for n, word in enumerate(words))
    return "\n".join([*header, *nodes, *(f"J={n} {link}" for n, link in enumerate(links)), ""])


def _written(word: str) -> str:
    if word in SILENT:
        raise AccordError(f"'{word}' is no word in HTK's lattices: expected no such word")
    return escaped(word)


def _on_paths(arcs: list[Arc], last: int) -> list[Arc]:
    """Those between the first node and the last."""
    reached, leading = {0}, {last}
    for arc in sorted(arcs, key=lambda arc: arc.start):
        if arc.start in reached:
            reached.add(arc.end)
    for arc in sorted(arcs, key=lambda arc: -arc.end):
        if arc.end in leading:
            leading.add(arc.start)
    return [arc for arc in arcs if arc.start in reached and arc.end in leading]
