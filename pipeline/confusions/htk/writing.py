"""Lattices written in HTK's form.

Its own tools want the same word on all links to a node. So each word has a node of its own, and
those that were there are silent.
"""

from accord.pipeline.confusions.htk import NULL, SILENT
from accord.pipeline.confusions.htk.fields import escaped
from accord.pipeline.confusions.lattice import Arc, Lattice


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
        raise ValueError(f"'{word}' is no word in HTK's lattices: expected no such word")
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
