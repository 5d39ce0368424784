"""What a trained log-linear layer gets wrong of rare words, set right on validation text."""

import numpy as np
import torch
from torch import Tensor, nn

from models.background.unigram import Unigram
from models.features.phi import Features

OCTAVES = 32  # from words that are all of the text to those that are one in four billion


class Calibration(nn.Module):
    """Two corrections, which models.training.calibration fits and which are none before:

        log p(s | K) = log B_s(K) + a_t·φ_s + θ_o(s) − log Z,    o(s) = ⌊−log₂ b_s/|s|⌋
        p(x | s, K) = μ·b(K, x)/B_s(K) + (1 − μ)·b(x)/b_s

    b(x) being the mass of a word before the context speaks and b_s the sum of it over the |s| words
    of a signature. θ makes words of one octave of frequency likelier or less likely: training
    cannot tell how often words that it has once come again, nor those that it lacks. μ is how far
    words of a signature share its mass by the context. Of signatures the network weighs what
    n-grams say; of the words in them it cannot, and n-grams find a word that they know from one
    context too unlikely in all others.
    """

    def __init__(self, features: Features, word_masses: np.ndarray):
        super().__init__()
        self.prior = prior = Unigram(features, word_masses)
        words = torch.from_numpy(np.bincount(features.signature)).log()
        octave = ((words - prior.class_mass()) / np.log(2)).clamp(0, OCTAVES - 1).long()
        self.register_buffer("octave", octave, persistent=False)
        self.register_buffer("prior_share", prior.log_share(), persistent=False)
        self.of_octaves = nn.Parameter(torch.zeros(OCTAVES), requires_grad=False)
        self.context_share = nn.Parameter(torch.ones(()), requires_grad=False)

    def bias(self) -> Tensor:
        """θ of every signature: (S)."""
        return self.of_octaves[self.octave]

    def log_share(self, by_context: Tensor, words: Tensor) -> Tensor:
        """log p(x | s, K) of some words, by log b(K, x)/B_s(K) of them."""
        return self.mixed(by_context, self.prior_share[words])

    def mixed(self, by_context: Tensor, without: Tensor) -> Tensor:
        """The log of the share that something has of a signature, by that with and without K."""
        share = self.context_share.to(by_context.dtype)
        without = without.to(by_context.dtype)
        return torch.logaddexp(share.log() + by_context, (1 - share).log() + without)
