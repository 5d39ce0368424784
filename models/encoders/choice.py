"""The encoder that a recipe names."""

import inspect

from torch import nn

from accord.models.common.registry import Choice, parted
from accord.models.parts import ENCODERS


def reads_ends(choice: Choice) -> bool:
    """Whether the encoder chosen wants to know where words end, by one more input."""
    return ENCODERS.part(parted(choice)[0]).about.get("reads") == "ends of words"


def encoder(choice: Choice, *, weight_dropout: float = 0.0, **shape) -> nn.Module:
    """The encoder chosen; the dropout of recurrent weights is for those that have some."""
    if weight_dropout:
        kind, _ = parted(choice)
        if "weight_dropout" not in inspect.signature(ENCODERS[kind]).parameters:
            raise ValueError(
                f"weight_dropout: a {kind} trains no recurrent weights to drop; expected 0"
            )
        shape["weight_dropout"] = weight_dropout
    return ENCODERS.make(choice, **shape)
