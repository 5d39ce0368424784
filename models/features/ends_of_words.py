"""Where words end, for an encoder of letters or pieces that keeps a clock of words."""

import numpy as np
import torch
from torch import Tensor, nn


class EndsOfWords(nn.Module):
    """Beside what is read of each subword, one more input: 1 where a word ends, else 0."""

    def __init__(self, ends: np.ndarray | None):
        super().__init__()
        if ends is None:
            raise ValueError(
                "encoder: expected a model of letters or pieces, whose words have ends "
                "(encode.merges), for an encoder with a clock of words"
            )
        self.register_buffer("is_end", torch.from_numpy(np.asarray(ends, bool)), persistent=False)

    def forward(self, subwords: Tensor, read: Tensor) -> Tensor:
        return torch.cat([read, self.is_end[subwords].unsqueeze(-1).to(read.dtype)], dim=-1)
