"""Outputs that compare the next word with a few others in training; their scores are exact."""

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from accord.models.common.checks import check_words
from accord.models.outputs.given import Given
from accord.models.outputs.softmax import Softmax


class Sampled(Softmax):
    """The sampled softmax (Jean et al. 2015): the next word x̄ is to be found among k drawn from q.

        −log p(x̄) ≈ −log( r(x̄) / (r(x̄) + Σ_{y drawn} r(y)) ),    r(x) = exp s(x) / k·q(x)

    s being the softmax's scores and q in proportion to `mass`. Ma & Collins (2018) show that with
    enough text this comes to the softmax's own scores, whatever k.
    """

    def __init__(self, mass: np.ndarray, size: int, *, samples: int = 1024, **tied):
        super().__init__(len(mass), size, mass=mass, **tied)
        noise = torch.from_numpy(np.asarray(mass / mass.sum(), np.float32))
        self.register_buffer("noise", noise, persistent=False)
        self.samples = samples

    def loss(self, h: Tensor, targets: Tensor) -> Tensor:
        if not self.training:
            return super().loss(h, targets)
        check_words("words", targets, len(self.bias))
        drawn = self.noise.multinomial(self.samples, replacement=True)
        vectors, offset = self._vectors(), self.bias - (self.samples * self.noise).log()
        of_target = (h * vectors[targets]).sum(dim=1) + offset[targets]
        of_drawn = functional.linear(h, vectors[drawn], offset[drawn])
        return self._contrast(of_target.float(), of_drawn.float()).mean()

    def _contrast(self, of_target: Tensor, of_drawn: Tensor) -> Tensor:
        """The loss of each target (N) by log r of it and of the words drawn (N × k)."""
        scores = torch.cat([of_target.unsqueeze(1), of_drawn], dim=1)
        return -scores.log_softmax(dim=1)[:, 0]


class NoiseContrastive(Sampled):
    """Noise-contrastive estimation (Gutmann & Hyvärinen 2010, Mnih & Teh 2012).

    Each of the next word and k words drawn from q is to be told for what it is, with exp s(x)
    taken for p(x):

        P(x is the next word) = exp s(x) / (exp s(x) + k·q(x)) = r(x) / (r(x) + 1)

    Scores start near to being normalised and stay so; where words are scored they are normalised
    all the same.
    """

    def _contrast(self, of_target: Tensor, of_drawn: Tensor) -> Tensor:
        return functional.softplus(-of_target) + functional.softplus(of_drawn).sum(dim=1)


def sampled(
    given: Given,
    *,
    samples: int = 1024,  # words drawn at each step, for all of its words together
) -> nn.Module:
    """A softmax that compares the next word with a sample of words in training."""
    return _over(Sampled, given, samples)


def noise_contrastive(
    given: Given,
    *,
    samples: int = 1024,  # words drawn at each step, for all of its words together
) -> nn.Module:
    """A softmax that learns in training to tell the next word from a sample of words."""
    return _over(NoiseContrastive, given, samples)


def _over(kind: type[Sampled], given: Given, samples: int) -> nn.Module:
    if samples < 1:
        raise ValueError(f"output: {given.output}.samples: expected 1 or more, got {samples}")
    return given.over_signatures(kind(given.mass, given.size, samples=samples, **given.tied))
