"""n-grams as automata: OpenFst reads them, and a sentence's path weighs −log p."""

from pathlib import Path

import numpy as np
import pytest
from ngram_cases import WORDS, as_lists, random_sentences

from models.ngram.counts import count
from models.ngram.model import NGrams
from models.ngram.prune import pruned
from models.ngram.smoothing.kneser_ney import kneser_ney
from models.ngram.wfst import PHI, write_wfst

FORMS = ["</s>", "le", "la", "l’", "été", "à\u00a0côté", "|", "<unk>", "\\x"]
TEXT, OTHER = random_sentences(count=150), random_sentences(seed=7, count=60, words=WORDS)


def model_of(order: int, threshold: float | None = None) -> NGrams:
    model = kneser_ney(count(TEXT, order, WORDS), np.full(WORDS, 1 / WORDS))
    return model if threshold is None else pruned(model, threshold)


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


def costs(model: NGrams) -> list[float]:
    """−log p of each sentence of a text by the model itself."""
    ends = np.cumsum(OTHER.lengths)[:-1]
    return [-part.sum() for part in np.split(model.score(OTHER), ends)]


CASES = [(1, None), (2, None), (4, None), (3, 1e-3), (3, 0.5)]


@pytest.mark.parametrize(("order", "threshold"), CASES)
def test_the_path_of_a_sentence_weighs_what_the_model_says(order, threshold, tmp_path):
    model = model_of(order, threshold)
    write_wfst(model, FORMS, tmp_path / "m.fst.txt")
    automaton = Automaton(tmp_path / "m.fst.txt")
    found = [cost(automaton, [FORMS[w] for w in each[:-1]]) for each in as_lists(OTHER)]
    assert found == pytest.approx(costs(model), rel=1e-6)
    assert list(automaton.symbols.values()) == [str(n) for n in range(len(automaton.symbols))]


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


@pytest.mark.parametrize(("order", "threshold"), CASES)
def test_openfst_reads_it_and_finds_the_same_weights(order, threshold, tmp_path):
    model = model_of(order, threshold)
    write_wfst(model, FORMS, tmp_path / "m.fst.txt")
    automaton = OpenFst(tmp_path / "m.fst.txt")
    found = [cost(automaton, [FORMS[w] for w in each[:-1]]) for each in as_lists(OTHER)]
    assert found == pytest.approx(costs(model), rel=1e-5)


def test_words_that_are_symbols_of_the_automaton_are_refused(tmp_path):
    with pytest.raises(ValueError, match="'<phi>' is a symbol of the automaton"):
        write_wfst(model_of(2), [*FORMS[:-1], PHI], tmp_path / "m.fst.txt")
