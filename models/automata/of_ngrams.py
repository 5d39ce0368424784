"""n-grams as an automaton: a state is a context.

An arc leads to the longest context that the words so far end in, a failure to the context without
its oldest word.
"""

import numpy as np
import torch

from accord.models.automata.wfst import Arcs, Automaton
from accord.models.ngram.counts import END
from accord.models.ngram.model import NGrams


def ngram_automaton(model: NGrams) -> Automaton:
    sizes = [len(table.contexts) for table in model.tables]
    first = np.cumsum([0, *sizes])[:-1]  # state of each length of contexts
    contexts = model.context_words()
    arcs, failures, ends = [], [], []
    for length, table in enumerate(model.tables):
        ends.append(_ends(model, contexts[length]))
        if length:
            states = first[length] + np.arange(sizes[length])
            shorter = first[length - 1] + (table.contexts // model.words).numpy()
            failures.append(Arcs(states, shorter, np.zeros_like(states), table.backoff.numpy()))
        is_arc = table.keys % model.words != END
        node, word = (
            part[is_arc] for part in (table.keys // model.words, table.keys % model.words)
        )
        to = _longest(model, torch.cat([contexts[length][node], word.unsqueeze(1)], dim=1), first)
        arcs.append(Arcs((first[length] + node).numpy(), to, word.numpy(), table.p[is_arc].numpy()))
    start = _longest(model, torch.full((1, 1), END), first)[0]
    return Automaton(model.words, start, np.concatenate(ends), _joined(arcs), _joined(failures))


def _joined(parts: list[Arcs]) -> Arcs:
    nothing = np.zeros(0, np.int64)
    return Arcs(*map(np.concatenate, zip(*parts, strict=True))) if parts else Arcs(*[nothing] * 4)


def _ends(model: NGrams, contexts: torch.Tensor) -> np.ndarray:
    """p of the sentence's end after each context."""
    end = torch.full((len(contexts),), END)
    return model.p(model.nodes(contexts), end).numpy()


def _longest(model: NGrams, context: torch.Tensor, first: np.ndarray) -> np.ndarray:
    """The state of the longest end of each context that is one."""
    state = np.zeros(len(context), np.int64)
    for length, node in enumerate(model.nodes(context)):
        node = node.numpy()
        state = np.where(node >= 0, first[length] + node, state)
    return state
