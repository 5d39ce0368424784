"""A trained model without what some features say of the next word.

    p(x | K) = b(K, x)·exp(Σ_{f not in off} a_f·φ_f(x)) / Z(K)

Z is that of the features which are left, so the probabilities sum to one again. What is read of
the words before stays as it was: h_t and the weights a_f of all other features are the same.
"""

import copy
from collections.abc import Sequence

from torch import nn

from accord.models.outputs.log_linear import log_linear_of


def switched_off(model: nn.Module, features: Sequence[int]) -> nn.Module:
    """A model that shares all it can with the first, which is left as it is."""
    output = _same(log_linear_of(model))
    off = output.signature.new_tensor(list(features))
    for name in ("weight", "bias"):
        weights = getattr(output, name).detach().index_fill(0, off, 0)
        setattr(output, name, nn.Parameter(weights, requires_grad=False))
    changed = _same(model)
    changed.output = output
    return changed


def _same(module: nn.Module) -> nn.Module:
    """A module with the same parts, which can be exchanged without changing the first one's."""
    same = copy.copy(module)
    same._parameters, same._modules = {**module._parameters}, {**module._modules}
    return same
