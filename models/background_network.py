"""A language model as background: the network then learns only what the model misses."""

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from models.background import Background
from models.batching import Sentences
from models.features import Features
from models.states import states

if TYPE_CHECKING:
    from models.language_model import LanguageModel


class ModelBackground(Background):
    """b(K, x) = p(x | K) of a model over the same words, which is not trained any more.

    This is the paper's case of adaptation: a model of much text lies below one of little. The
    context of a word is the state h in which that model has read the words before it, and what
    its own background needs to know.
    """

    def __init__(self, features: Features, model: "LanguageModel"):
        super().__init__(features)
        signature = model.output.signature.cpu().numpy()
        if not np.array_equal(signature, features.signature):
            raise ValueError(
                f"background: expected a model over the same {features.words} words and "
                f"signatures, got one over {len(signature)} words"
            )
        self.model = model.requires_grad_(False)

    @torch.inference_mode()
    def contexts(self, sentences: Sentences, training: bool = False) -> np.ndarray:
        rows = None
        for at in states(self.model, sentences):
            found = torch.cat([at.h, at.context.to(at.h.dtype)], dim=1).cpu().numpy()
            if rows is None:
                rows = np.zeros((len(sentences.ids), found.shape[1]), found.dtype)
            rows[at.places] = found
        return rows

    @torch.no_grad()
    def class_mass(self, context: Tensor | None = None) -> Tensor:
        return self.model.output.class_log_prob(*self._apart(context))

    def class_prior(self, context: Tensor | None = None) -> Tensor:
        return self.model.output.background.class_prior(self._apart(context)[1])

    @torch.no_grad()
    def log_mass_of(self, words: Tensor, context: Tensor | None = None) -> Tensor:
        h, inner = self._apart(context)
        return self.model.output.log_prob_of(h, words, inner)

    @torch.no_grad()
    def log_masses(self, context: Tensor | None = None) -> Tensor:
        return self.model.output.log_prob(*self._apart(context))

    def regrouped(self, features: Features) -> "ModelBackground":
        inner = self.model.output.background.regrouped(features)
        return ModelBackground(features, self.model.over(features, inner))

    def _apart(self, context: Tensor) -> tuple[Tensor, Tensor]:
        """The model's states, and the contexts of its own background."""
        size = self.model.output.weight.shape[1]
        return context[:, :size], context[:, size:].long()
