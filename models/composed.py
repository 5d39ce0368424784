"""Models made of others: a background alone, a model as a background, two directions together."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import torch
from torch import Tensor, nn

from accord.errors import AccordError
from accord.models.background import Background, Chance, needed
from accord.models.data import Sentences
from accord.models.log_linear import LogLinear, log_linear_of
from accord.models.model import LanguageModel
from accord.models.phi import Features
from accord.models.states import states, with_others

WORDS_AT_ONCE = 1 << 20  # scored together


class BackgroundOnly(nn.Module):
    """p(x | K) = b(K, x) for a background that sums to one. Nothing is trained."""

    def __init__(self, background: Background):
        super().__init__()
        self.background = background

    def score(self, sentences: Sentences) -> np.ndarray:
        """log p of every word of every sentence in order, END included, in nats."""
        return self.score_beside(sentences, ())[:, 0]

    def score_beside(self, sentences: Sentences, others: Sequence[int]) -> np.ndarray:
        """log p of every word, in the first column, and of the others in its place: (N × 1 + M)."""
        contexts = self._contexts(sentences)
        words = torch.from_numpy(sentences.ids.astype(np.int64)).to(contexts.device)
        at_once = max(1, WORDS_AT_ONCE // (1 + len(others)))
        log_p = [
            self.background.log_mass_of(with_others(word, others), context)
            for word, context in zip(words.split(at_once), contexts.split(at_once), strict=True)
        ]
        return torch.cat(log_p).double().cpu().numpy()

    def log_distributions(self, sentences: Sentences) -> Tensor:
        """log p of every word of the vocabulary in every place: (N × V)."""
        context = self._contexts(sentences)
        return self.background.log_masses(context).expand(len(context), -1)

    def parameter_count(self) -> int:
        """How many probabilities are listed."""
        return self.background.size

    def _contexts(self, sentences: Sentences) -> Tensor:
        contexts = torch.from_numpy(self.background.contexts(sentences))
        return contexts.to(self.background.starts.device)


class FrozenModelBackground(Background):
    """b(K, x) = p(x | K) of a frozen model over the same words.

    This is the paper's case of adaptation: a model of much text lies below one of little. The
    context of a word is the state h of that model after the words before it, and the context of its
    own background. Words share the mass of their signature as they do there.
    """

    def __init__(self, features: Features, model: LanguageModel):
        super().__init__(features)
        signature = log_linear_of(model).signature.cpu().numpy()
        if not np.array_equal(signature, features.signature):
            raise AccordError(
                f"background: expected a model over the same {features.vocabulary_size} words and "
                f"signatures, got one over {len(signature)} words"
            )
        self.model = model.requires_grad_(False)

    @property
    def output(self) -> LogLinear:
        return log_linear_of(self.model)

    @property
    def inner(self) -> Background:
        """The model's own background."""
        return self.output.background

    @torch.inference_mode()
    def contexts(self, sentences: Sentences, training: bool = False) -> np.ndarray:
        width = self.output.whole_weight.shape[1]
        contexts = np.zeros((len(sentences.ids), width), np.float32)
        for at in states(self.model, sentences):
            contexts[at.positions] = at.h.cpu()
        inner = self.inner.contexts(sentences)
        # Side by side in double precision, which holds every whole number that they may have.
        return np.column_stack([contexts.astype(np.float64), inner]) if inner.size else contexts

    @torch.no_grad()
    def class_mass(self, context: Tensor | None = None) -> Tensor:
        return self.output.class_log_prob(*self._apart(context))

    def class_prior(self, context: Tensor | None = None) -> Tensor:
        return self.inner.class_prior(self._apart(context)[1])

    @torch.no_grad()
    def log_mass_of(self, words: Tensor, context: Tensor | None = None) -> Tensor:
        h, inner = self._apart(context)
        return self.output.log_prob_of(h, words, inner)

    @torch.no_grad()
    def log_masses(self, context: Tensor | None = None) -> Tensor:
        return self.output.log_prob(*self._apart(context))

    def word_masses(self) -> np.ndarray:
        return self.inner.word_masses()

    def contenders(self, k: int) -> Tensor:
        return self.inner.contenders(k)

    def draw(self, signatures: Tensor, context: Tensor | None, chance: Chance) -> Tensor:
        return self.inner.draw(signatures, self._apart(context)[1], chance)

    def regrouped(self, features: Features) -> "FrozenModelBackground":
        return FrozenModelBackground(
            features, self.model.over(features, self.output.regrouped(features))
        )

    def _apart(self, context: Tensor | None) -> tuple[Tensor, Tensor]:
        """The model's states, and the contexts of its own background."""
        weight, context = self.output.whole_weight, needed(context)
        return context[:, : weight.shape[1]].to(weight.dtype), context[:, weight.shape[1] :].long()


