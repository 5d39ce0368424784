"""The temperature of a trained model, fitted on validation text."""

from collections.abc import Callable

import torch

from models.common.batching import Sentences
from models.network.language_model import LanguageModel

GOLDEN = (5**0.5 - 1) / 2
LEAST, MOST = 0.5, 2.0  # 1/T is looked for between these
ROUNDS = 12  # each leaves GOLDEN of the range: within half a percent at the end


def fit_temperature(model: LanguageModel, valid: Sentences) -> None:
    """Set 1/T to where the loss of the validation text, convex in it, is least.

    A value that validates no better than the one before is not taken: 1, or that of a start.
    """
    sharpness = model.output.inverse_temperature
    before = float(sharpness)

    def loss(value: float) -> float:
        with torch.no_grad():
            sharpness.fill_(value)
        return -float(model.score(valid).mean())

    unchanged, best = loss(before), golden_section(loss, LEAST, MOST, ROUNDS)
    if not loss(best) < unchanged:
        loss(before)


def golden_section(f: Callable[[float], float], low: float, high: float, rounds: int) -> float:
    """Near where a function with one valley is least."""
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_left, at_right = f(left), f(right)
    for _ in range(rounds):
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - GOLDEN * (high - low)
            at_left = f(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + GOLDEN * (high - low)
            at_right = f(right)
    return left if at_left < at_right else right
