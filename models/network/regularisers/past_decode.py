"""Past-decode regularisation (Brahma 2018): what is predicted has to tell what was read."""

import torch
from torch import Tensor, nn

from models.outputs.log_linear import LogLinear
from models.outputs.signatures.log_softmax_at import log_softmax_at
from models.outputs.signatures.scored_classes import Classes
from models.outputs.signatures.times_rows import sum_of_rows, times_rows


class PastDecoder(nn.Module):
    """λ · the mean of −log q_t(x_t), where q_t is decoded from p_t, the prediction of x_{t+1}:

        e_t = Σ_s p_t(s)·E_s,    q_t = softmax(E·tanh(A·e_t + a) + d),    E = Φ·W

    Words are known by their signatures s, whose rows E serve to read, to predict and to decode
    them. A, a and d learn beside the network, which keeps nothing of them. They are drawn from the
    seed alone, so that nothing else is drawn otherwise for their sake.
    """

    def __init__(self, output: LogLinear, strength: float, seed: int):
        super().__init__()
        self.strength, size = strength, output.weight.shape[1]
        drawn = torch.rand(size, size, generator=torch.Generator().manual_seed(seed))
        self.weight = nn.Parameter((2 * drawn - 1) * size**-0.5)
        self.bias = nn.Parameter(torch.zeros(size))
        self.signature_bias = nn.Parameter(torch.zeros(output.product.signature_count))

    def forward(self, predicted: Classes, read: Tensor) -> Tensor:
        """The loss of the words read (N), from what is predicted after each of them."""
        rows = predicted.rows[:, : len(self.bias)]  # without the labels' part
        expected = sum_of_rows(predicted.logits.softmax(dim=1), rows)
        decoded = nn.functional.linear(expected, self.weight, self.bias).tanh()
        logits = times_rows(decoded, rows) + self.signature_bias
        signatures = predicted.signature[read].unsqueeze(1)
        return -self.strength * log_softmax_at(logits, signatures).mean()
