"""The encoder that a recipe names.

All map inputs (T × B × E) and a state to outputs (T × B × H) and the state after them, so that a
text may be read in pieces.
"""

from torch import nn

from models.encoders.recurrent import Recurrent
from models.encoders.recurrent_layer import RecurrentLayer
from models.encoders.reservoir import Reservoir
from models.encoders.transformer import Transformer
from models.encoders.window import Window

OTHERS = {"window": Window, "transformer": Transformer, "reservoir": Reservoir}


def encoder(name: str, *, weight_dropout: float = 0.0, **settings) -> nn.Module:
    """The encoder of that name: a kind of recurrent layer, or one of the others."""
    if name in RecurrentLayer.kernels:
        return Recurrent(name, weight_dropout=weight_dropout, **settings)
    if name not in OTHERS:
        known = ", ".join([*RecurrentLayer.kernels, *OTHERS])
        raise ValueError(f"encoder: expected one of {known}; got {name!r}")
    if weight_dropout:
        raise ValueError(
            f"weight_dropout: a {name} trains no recurrent weights to drop; expected 0"
        )
    return OTHERS[name](**settings)
