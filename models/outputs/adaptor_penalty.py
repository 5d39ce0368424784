"""A penalty on the norm of the adaptor: weights near nothing leave p near the background."""

from torch import Tensor

from models.outputs.log_linear import LogLinear


def adaptor_penalty(output: LogLinear, h: Tensor, strength: float) -> Tensor:
    """λ · the mean of ‖a_t‖², a_t = W·h_t + c, in states (N × H).

    ‖a_t‖² = h_t·WᵀW·h_t + 2c·W·h_t + ‖c‖²: the many weights of a_t are never formed.
    """
    weight, bias = output.whole_weight, output.bias
    quadratic = (h @ (weight.T @ weight) * h).sum(dim=1)
    return strength * (quadratic + 2 * h @ (weight.T @ bias) + bias @ bias).mean()
