"""Weighted automata in OpenFst's form; a network as one of clustered states.

A state's arcs are the words listed there, with −log p in nats; an arc `<phi>` is taken only for a
word that the state has no arc for: a failure arc. Every state is final, with −log p of the
sentence's end. So each sentence has one path, whose weight is −log p. OpenFst's PhiMatcher reads
`<phi>` so. Read as ε, as many recognisers do, it lets a sentence have more paths, and the best of
them may be likelier than the sentence is.

    p(w | c) of the words that the state c lists, else γ(c)·p(w)

There is one state after each word of a state, and one after each word that a state does not list.

p(w | c) is the mean of p(w | h) over the h of a text that are in c, p(w) the mean over all of them.
After w the automaton is where the network mostly is in the text once it has read w in c; if it
never does there, once it has read w anywhere; and for a word that the text lacks, once it has read
that word alone.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from accord.errors import AccordError
from accord.models.background import NGrams
from accord.models.common.files import whole, write_whole
from accord.models.constraints.matching import NGramAutomaton
from accord.models.data import END, Sentences
from accord.models.inference.next_word import NextWord, WordValues
from accord.models.inference.torch_model import TorchModel
from accord.models.model import LanguageModel
from accord.zoo.arpa import check_forms
from accord.zoo.ngram_conversion import Chosen, backed_off

EPSILON, PHI = "<eps>", "<phi>"
TEXT, SYMBOLS = ".fst.txt", ".syms.txt"


class Arcs(NamedTuple):
    """A row for each arc."""

    source: np.ndarray
    target: np.ndarray
    word: np.ndarray
    p: np.ndarray


class WeightedAutomaton(NamedTuple):
    """A model over words in the form of an automaton."""

    words: int
    start: int
    end: np.ndarray  # p of the sentence's end in each state
    arcs: Arcs
    failures: Arcs  # at most one of a state; their words say nothing


def ngram_automaton(model: NGrams) -> WeightedAutomaton:
    """n-grams as they are: a state for each context."""
    found = NGramAutomaton(model.numpy())
    is_arc, longer = found.symbol != END, np.arange(found.nodes[1], found.nodes[-1])
    arcs = Arcs(*(each[is_arc] for each in (found.source, found.next, found.symbol, found.of_arc)))
    failures = Arcs(longer, found.shorter[longer], np.zeros_like(longer), found.backoff[longer])
    return WeightedAutomaton(model.words, found.start, found.ends(), arcs, failures)


def write_wfst(automaton: WeightedAutomaton, forms: Sequence[str], path: Path) -> None:
    """Write `x.fst.txt` and, beside it, the table of its symbols, `x.syms.txt`."""
    check_forms(forms, automaton.words)
    for reserved in {EPSILON, PHI} & {*forms}:
        raise AccordError(
            f"forms: '{reserved}' is a symbol of the automaton: expected no such word"
        )
    symbols = [EPSILON, PHI, *forms[1:]]  # END, the first, is no symbol but the end of a path
    table = path.with_name(path.name.removesuffix(TEXT) + SYMBOLS)
    lines = (f"{symbol}\t{number}\n" for number, symbol in enumerate(symbols))
    write_whole(table, "".join(lines).encode())
    ends = [f"{state}\t{_weight(p)}\n" for state, p in enumerate(automaton.end.tolist())]
    with whole(path) as partial, partial.open("w", encoding="utf-8", newline="\n") as file:
        file.write(ends[automaton.start])  # the first line's state is where paths begin
        file.writelines(ends)
        for source, target, _, p in _rows(automaton.failures):
            file.write(f"{source}\t{target}\t{PHI}\t{PHI}\t{_weight(p)}\n")
        for source, target, word, p in _rows(automaton.arcs):
            symbol = symbols[word + 1]
            file.write(f"{source}\t{target}\t{symbol}\t{symbol}\t{_weight(p)}\n")


def _rows(arcs: Arcs) -> zip:
    return zip(*(column.tolist() for column in arcs), strict=True)


def _weight(p: float) -> str:
    return f"{-math.log(p):.8g}" if p > 0 else "Infinity"


@dataclass(frozen=True, eq=False)
class StateAutomaton:
    """`ngrams` are bigrams, the states being what stands before a word."""

    ngrams: NGrams
    start: int
    after_listed: Tensor  # the state after each bigram
    after_word: Tensor  # the state after each word where it is not listed

    @property
    def states(self) -> int:
        return len(self.ngrams.tables[1].contexts)

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
        keys, wanted = self.ngrams.tables[1].keys, state * self.ngrams.words + word
        at = torch.searchsorted(keys, wanted).clamp(max=len(keys) - 1)
        return torch.where(keys[at] == wanted, self.after_listed[at], self.after_word[word])

    @property
    def automaton(self) -> WeightedAutomaton:
        """The same to be written: failures lead to a last state, which lists every word."""
        ngrams, root = self.ngrams, self.states
        every = torch.arange(root)
        end = ngrams.p([torch.zeros_like(every), every], torch.full_like(every, END))
        unigrams, bigrams = ngrams.tables
        keys = torch.cat([bigrams.keys, root * ngrams.words + unigrams.keys])
        source, word = keys // ngrams.words, keys % ngrams.words
        target = torch.cat([self.after_listed, self.after_word])
        columns = source, target, word, torch.cat([bigrams.p, unigrams.p])
        failures = every, torch.full_like(every, root), torch.zeros_like(every), bigrams.backoff
        return WeightedAutomaton(
            ngrams.words,
            self.start,
            torch.cat([end, unigrams.p[:1]]).numpy(),
            Arcs(*(column[word != END].numpy() for column in columns)),
            Arcs(*(column.numpy() for column in failures)),
        )


LISTED = 2000  # words of a state, the likeliest; the rest lose what the network knows of them
AT_ONCE = 1 << 24  # probabilities of words that are held together


@torch.inference_mode()
def directions(model: LanguageModel, sentences: Sentences) -> Iterator[tuple[np.ndarray, Tensor]]:
    """Positions in the text, and the network's states before them, each of length one (N × H)."""
    for read in TorchModel(model).states(sentences):
        yield read.positions, normalize(read.h.float(), dim=1).cpu()


