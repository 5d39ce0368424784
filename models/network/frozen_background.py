"""A language model as background: the network then learns only what the model misses."""

import numpy as np
import torch
from torch import Tensor

from accord.models.background.base import Background, Chance
from accord.models.common.batching import Sentences
from accord.models.features.phi import Features
from accord.models.network.language_model import LanguageModel
from accord.models.network.states import states
from accord.models.outputs.log_linear import log_linear_of


class FrozenModelBackground(Background):
    """b(K, x) = p(x | K) of a model over the same words, which is not trained any more.

    This is the paper's case of adaptation: a model of much text lies below one of little. The
    context of a word is the state h in which that model has read the words before it, and what
    its own background needs to know. Words share the mass of their signature as they do there.
    """

    def __init__(self, features: Features, model: LanguageModel):
        super().__init__(features)
        signature = log_linear_of(model).signature.cpu().numpy()
        if not np.array_equal(signature, features.signature):
            raise ValueError(
                f"background: expected a model over the same {features.vocabulary_size} words and "
                f"signatures, got one over {len(signature)} words"
            )
        self.model = model.requires_grad_(False)

    @property
    def inner(self) -> Background:
        """The model's own background."""
        return self.model.output.background

    @torch.inference_mode()
    def contexts(self, sentences: Sentences, training: bool = False) -> np.ndarray:
        width = self.model.output.whole_weight.shape[1]
        contexts = np.zeros((len(sentences.ids), width), np.float32)
        for at in states(self.model, sentences):
            contexts[at.positions] = at.h.cpu()
        inner = self.inner.contexts(sentences)
        # Side by side in double precision, which holds every whole number that they may have.
        return np.column_stack([contexts.astype(np.float64), inner]) if inner.size else contexts

    @torch.no_grad()
    def class_mass(self, context: Tensor | None = None) -> Tensor:
        return self.model.output.class_log_prob(*self._apart(context))

    def class_prior(self, context: Tensor | None = None) -> Tensor:
        return self.inner.class_prior(self._apart(context)[1])

    @torch.no_grad()
    def log_mass_of(self, words: Tensor, context: Tensor | None = None) -> Tensor:
        h, inner = self._apart(context)
        return self.model.output.log_prob_of(h, words, inner)

    @torch.no_grad()
    def log_masses(self, context: Tensor | None = None) -> Tensor:
        return self.model.output.log_prob(*self._apart(context))

    def word_masses(self) -> np.ndarray:
        return self.inner.word_masses()

    def contenders(self, k: int) -> Tensor:
        return self.inner.contenders(k)

    def draw(self, signatures: Tensor, context: Tensor | None, chance: Chance) -> Tensor:
        return self.inner.draw(signatures, self._apart(context)[1], chance)

    def regrouped(self, features: Features) -> "FrozenModelBackground":
        return FrozenModelBackground(
            features, self.model.over(features, self.model.output.regrouped(features))
        )

    def _apart(self, context: Tensor) -> tuple[Tensor, Tensor]:
        """The model's states, and the contexts of its own background."""
        weight = self.model.output.whole_weight
        return context[:, : weight.shape[1]].to(weight.dtype), context[:, weight.shape[1] :].long()
