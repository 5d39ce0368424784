"""What an output layer is built over."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from torch import nn

from accord.models.background.base import Background
from accord.models.background.unigram import Unigram
from accord.models.features.embedding import FeatureEmbedding
from accord.models.features.phi import Features
from accord.models.outputs.signature_output import SignatureOutput


@dataclass(frozen=True)
class Given:
    """The words by their features, b, and what the network has for every output."""

    output: str  # its name, for errors
    features: Features
    background: Background
    size: int  # of h
    embedding: FeatureEmbedding | None  # whose weights the output shares, if it is tied
    classes: np.ndarray | None  # of each word, where there are some
    beside: int = 0  # numbers that stand behind h

    @property
    def tied(self) -> dict:
        """What a softmax over the signatures takes to share its weights."""
        if self.embedding is None:
            return {}
        return {"weight": self.embedding.weight, "product": self.embedding.product}

    @cached_property
    def unigram(self) -> Unigram:
        """The background, refused if it depends on the context."""
        if not isinstance(self.background, Unigram):
            raise ValueError(
                f"output: {self.output} cannot use a background that depends on the context; "
                f"expected background.kind: unigram or uniform"
            )
        return self.background

    @property
    def mass(self) -> np.ndarray:
        """How frequent each signature is."""
        return self.unigram.class_mass().exp().numpy()

    def over_signatures(self, within: nn.Module) -> SignatureOutput:
        """A layer that predicts signatures as one of words, which share as the background says."""
        return SignatureOutput(within, self.features, self.unigram)
