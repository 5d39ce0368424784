"""The classes of words that share a score a_t·φ, for a batch of contexts.

They are the signatures and, where the context names words (the paper's *expert feature*), each
named word: it leaves its signature and is a class of its own. All else is then the same.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor, nn

from models.outputs.signatures.calibration import Calibration
from models.outputs.signatures.log_softmax_at import log_softmax_at


@dataclass(frozen=True)
class Classes:
    log_mass: Tensor  # log B of each class: (S), or (N × C) where it depends on the context
    logits: Tensor  # log B + a_t·φ of each class: (N × C)
    signature: Tensor  # of every word: (V)
    named: Tensor  # the words set apart: (N × P), −1 where fewer are; P = C − S
    rows: Tensor  # Φ·W of each signature, by which it is scored: (S × H)
    calibration: Calibration | None = None  # of shares; there are no named words then

    @cached_property
    def log_p(self) -> Tensor:
        """log p(class | K) = log B + a_t·φ − log Z: (N × C)."""
        return self.logits.log_softmax(dim=1)

    @property
    def signatures(self) -> int:
        return self.logits.shape[1] - self.named.shape[1]

    def of(self, words: Tensor) -> Tensor:
        """The class of each of some words in each context: (N × M)."""
        classes = self.signature[words]
        for number, named in enumerate(self.named.T, start=self.signatures):
            classes = torch.where(words == named.unsqueeze(1), number, classes)
        return classes

    def log_prob(self, words: Tensor, log_mass: Tensor) -> Tensor:
        """log p(x | K) = log p(class | K) + log b(x)/B of some words in each context: (N × M)."""
        classes = self.of(words)
        share = log_share_of(words, log_mass, self._masses_at(classes), self.calibration)
        return self._log_p_of(classes) + share.to(self.logits.dtype)

    def _log_p_of(self, classes: Tensor) -> Tensor:
        """log p of some classes (N × M): what is learned from is asked for once, and for few."""
        if self.logits.requires_grad:
            return log_softmax_at(self.logits, classes)
        return self.log_p.gather(1, classes)

    def only_word(self, classes: Tensor) -> Tensor:
        """The word that each class was set apart for, −1 for a signature: (N × 1)."""
        named = nn.functional.pad(self.named, (1, 0), value=-1)
        return named.gather(1, (classes - self.signatures + 1).clamp(min=0))

    def naming(self, words: Tensor, log_mass: Tensor, evidence: Tensor) -> "Classes":
        """Set words apart, each with what the expert feature adds to its score: all (N × P)."""
        words = _once(words)
        signature = self.signature[words.clamp(min=0)]
        log_mass = log_mass.masked_fill(words < 0, -torch.inf)
        share = log_share(log_mass, self._masses_at(signature))
        before = self.log_mass.expand(len(words), -1)
        taken = torch.zeros_like(before).scatter_add(1, signature, share.exp())
        left = torch.log1p(-taken.clamp(max=1))
        scores = self.logits.gather(1, signature) + share.to(self.logits.dtype) + evidence
        return Classes(
            log_mass=torch.cat([before + left, log_mass], dim=1),
            logits=torch.cat([self.logits + left.to(self.logits.dtype), scores], dim=1),
            signature=self.signature,
            named=words,
            rows=self.rows,
        )

    def _masses_at(self, classes: Tensor) -> Tensor:
        return self.log_mass.expand(len(classes), -1).gather(1, classes)


def log_share_of(
    words: Tensor, log_mass: Tensor, of_class: Tensor, calibration: Calibration | None
) -> Tensor:
    """log p(x | s, K) of some words, by log b(K, x) of them and log B of their classes."""
    share = log_share(log_mass, of_class)
    return calibration.log_share(share, words) if calibration else share


def log_share(log_mass: Tensor, of_class: Tensor) -> Tensor:
    """log b(x)/B, the part that each word has in its class. It has no gradient.

    A word without mass has no share, also where its class has no mass: −inf, not NaN.
    """
    return (log_mass - of_class).nan_to_num(nan=-torch.inf, posinf=-torch.inf, neginf=-torch.inf)


def _once(words: Tensor) -> Tensor:
    """A word named twice in a context counts once, as it was first named."""
    same = words.unsqueeze(2) == words.unsqueeze(1)
    return words.masked_fill(same.tril(-1).any(dim=2), -1)
