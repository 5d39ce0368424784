"""A network as an automaton whose states are clusters of its hidden states.

p(w | c) is the mean of p(w | h) over the h of a text that are in c, p(w) the mean over all of them.
After w the automaton is where the network mostly is in the text once it has read w in c; if it
never does there, once it has read w anywhere; and for a word that the text lacks, once it has read
that word alone.
"""

from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from accord.models.automata.state_automaton import StateAutomaton
from accord.models.common.batching import END, Sentences
from accord.models.network.language_model import LanguageModel
from accord.models.network.next_word import NextWord, WordValues
from accord.models.network.states import states
from accord.models.ngram.backoff import Chosen, backed_off
from accord.models.ngram.model import NGrams

LISTED = 2000  # words of a state, the likeliest; the rest lose what the network knows of them
AT_ONCE = 1 << 24  # probabilities of words that are held together


@torch.inference_mode()
def directions(model: LanguageModel, sentences: Sentences) -> Iterator[tuple[np.ndarray, Tensor]]:
    """Positions in the text, and the network's states before them, each of length one (N × H)."""
    for read in states(model, sentences):
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
    ngrams = _means(NextWord(model, WordValues.none(words)), text, before, words, on_words)
    goes_on = np.flatnonzero(text.ids != END)
    word, after = text.ids[goes_on].astype(np.int64), before[goes_on + 1]
    after_word = np.zeros(words, np.int64)
    lacking = np.setdiff1d(np.arange(1, words), word)
    after_word[lacking] = _nearest(model, _alone(lacking), centres[used])[1::2]
    seen, mostly = _most_frequent(word, after)
    after_word[seen] = mostly
    keys = ngrams.keys_1.numpy()
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
    """What the network gives to words in each cluster, and in all of them, on the mean."""
    signature, share = model.shares.signature.cpu(), model.shares.log_share.exp().cpu()
    cluster = torch.from_numpy(before)
    times = cluster.bincount().double()
    sums = torch.zeros(len(times), int(signature.max()) + 1, dtype=torch.float64)
    for positions, log_p in model.distributions(text):
        sums.index_add_(0, cluster[positions], log_p.double().exp_().cpu())
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
