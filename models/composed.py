"""Models made of others: a model as a background, two directions together."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from accord.errors import AccordError
from accord.models.background import Background, ClassTerms, required, split_terms
from accord.models.data import Sentences
from accord.models.inference.torch_model import TorchModel
from accord.models.log_linear import LogLinear, log_linear_of
from accord.models.model import LanguageModel
from accord.models.phi import Features


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
        """Return the model's output."""
        return log_linear_of(self.model)

    def contexts(self, sentences: Sentences, training: bool = False) -> np.ndarray:
        width = self.output.whole_weight.shape[1]
        h = np.zeros((len(sentences.ids), width), np.float32)
        for read in TorchModel(self.model).states(sentences):
            h[read.positions] = read.h.cpu().numpy()
        inner = self.output.background.contexts(sentences)
        # Side by side in double precision, which holds every whole number that they may have.
        return np.column_stack([h.astype(np.float64), inner]) if inner.size else h

    @torch.no_grad()
    def class_terms(self, context: Tensor | None = None, split: bool = False) -> ClassTerms:
        h, inner = self._split(context)
        log_p = self.output.score_signatures(h, inner).log_p
        if not split:
            return log_p, None
        return split_terms(log_p, self.output.background.class_terms(inner, split=True)[0])

    @torch.no_grad()
    def log_mass_of(self, words: Tensor | None, context: Tensor | None = None) -> Tensor:
        h, inner = self._split(context)
        if words is None:
            return self.output.log_prob(h, inner)
        return self.output.log_prob_of(h, words, inner)

    def word_masses(self) -> np.ndarray:
        return self.output.background.word_masses()

    def _split(self, context: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return the model's states, and the contexts of its own background."""
        weight, context = self.output.whole_weight, required(context)
        width = weight.shape[1]
        return context[:, :width].to(weight.dtype), context[:, width:].long()


class WordModel(Protocol):
    """A model that knows the probability of every word at every position."""

    def score_alternatives(self, sentences: Sentences, others: Sequence[int]) -> np.ndarray: ...

    def log_distributions(self, sentences: Sentences) -> np.ndarray: ...

    def parameter_count(self) -> int: ...


class Backward:
    """p(x_t | x_{t+1} … x_n): a model that was trained on sentences backwards (train.text).

    It scores whole sentences, each word at its own position. The position of the end has the
    probability that the sentence begins here. The product is a probability of the sentence, as
    that of a forward model is.
    """

    def __init__(self, model: WordModel):
        self.model = model

    def score(self, sentences: Sentences) -> np.ndarray:
        """Return log p of every word of every sentence in order, END included, in nats."""
        return self.score_alternatives(sentences, ())[:, 0]

    def score_alternatives(self, sentences: Sentences, others: Sequence[int]) -> np.ndarray:
        """Return log p of every word, and of other words at its position: (N × 1 + M)."""
        scored = self.model.score_alternatives(sentences.backwards(), others)
        return scored[sentences.backward_order()]

    def log_distributions(self, sentences: Sentences) -> np.ndarray:
        """Return log p of every word of the vocabulary at every position: (N × V)."""
        log_p = self.model.log_distributions(sentences.backwards())
        return log_p[sentences.backward_order()]

    def parameter_count(self) -> int:
        return self.model.parameter_count()
