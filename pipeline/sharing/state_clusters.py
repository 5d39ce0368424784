"""The hidden states of a network in clusters, and the automaton that has these as its states."""

from collections.abc import Callable

import numpy as np

from accord.lexicon.vectors import kmeans
from accord.models.automata.of_states import directions, state_automaton
from accord.models.automata.state_automaton import StateAutomaton
from accord.models.common.batching import Sentences
from accord.models.network.language_model import LanguageModel

SAMPLE = 1 << 16  # hidden states that clusters are found in, of sentences drawn at random
SEED = 1


def clustered(
    model: LanguageModel,
    text: Sentences,
    states: int,
    words: int,
    on_words: Callable[[int], None],
) -> StateAutomaton:
    """At most so many states: two clusters may begin in the same place, and one stays empty."""
    rows = np.concatenate([h.numpy() for _, h in directions(model, _some(text))])
    _, cluster = np.unique(kmeans(rows, states), return_inverse=True)
    sums = np.zeros((cluster.max() + 1, rows.shape[1]))
    np.add.at(sums, cluster, rows)
    centres = sums / np.bincount(cluster)[:, None]
    return state_automaton(model, text, centres, words, on_words)


def _some(text: Sentences) -> Sentences:
    """Sentences of SAMPLE words, or all of a shorter text."""
    order = np.random.default_rng(SEED).permutation(len(text.lengths))
    before = np.cumsum(text.lengths[order]) - text.lengths[order]
    chosen = np.zeros(len(order), bool)
    chosen[order[before < SAMPLE]] = True
    return text.chosen(chosen)
