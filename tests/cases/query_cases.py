"""Queries of a network in a line."""

import numpy as np
import torch

from accord.models.data import Sentences
from accord.models.inference.torch_model import TorchModel
from accord.models.model import LanguageModel


def scored(network: LanguageModel, text: Sentences) -> np.ndarray:
    """Return log p of every word of a text."""
    return TorchModel(network).score(text)


def distributions(network: LanguageModel, text: Sentences) -> torch.Tensor:
    """Return log p of all words at every position of a text."""
    return torch.from_numpy(TorchModel(network).log_distributions(text))
