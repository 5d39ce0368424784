"""Temperature and calibration of a trained model, fitted on validation text."""

from collections.abc import Callable

import numpy as np
import torch

from accord.errors import AccordError
from accord.models.data import Sentences
from accord.models.inference.torch_model import TorchModel
from accord.models.log_linear import OCTAVES, Calibration, LogLinear, log_linear_of, log_share
from accord.models.mixture import likeliest_weights
from accord.models.model import LanguageModel

GOLDEN = (5**0.5 - 1) / 2
LEAST, MOST = 0.5, 2.0  # bounds of the search for 1/T
SEARCHES = 12  # each leaves GOLDEN of the range: within half a percent at the end
ROUNDS = 100  # of iterative scaling; the last ones change no digit that is printed
AS_PREDICTED = 32  # words, distributed as the network predicts, that keep θ finite


@torch.no_grad()
def fit_temperature(model: LanguageModel, valid: Sentences) -> None:
    """Set 1/T to the minimum of the loss on validation text, which is convex in it.

    The new value is kept only if it is better than the present one: 1, or that of the initial
    checkpoint.
    """
    sharpness = log_linear_of(model).inverse_temperature
    if sharpness is None:
        raise AccordError("temperature: expected an output that has one, to be fitted")
    present = float(sharpness)

    def loss(value: float) -> float:
        sharpness.fill_(value)
        return -float(TorchModel(model).score(valid).mean())

    unfitted, best = loss(present), golden_section(loss, LEAST, MOST, SEARCHES)
    if not loss(best) < unfitted:
        sharpness.fill_(present)


def golden_section(f: Callable[[float], float], low: float, high: float, rounds: int) -> float:
    """Return a value near the minimum of a function with one valley."""
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


@torch.inference_mode()
def fit_calibration(model: LanguageModel, valid: Sentences) -> None:
    """Set θ and μ to make the validation text likeliest; they are independent of each other."""
    output = log_linear_of(model)
    calibration, sharpness = output.calibration, output.inverse_temperature
    if calibration is None:
        raise AccordError("calibration: expected an output that has one, to be fitted")
    calibration.of_octaves.zero_()
    calibration.context_share.fill_(1)
    p, shares = _octaves(model, output, calibration, valid)
    octave = calibration.octave[output.signature].cpu().numpy()[valid.ids]
    scale = 1.0 if sharpness is None else float(sharpness)
    theta = likeliest_theta(p, octave) / scale
    calibration.of_octaves.copy_(torch.from_numpy(theta))
    calibration.context_share.fill_(likeliest_weights(shares)[0])


def likeliest_theta(p: np.ndarray, octave: np.ndarray) -> np.ndarray:
    """Return the θ that makes octaves likeliest under p·e^θ/Z (Darroch & Ratcliff 1972).

    Each round corrects every octave; this is exact if each word has only one.
    """
    predicted = p.mean(axis=0)
    observed = np.bincount(octave, minlength=len(predicted)) + AS_PREDICTED * predicted
    observed /= observed.sum()
    theta = np.zeros(len(predicted))
    for _ in range(ROUNDS):
        scaled = p * np.exp(theta)
        expected = (scaled / scaled.sum(axis=1, keepdims=True)).mean(axis=0)
        ratio = np.divide(observed, expected, where=expected > 0, out=np.ones_like(expected))
        theta += np.log(ratio)
    return theta - theta @ observed  # only differences count


def _octaves(
    model: LanguageModel, output: LogLinear, calibration: Calibration, text: Sentences
) -> tuple[np.ndarray, np.ndarray]:
    """Return p of the octaves before each word (N × octaves), and its log shares (2 × N).

    They are the word's shares of its signature, with the context and without.
    """
    p = np.zeros((len(text.ids), OCTAVES))
    shares = np.zeros((2, len(text.ids)))
    for read in TorchModel(model).states(text):
        positions = read.positions
        words = torch.from_numpy(text.ids[positions].astype(np.int64)).to(read.h.device)
        words, context = words.unsqueeze(1), torch.from_numpy(read.context).to(read.h.device)
        scored = output.score_signatures(read.h, context)
        of_octaves = scored.log_p.new_zeros(len(words), OCTAVES)
        p[positions] = of_octaves.index_add_(1, calibration.octave, scored.log_p.exp()).cpu()
        log_mass = output.background.log_mass_of(words, context)
        of_class = scored.log_mass.expand(len(words), -1).gather(1, output.signature[words])
        shares[0, positions] = log_share(log_mass, of_class).squeeze(1).cpu()
        shares[1, positions] = calibration.prior_share[words.squeeze(1)].cpu()
    return p, shares
