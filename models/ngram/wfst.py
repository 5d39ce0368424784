"""n-gram models as weighted automata in the text form of OpenFst (AT&T's), for recognisers.

A state is a context. Its arcs are the words listed after it, with −log p in nats, each to the
longest context that it ends in; an arc `<phi>` with −log γ leads to the context without its oldest
word, and is taken only for a word that the state has no arc for: a failure arc. Every state is
final, with −log p of the sentence's end. So each sentence has one path, whose weight is −log p.
OpenFst's PhiMatcher reads `<phi>` so. Read as ε, as many recognisers do, it lets a sentence have
more paths, and the best of them may be likelier than the sentence is.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

import numpy as np
import torch

from models.ngram.arpa import check_forms
from models.ngram.counts import END
from models.ngram.model import NGrams

EPSILON, PHI = "<eps>", "<phi>"
TEXT, SYMBOLS = ".fst.txt", ".syms.txt"


def write_wfst(model: NGrams, forms: Sequence[str], path: Path) -> None:
    """Write `x.fst.txt` and, beside it, the table of its symbols, `x.syms.txt`."""
    check_forms(forms, model.words)
    for reserved in {EPSILON, PHI} & {*forms}:
        raise ValueError(f"forms: '{reserved}' is a symbol of the automaton: expected no such word")
    symbols = [EPSILON, PHI, *forms[1:]]  # END, the first, is no symbol but the end of a path
    table = path.with_name(path.name.removesuffix(TEXT) + SYMBOLS)
    lines = (f"{symbol}\t{number}\n" for number, symbol in enumerate(symbols))
    table.write_text("".join(lines), encoding="utf-8")
    sizes = [len(of_length.contexts) for of_length in model.tables]
    first = np.cumsum([0, *sizes])[:-1]
    contexts = model.context_words()
    start = _longest(model, torch.full((1, 1), END), first)[0]
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(f"{start}\t{_ends(model, torch.full((1, 1), END))[0]}\n")  # where paths begin
        for length in range(model.order):
            _write_states(model, length, first, contexts[length], symbols, file)


def _ends(model: NGrams, contexts: torch.Tensor) -> list[str]:
    """What the sentence's end costs after each context."""
    end = torch.full((len(contexts),), END)
    return [_weight(p) for p in model.p(model.nodes(contexts), end).tolist()]


def _weight(p: float) -> str:
    return f"{-math.log(p):.8g}" if p > 0 else "Infinity"


def _write_states(
    model: NGrams,
    length: int,
    first: np.ndarray,
    contexts: torch.Tensor,
    symbols: Sequence[str],
    file: TextIO,
) -> None:
    """The states of one length of contexts: their ends, their failure arcs, those of words."""
    table, begin = model.tables[length], int(first[length])
    for state, weight in enumerate(_ends(model, contexts), start=begin):
        file.write(f"{state}\t{weight}\n")
    if length:
        shorter = (first[length - 1] + (table.contexts // model.words).numpy()).tolist()
        pairs = zip(shorter, table.backoff.tolist(), strict=True)
        for state, (target, gamma) in enumerate(pairs, start=begin):
            file.write(f"{state}\t{target}\t{PHI}\t{PHI}\t{_weight(gamma)}\n")
    is_arc = table.keys % model.words != END
    keys, p = table.keys[is_arc], table.p[is_arc].tolist()
    node, word = keys // model.words, keys % model.words
    to = _longest(model, torch.cat([contexts[node], word.unsqueeze(1)], dim=1), first)
    arcs = zip((begin + node).tolist(), to.tolist(), word.tolist(), p, strict=True)
    for state, target, each, p_of_arc in arcs:
        symbol = symbols[each + 1]
        file.write(f"{state}\t{target}\t{symbol}\t{symbol}\t{_weight(p_of_arc)}\n")


def _longest(model: NGrams, context: torch.Tensor, first: np.ndarray) -> np.ndarray:
    """The state of the longest end of each context that is one."""
    state = np.zeros(len(context), np.int64)
    for length, node in enumerate(model.nodes(context)):
        node = node.numpy()
        state = np.where(node >= 0, first[length] + node, state)
    return state
