"""Files of automata, read as the text form is defined or by OpenFst, and the weights of paths."""

from pathlib import Path

import pytest

from accord.zoo.ngrams import PHI


class Automaton:
    """A file read as the text form is defined: arcs by state and symbol, and ends."""

    def __init__(self, path: Path):
        self.arcs, self.final, self.start = {}, {}, None
        symbols = path.with_name(path.name.replace(".fst.txt", ".syms.txt"))
        self.symbols = dict(line.split("\t") for line in symbols.read_text().splitlines())
        for line in path.read_text(encoding="utf-8").splitlines():
            state, *rest = line.split("\t")
            self.start = self.start or state
            if len(rest) == 1:
                self.final[state] = float(rest[0])
            else:
                target, symbol, output, weight = rest
                assert symbol == output and symbol in self.symbols
                assert (state, symbol) not in self.arcs, "one arc for each symbol"
                self.arcs[state, symbol] = target, float(weight)


def cost(automaton, words: list[str]) -> float:
    """The weight of the one path of a sentence, failure arcs taken only where they must be."""
    state, total = automaton.start, 0.0
    for word in words:
        while (state, word) not in automaton.arcs:
            state, weight = automaton.arcs[state, PHI]
            total += weight
        state, weight = automaton.arcs[state, word]
        total += weight
    return total + automaton.final[state]


class OpenFst:
    """The same as OpenFst has compiled it."""

    def __init__(self, path: Path):
        pywrapfst = pytest.importorskip("pywrapfst", reason="pip install pynini brings it")
        symbols = pywrapfst.SymbolTable.read_text(str(path).replace(".fst.txt", ".syms.txt"))
        compiler = pywrapfst.Compiler(isymbols=symbols, osymbols=symbols)
        compiler.write(path.read_text(encoding="utf-8"))
        self.fst = compiler.compile()
        assert self.fst.verify()
        self.start = self.fst.start()
        self.final = {state: float(self.fst.final(state)) for state in self.fst.states()}
        self.arcs = {
            (state, symbols.find(arc.ilabel)): (arc.nextstate, float(arc.weight))
            for state in self.fst.states()
            for arc in self.fst.arcs(state)
        }