def state_automaton(
    model: LanguageModel,
    text: Sentences,
    centres: np.ndarray,
    words: int,
    on_words: Callable[[int], None] = lambda words: None,
) -> StateAutomaton:
    """The automaton whose states are the centres (C × H) that are nearest to some in the text."""
    used, before = np.unique(_nearest(model, text, centres), return_inverse=True)
    asked = NextWord(TorchModel(model), WordValues.none(words))
    ngrams = _means(asked, text, before, words, on_words)
    goes_on = np.flatnonzero(text.ids != END)
    word, after = text.ids[goes_on].astype(np.int64), before[goes_on + 1]
    after_word = np.zeros(words, np.int64)
    lacking = np.setdiff1d(np.arange(1, words), word)
    after_word[lacking] = _nearest(model, _alone(lacking), centres[used])[1::2]
    seen, mostly = _most_frequent(word, after)
    after_word[seen] = mostly
    keys = ngrams.tables[1].keys.numpy()
    after_listed = after_word[keys % words]
    seen, mostly = _most_frequent(before[goes_on] * words + word, after)
    _, at, of_seen = np.intersect1d(keys, seen, assume_unique=True, return_indices=True)
    after_listed[at] = mostly[of_seen]
    start = int(np.bincount(before[text.starts]).argmax())
    return StateAutomaton(
        ngrams, start, torch.from_numpy(after_listed), torch.from_numpy(after_word)
    )


def _alone(words: np.ndarray) -> Sentences:
    """A sentence of each word."""
    ids = np.stack([words, np.full_like(words, END)], axis=1)
    return Sentences(ids.ravel(), np.full(len(words), 2))


def _nearest(model: LanguageModel, sentences: Sentences, centres: np.ndarray) -> np.ndarray:
    """The centre at the smallest distance from the network's state before each word."""
    found, columns = np.zeros(len(sentences.ids), np.int64), torch.from_numpy(centres).float().T
    for positions, rows in directions(model, sentences):
        found[positions] = (columns.square().sum(dim=0) - 2 * rows @ columns).argmin(dim=1)
    return found


@torch.inference_mode()
def _means(
    model: NextWord,
    text: Sentences,
    before: np.ndarray,
    words: int,
    on_words: Callable[[int], None],
) -> NGrams:
    """The mean probabilities of words in each cluster, and in all of them."""
    signature = torch.from_numpy(model.shares.signature)
    share = torch.from_numpy(np.exp(model.shares.log_share))
    cluster = torch.from_numpy(before)
    times = cluster.bincount().double()
    sums = torch.zeros(len(times), int(signature.max()) + 1, dtype=torch.float64)
    for positions, log_p in model.distributions(text):
        sums.index_add_(0, cluster[positions], torch.from_numpy(log_p).double().exp_())
        on_words(len(positions))
    of_all = (sums.sum(dim=0) / times.sum())[signature] * share
    ids, p = [], []
    for part in torch.arange(len(times)).split(max(1, AT_ONCE // words)):
        of_words = (sums[part] / times[part, None])[:, signature] * share
        likeliest = of_words.topk(min(LISTED, words), dim=1)
        ids.append(torch.stack([part[:, None].expand_as(likeliest.indices), likeliest.indices], 2))
        p.append(likeliest.values.flatten())
    every = np.arange(words)[:, None]
    bigrams = Chosen(torch.cat(ids).flatten(0, 1).numpy(), torch.cat(p).numpy())
    return backed_off([Chosen(every, of_all.numpy()), bigrams], words)


def _most_frequent(keys: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each key once, rising, and the value that it mostly has."""
    pairs, times = np.unique(np.stack([keys, values], axis=1), axis=0, return_counts=True)
    order = np.lexsort([times, pairs[:, 0]])
    key, value = pairs[order].T
    is_last = np.append(key[1:] != key[:-1], True)
    return key[is_last], value[is_last]