AT_ONCE = 512  # words whose distributions over the vocabulary are held at a time


class WordModel(Protocol):
    """A model that knows the probability of every word at every position."""

    def score_beside(self, sentences: Sentences, others: Sequence[int]) -> np.ndarray: ...

    def log_distributions(self, sentences: Sentences) -> Tensor | np.ndarray: ...

    def parameter_count(self) -> int: ...


class Backward:
    """p(x_t | x_{t+1} … x_n): a model that was trained on sentences backwards (train.text).

    It scores whole sentences, each word at its own position. What is at the position of the end is
    the probability that the sentence begins here. The product is a probability of the sentence, as
    that of a forward model is.
    """

    def __init__(self, model: WordModel):
        self.model = model

    def score(self, sentences: Sentences) -> np.ndarray:
        """log p of every word of every sentence in order, END included, in nats."""
        return self.score_beside(sentences, ())[:, 0]

    def score_beside(self, sentences: Sentences, others: Sequence[int]) -> np.ndarray:
        """log p of every word, in the first column, and of others at its position: (N × 1 + M)."""
        scored = self.model.score_beside(sentences.backwards(), others)
        return scored[sentences.backward_order()]

    def log_distributions(self, sentences: Sentences) -> Tensor:
        """log p of every word of the vocabulary at every position: (N × V)."""
        found = self.model.log_distributions(sentences.backwards())
        return torch.as_tensor(found)[torch.from_numpy(sentences.backward_order())]

    def parameter_count(self) -> int:
        return self.model.parameter_count()


def pseudo_log_likelihood(
    forward: WordModel, backward: Backward, sentences: Sentences, prior: np.ndarray
) -> np.ndarray:
    """log p(x_t | x_1 … x_{t−1}, x_{t+1} … x_n) of every word and end, in nats.

        p(x | left, right) = p_f(x | left) · p_b(x | right) / b(x) / Z

    This is Bayes' rule for contexts that are independent given the word. b is the prior share of
    every word (V); a word without mass is impossible. The product over a sentence is a
    pseudo-likelihood (Besag 1975), no probability of the sentence: each word is predicted from
    words that are predicted from it.
    """
    with np.errstate(divide="ignore"):
        log_b = torch.from_numpy(np.log(prior / prior.sum()))
    found = np.zeros(len(sentences.ids))
    for begin, stop in _parts(sentences.lengths):
        part = sentences.part(begin, stop)
        ids = torch.from_numpy(part.ids.astype(np.int64)).unsqueeze(1)
        both = -log_b.expand(len(ids), -1)
        for model in (forward, backward):
            both = both + torch.as_tensor(model.log_distributions(part)).double()
        both = both.masked_fill(torch.isneginf(log_b), -torch.inf)
        log_p = (both.gather(1, ids) - both.logsumexp(dim=1, keepdim=True)).squeeze(1)
        first = int(sentences.starts[begin])
        found[first : first + len(log_p)] = log_p.numpy()
    return found


def _parts(lengths: np.ndarray) -> list[tuple[int, int]]:
    """Sentences in groups of about AT_ONCE words: the first of each and the first after it."""
    group = (np.cumsum(lengths) - lengths) // AT_ONCE
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    return [*zip(starts.tolist(), [*starts[1:].tolist(), len(lengths)], strict=True)]
