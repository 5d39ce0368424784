"""An automaton that has a state for each of some classes of what was read, whatever these are.

    p(w | c) of the words that the state c lists, else γ(c)·p(w)

There is one state after each word of a state, and one after each word that a state does not list.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from accord.models.automata.wfst import Arcs, Automaton
from accord.models.common.batching import END, Sentences
from accord.models.ngram.model import NGrams


@dataclass(frozen=True, eq=False)
class StateAutomaton:
    """`ngrams` are bigrams, the states being what stands before a word."""

    ngrams: NGrams
    start: int
    after_listed: Tensor  # the state after each bigram
    after_word: Tensor  # the state after each word where it is not listed

    @property
    def states(self) -> int:
        return len(self.ngrams.contexts_1)

    def score(self, sentences: Sentences) -> np.ndarray:
        """log p of every word of every sentence in order, END included, in nats."""
        ids, starts = torch.from_numpy(sentences.ids.astype(np.int64)), sentences.starts
        log_p = np.zeros(len(ids))
        state = torch.full((len(starts),), self.start)
        for offset in range(int(sentences.lengths.max(initial=0))):
            going_on = np.flatnonzero(sentences.lengths > offset)
            at = starts[going_on] + offset
            before, word = state[going_on], ids[at]
            log_p[at] = self.ngrams.p([torch.zeros_like(word), before], word).log()
            state[going_on] = self.after(before, word)
        return log_p

    def after(self, state: Tensor, word: Tensor) -> Tensor:
        """Where each state is after its word."""
        keys, wanted = self.ngrams.keys_1, state * self.ngrams.words + word
        at = torch.searchsorted(keys, wanted).clamp(max=len(keys) - 1)
        return torch.where(keys[at] == wanted, self.after_listed[at], self.after_word[word])

    @property
    def automaton(self) -> Automaton:
        """The same to be written: failures lead to a last state, which lists every word."""
        ngrams, root = self.ngrams, self.states
        every = torch.arange(root)
        end = ngrams.p([torch.zeros_like(every), every], torch.full_like(every, END))
        keys = torch.cat([ngrams.keys_1, root * ngrams.words + ngrams.keys_0])
        source, word = keys // ngrams.words, keys % ngrams.words
        target = torch.cat([self.after_listed, self.after_word])
        columns = source, target, word, torch.cat([ngrams.p_1, ngrams.p_0])
        failures = every, torch.full_like(every, root), torch.zeros_like(every), ngrams.backoff_1
        return Automaton(
            ngrams.words,
            self.start,
            torch.cat([end, ngrams.p_0[:1]]).numpy(),
            Arcs(*(column[word != END].numpy() for column in columns)),
            Arcs(*(column.numpy() for column in failures)),
        )
