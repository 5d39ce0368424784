"""Temperature and calibration of a trained model, fitted on validation text."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch

from accord.errors import AccordError
from accord.models.data import Sentences
from accord.models.log_linear import LogLinear, log_linear_of
from accord.models.mixture import likeliest_weights
from accord.models.model import LanguageModel
from accord.models.signatures import OCTAVES, Calibration, share_in_class
from accord.models.states import WORDS_AT_ONCE, states

GOLDEN = (5**0.5 - 1) / 2
LEAST, MOST = 0.5, 2.0  # 1/T is looked for between these
SEARCHES = 12  # each leaves GOLDEN of the range: within half a percent at the end
ROUNDS = 100  # of iterative scaling, whose last ones move nothing that is seen
AS_PREDICTED = 32  # words of a made-up text that is as the network has it, so that no θ is infinite


def fit_temperature(model: LanguageModel, valid: Sentences) -> None:
    """Set 1/T to the minimum of the loss on validation text, which is convex in it.

    The value is kept only if it is better than the one before: 1, or that of the initial
    checkpoint.
    """
    sharpness = log_linear_of(model).inverse_temperature
    if sharpness is None:
        raise AccordError("temperature: expected an output that has one, to be fitted")
    before = float(sharpness)

    def loss(value: float) -> float:
        with torch.no_grad():
            sharpness.fill_(value)
        return -float(model.score(valid).mean())

    unchanged, best = loss(before), golden_section(loss, LEAST, MOST, SEARCHES)
    if not loss(best) < unchanged:
        loss(before)


def golden_section(f: Callable[[float], float], low: float, high: float, rounds: int) -> float:
    """Near the minimum of a function with one valley."""
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


class _Octaves(NamedTuple):
    """The data that θ and μ are fitted to, for every word of a text."""

    p: np.ndarray  # of each octave before it: (N × octaves)
    octave: np.ndarray  # its own
    shares: np.ndarray  # log of its share in its signature, with the context and without: (2 × N)


@torch.inference_mode()
def fit_calibration(model: LanguageModel, valid: Sentences) -> None:
    """Set θ and μ to make the validation text likeliest; they are independent of each other."""
    output = log_linear_of(model)
    calibration, sharpness = output.calibration, output.inverse_temperature
    if calibration is None:
        raise AccordError("calibration: expected an output that has one, to be fitted")
    calibration.of_octaves.zero_()
    calibration.context_share.fill_(1)
    seen = _octaves(model, output, calibration, valid)
    theta = likeliest_theta(seen.p, seen.octave) / (1 if sharpness is None else float(sharpness))
    calibration.of_octaves.copy_(torch.from_numpy(theta))
    calibration.context_share.fill_(likeliest_weights(seen.shares)[0])


def likeliest_theta(p: np.ndarray, octave: np.ndarray) -> np.ndarray:
    """The θ that makes the observed octaves likeliest under p·e^θ/Z (Darroch & Ratcliff 1972).

    Each round corrects every octave; this is exact if each word has only one.
    """
    expected = p.mean(axis=0)
    came = np.bincount(octave, minlength=len(expected)) + AS_PREDICTED * expected
    came /= came.sum()
    theta = np.zeros(len(expected))
    for _ in range(ROUNDS):
        now = p * np.exp(theta)
        now = (now / now.sum(axis=1, keepdims=True)).mean(axis=0)
        theta += np.log(np.divide(came, now, where=now > 0, out=np.ones_like(now)))
    return theta - theta @ came  # of which only differences count


def _octaves(
    model: LanguageModel, output: LogLinear, calibration: Calibration, text: Sentences
) -> _Octaves:
    words = torch.from_numpy(text.ids.astype(np.int64))
    p = np.zeros((len(text.ids), OCTAVES))
    shares = np.zeros((2, len(text.ids)))
    for read in states(model, text):
        parts = (torch.from_numpy(read.positions), read.h, read.context)
        for at, h, context in zip(*(each.split(WORDS_AT_ONCE) for each in parts), strict=True):
            asked = words[at].to(h.device).unsqueeze(1)
            classes = output.classes(h, context)
            of_octaves = classes.log_p.new_zeros(len(h), OCTAVES)
            p[at] = of_octaves.index_add_(1, calibration.octave, classes.log_p.exp()).cpu()
            log_mass = output.background.log_mass_of(asked, context)
            of_class = classes.log_mass.expand(len(h), -1).gather(1, output.signature[asked])
            shares[0, at] = share_in_class(log_mass, of_class).squeeze(1).cpu()
            shares[1, at] = calibration.prior_share[asked.squeeze(1)].cpu()
    octave = calibration.octave[output.signature].cpu().numpy()[text.ids]
    return _Octaves(p, octave, shares)
