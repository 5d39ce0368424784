"""What a model expects before each word: its whole distribution, asked and never kept.

Where each word has the same share of its signature in every context, what is asked costs the
signatures, as in training:

    H(x | K) = H(s | K) + Σ_s p(s | K)·H(x | s)
    E[t(x) | K] = Σ_s p(s | K)·t̄_s,    t̄_s = Σ_{x∈s} b(x)/B_s · t(x)

and the words likelier than a bound are counted in each signature by bisection. Where the context
changes the shares, as n-grams do, each word is a signature of its own. All of it is exact.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from accord.models.common.batching import Sentences
from accord.models.network.background_models import BackgroundOnly
from accord.models.network.language_model import LanguageModel
from accord.models.network.states import states
from accord.models.outputs.log_linear import LogLinear
from accord.models.outputs.softmax import OutputLayer, SignatureOutput
from accord.models.spelling.subwords import SubwordModel

TIE = 1e-6  # nats: words that differ by less are equally likely
IMPOSSIBLE = -1e4  # of what is below, p is 0 in every precision
AT_ONCE = 1 << 23  # probabilities held at a time


class WordValues(NamedTuple):
    """t(x): k numbers for each of the V words, most of them 0; entries for those that are not.

    Several entries of a word in one column are summed.
    """

    word: np.ndarray
    column: np.ndarray
    value: np.ndarray
    words: int  # V
    columns: int  # k

    @classmethod
    def none(cls, words: int) -> "WordValues":
        """No number of any word."""
        nothing = np.zeros(0, np.int64)
        return cls(nothing, nothing, np.zeros(0), words, 0)


class Expected(NamedTuple):
    """What was expected before each word of a text, END included."""

    entropy: np.ndarray  # of the next word, in nats: (N)
    rank: np.ndarray  # of the word that came, 1 being the likeliest: (N)
    means: np.ndarray  # E[t(x) | K]: (N × k)


class NextWord:
    """Asks a model; `unknown` are the ids that stand for words of a kind and are no words."""

    def __init__(
        self,
        model: LanguageModel | BackgroundOnly | SubwordModel,
        values: WordValues,
        unknown: range = range(0),
    ):
        if isinstance(model, SubwordModel):
            raise ValueError(
                f"expected a model over words, which can all be asked for; got a "
                f"{type(model).__name__}, which spells them"
            )
        self.model = model
        device = next(model.buffers()).device
        self.unknown = torch.tensor(unknown, dtype=torch.long, device=device)
        shares = _fixed_shares(model)
        self.by_word = shares is None
        if shares is None:
            each = torch.arange(values.words, device=device)
            shares = each, torch.zeros(len(each), device=device)
        self.shares = _Shares(*shares)
        self.means = self.shares.means(values)

    @torch.inference_mode()
    def ask(self, sentences: Sentences, log_p: np.ndarray) -> Expected:
        """`log_p` has the log-probability of each word, by which those that are unknown rank."""
        count = len(sentences.ids)
        found = Expected(
            np.zeros(count), np.zeros(count, np.int64), np.zeros((count, len(self.means)))
        )
        for at, of_signature in self.distributions(sentences):
            words = torch.from_numpy(sentences.ids[at].astype(np.int64)).to(self.unknown.device)
            given = torch.from_numpy(log_p[at]).to(words.device)
            of_signature = of_signature.double()
            p = of_signature.exp()
            own = self.shares.log_prob_of(of_signature, words.unsqueeze(1)).squeeze(1)
            bound = torch.where(torch.isin(words, self.unknown), given, own) + TIE
            no_words = self.shares.log_prob_of(of_signature, self.unknown.expand(len(words), -1))
            likelier = self.shares.likelier(of_signature, bound)
            likelier -= (no_words > bound.unsqueeze(1)).sum(dim=1)
            of_signatures = -(p * of_signature.clamp(min=IMPOSSIBLE)).sum(dim=1)
            entropy = of_signatures + p @ self.shares.entropy
            found.entropy[at], found.rank[at] = entropy.cpu(), 1 + likelier.cpu()
            found.means[at] = (self.means @ p.T).T.cpu()
        return found

    def distributions(self, sentences: Sentences) -> Iterator[tuple[np.ndarray, Tensor]]:
        """Positions in the text, and log p of every signature before them, a few at a time."""
        size = max(1, AT_ONCE // len(self.shares.entropy))
        if isinstance(self.model, BackgroundOnly):
            background = self.model.background
            contexts = torch.from_numpy(background.contexts(sentences)).to(self.unknown.device)
            for at in np.split(np.arange(len(contexts)), range(size, len(contexts), size)):
                yield at, background.log_masses(contexts[at]).expand(len(at), -1)
            return
        for read in states(self.model, sentences):
            for at in torch.arange(len(read.positions)).split(size):
                log_p = self._of_signatures(self.model.output, read.h[at], read.context[at])
                yield read.positions[at.numpy()], log_p

    def _of_signatures(self, output: OutputLayer, h: Tensor, context: Tensor) -> Tensor:
        if isinstance(output, SignatureOutput) and not self.by_word:
            return output.within.log_prob(h)
        if isinstance(output, LogLinear) and not self.by_word:
            return output.class_log_prob(h, context)
        return output.log_prob(h, context)


def _fixed_shares(model: LanguageModel | BackgroundOnly) -> tuple[Tensor, Tensor] | None:
    """The signature of each word and the log of its share there, if no context changes it."""
    output = getattr(model, "output", None)
    if isinstance(output, SignatureOutput):
        return output.signature, output.log_share
    if not isinstance(output, LogLinear):
        return None
    shares = output.background.fixed_shares()
    return None if shares is None else (output.signature, shares)


class _Shares:
    """What each word has of its signature, b(x)/B_s."""

    def __init__(self, signature: Tensor, log_share: Tensor):
        self.signature, self.log_share = signature, log_share.double()
        sizes = signature.bincount()
        within = torch.special.entr(self.log_share.exp())
        self.entropy = within.new_zeros(len(sizes)).index_add_(0, signature, within)
        # Words by signature and, in it, by rising share: whole numbers in one ascending row.
        self.levels, level = self.log_share.unique(return_inverse=True)
        self.keys = (signature * (len(self.levels) + 1) + level).sort().values
        self.ends = sizes.cumsum(0)
        self.single, self.several = ((sizes == 1).nonzero()[:, 0], (sizes > 1).nonzero()[:, 0])

    def log_prob_of(self, of_signature: Tensor, words: Tensor) -> Tensor:
        """log p of some words in each context: (N × M)."""
        return of_signature.gather(1, self.signature[words]) + self.log_share[words]

    def likelier(self, of_signature: Tensor, bound: Tensor) -> Tensor:
        """How many words have a log p above a bound, in each context: (N)."""
        alone = (of_signature > bound.unsqueeze(1))[:, self.single].sum(dim=1)
        if not len(self.several):
            return alone
        least = bound.unsqueeze(1) - of_signature[:, self.several]
        level = torch.searchsorted(self.levels, least.nan_to_num(nan=torch.inf), right=True)
        first = torch.searchsorted(self.keys, self.several * (len(self.levels) + 1) + level)
        return alone + (self.ends[self.several] - first).sum(dim=1)

    def means(self, values: WordValues) -> Tensor:
        """t̄_s of every signature, a column each: (k × S), sparse where it would be large."""
        device = self.signature.device
        word, column, value = (torch.from_numpy(np.asarray(each)).to(device) for each in values[:3])
        weighed = self.log_share[word].exp() * value
        shape = values.columns, len(self.entropy)
        if shape[0] * shape[1] <= AT_ONCE:
            at = column * shape[1] + self.signature[word]
            return weighed.new_zeros(shape[0] * shape[1]).index_add_(0, at, weighed).view(shape)
        at = torch.stack([column, self.signature[word]])
        return torch.sparse_coo_tensor(
            at, weighed, shape, dtype=torch.float64, check_invariants=True
        ).coalesce()
