"""Lattices written in HTK's form, words on links."""

from pipeline.confusions.htk import NULL, SILENT
from pipeline.confusions.htk.fields import escaped
from pipeline.confusions.lattice import Arc, Lattice


def text_of(lattice: Lattice) -> str:
    """A lattice as a file has it; HTK knows one end, to which a silent link leads from each."""
    last = 1 + max(node for arc in lattice.arcs for node in arc[:2])
    ends = (Arc(node, last, "", score) for node, score in lattice.ends.items())
    arcs = _on_paths([*lattice.arcs, *ends], last)
    nodes = sorted({node for arc in arcs for node in arc[:2]})
    number = {node: place for place, node in enumerate(nodes)}
    links = [
        f"J={place} S={number[arc.start]} E={number[arc.end]} W={_word(arc.word)} a={arc.score}"
        for place, arc in enumerate(arcs)
    ]
    header = ["VERSION=1.0", f"UTTERANCE={escaped(lattice.id)}", f"N={len(nodes)} L={len(links)}"]
    return "\n".join([*header, *(f"I={place}" for place in number.values()), *links, ""])


def _word(word: str) -> str:
    if word in SILENT:
        raise ValueError(f"'{word}' is no word in HTK's lattices: expected no such word")
    return escaped(word) or NULL


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
