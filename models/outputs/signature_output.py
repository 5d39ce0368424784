"""Any output layer over signatures instead of words, whose words share as the background says."""

import torch
from torch import Tensor, nn

from accord.models.background.unigram import Unigram
from accord.models.common.checks import check_words
from accord.models.features.phi import Features


class SignatureOutput(nn.Module):
    """p(x | K) = p(s(x) | K) · b(x)/B_s(x), with p(s | K) from the layer within.

    So a word that training lacks, one of a signature with words that it has, keeps its mass, as in
    the log-linear model: a softmax over words would learn that it does not occur.
    """

    def __init__(self, within: nn.Module, features: Features, background: Unigram):
        super().__init__()
        self.within = within
        signature = torch.from_numpy(features.signature)
        self.register_buffer("signature", signature, persistent=False)
        self.register_buffer("log_share", background.log_share(), persistent=False)

    def loss(self, h: Tensor, targets: Tensor, context: Tensor | None = None) -> Tensor:
        check_words("words", targets, len(self.signature))
        return self.within.loss(h, self.signature[targets]) - self.log_share[targets].float().mean()

    def log_prob_of(self, h: Tensor, words: Tensor, context: Tensor | None = None) -> Tensor:
        check_words("words", words, len(self.signature))
        return self.within.log_prob_of(h, self.signature[words]) + self.log_share[words].float()

    def log_prob(self, h: Tensor, context: Tensor | None = None) -> Tensor:
        return self.within.log_prob(h)[:, self.signature] + self.log_share.float()
