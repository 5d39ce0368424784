"""Calibration on text: weights of mixtures, temperature, and the mass of rare words.

p(x | K) = Σ_i w_i·p_i(x | K), the weights being positive and of sum one

p(x | K) = Π_i p_i(x | K)^{w_i} / Z(K), normalised over all words; any weights will do

Weights of linear mixtures are found by EM (the one in Accord), log-linear ones by Newton's method.
Temperature and rare words are fitted on validation text.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from accord.errors import AccordError
from accord.models.data import Model, Sentences
from accord.models.inference.torch_model import TorchModel
from accord.models.log_linear import OCTAVES, Calibration, LogLinear, log_linear_of, log_share
from accord.models.model import LanguageModel

ENOUGH = 1e-8  # nats per word: weights are tuned until a round gains less
ROUNDS = 10_000  # of expectation and maximisation, at most


class Enumerable(Model, Protocol):
    """A model that lists p of all words."""

    def log_distributions(self, sentences: Sentences) -> np.ndarray:
        """Return log p of every word of the vocabulary at every position: (N × V)."""


def stacked_distributions(parts: Sequence[Enumerable], sentences: Sentences) -> Tensor:
    """Return log p of every word at every position by each part: (M × N × V)."""
    log_p = [torch.from_numpy(part.log_distributions(sentences)).float() for part in parts]
    if len(widths := sorted({of_part.shape[1] for of_part in log_p})) > 1:
        raise AccordError(f"expected models over one vocabulary, got some over {widths} words")
    return torch.stack(log_p)


def mixed(log_p: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return log Σ_i w_i·p_i from log p of each word by each part (M × N): (N)."""
    with np.errstate(divide="ignore"):  # a part may find a word impossible, or count for nothing
        return np.logaddexp.reduce(log_p + np.log(weights)[:, None], axis=0)


def likeliest_weights(
    log_p: np.ndarray,
    kind: np.ndarray | None = None,
    kinds: int = 1,
    times: np.ndarray | None = None,
    *,
    added: float = 0.0,
    rounds: int = ROUNDS,
    enough: float = ENOUGH,
) -> np.ndarray:
    """Return the weights that make a text likeliest, from log p of its words (M × N).

    By expectation and maximisation: w_i becomes the mean share that part i has in each word. The
    likelihood has one maximum, and rises in every round, until a round gains less than `enough`.

    Where words are of several kinds, numbered from 0 (N), each kind has weights of its own:
    (kinds × M). A word may count several `times`, and so many words as are `added` to each kind
    speak for all parts alike, so that none has no weight.
    """
    is_possible = np.isfinite(log_p).any(axis=0)
    possible = log_p[:, is_possible]
    p = np.exp(possible - possible.max(axis=0))
    counts = np.ones(p.shape[1]) if times is None else times[is_possible]
    of_kind = [slice(None)] if kind is None else [kind[is_possible] == k for k in range(kinds)]
    groups = [(p[:, chosen], counts[chosen]) for chosen in of_kind]
    weights = np.full((kinds, len(p)), 1 / len(p))
    previous = -np.inf
    for _ in range(rounds):
        log_p_of_text, updated = 0.0, weights.copy()
        for shares, (of_kind, count) in zip(updated, groups, strict=True):
            mixture = shares @ of_kind
            log_p_of_text += (count * np.log(mixture)).sum()
            if total := count.sum() + added:
                shares *= of_kind @ (count / mixture) / total
                shares += added / len(p) / total
        mean = log_p_of_text / max(counts.sum(), 1)
        if mean - previous < enough:
            break
        previous, weights = mean, updated
    return weights[0] if kind is None else weights


WORDS_AT_ONCE = 256  # positions whose distributions are held together
SMALL_STEP = 1e-4  # weights are tuned until none moves by more
NEWTON_STEPS = 20  # of Newton's method, at most


def score(
    parts: Sequence[Enumerable], weightings: Sequence[np.ndarray], texts: Iterable[Sentences]
) -> np.ndarray:
    """Return log p of every word of some short texts by each weighting of the parts: (W × N).

    The whole distributions of the parts are slow, so they are computed once for all weightings. A
    part of weight 0 is left out.
    """
    scores = []
    for text in texts:
        log_p, words = stacked_distributions(parts, text), (range(len(text.ids)), text.ids)
        scores.append([_combined(log_p, weights)[words].numpy() for weights in weightings])
    return np.concatenate(scores, axis=1).astype(np.float64)


def _combined(log_p: Tensor, weights: np.ndarray) -> Tensor:
    """Return the normalised combination; a word that a part finds impossible is so."""
    log_p, exponents = log_p[weights != 0], torch.from_numpy(weights[weights != 0]).to(log_p.dtype)
    is_possible = log_p.isfinite().all(dim=0)
    log_p = torch.tensordot(exponents, log_p.where(is_possible, 0), dims=1)
    return log_p.masked_fill(~is_possible, -torch.inf).log_softmax(dim=1)


def likeliest_exponents(log_p: Tensor, words: np.ndarray) -> np.ndarray:
    """Return the weights that make words likeliest, from the parts' log p (M × N × V).

    By Newton's method, the likelihood being concave:

        ∂ log p(x̄) / ∂w_i = log p_i(x̄) − E_p[log p_i],    −∂² log p(x̄) / ∂w_i∂w_j = Cov_p[i, j]
    """
    weights = np.full(len(log_p), 1 / len(log_p))
    for _ in range(NEWTON_STEPS):
        gradient, covariance = np.zeros(len(log_p)), np.zeros((len(log_p), len(log_p)))
        for start in range(0, len(words), WORDS_AT_ONCE):
            here = slice(start, start + WORDS_AT_ONCE)
            part, targets = log_p[:, here], words[here]
            p = _combined(part, weights).exp()
            part = part.where(part.isfinite(), 0)  # 0 times −inf would be no number
            mean = (p * part).sum(dim=2)
            gradient += (part[:, range(len(targets)), targets] - mean).sum(dim=1).numpy()
            centred = (part - mean.unsqueeze(2)).flatten(start_dim=1)
            covariance += ((centred * p.flatten()) @ centred.T).numpy()
        step = np.linalg.lstsq(covariance, gradient, rcond=None)[0]
        weights = weights + step
        if np.abs(step).max() < SMALL_STEP:
            break
    return weights


def chunks(sentences: Sentences) -> Iterator[Sentences]:
    """Yield whole sentences, in chunks of about WORDS_AT_ONCE words."""
    ends = np.cumsum(sentences.lengths)
    stops = (np.flatnonzero(np.diff(ends // WORDS_AT_ONCE, append=-1)) + 1).tolist()
    for first, stop in pairwise([0, *stops]):
        yield sentences.part(first, stop)


GOLDEN = (5**0.5 - 1) / 2
LEAST, MOST = 0.5, 2.0  # bounds of the search for 1/T
SEARCHES = 12  # each leaves GOLDEN of the range: within half a percent at the end
SCALINGS = 100  # of iterative scaling; the last ones change no digit that is printed
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

    scorer = TorchModel(model)
    valid = scorer.as_read(valid)
    states = list(scorer.states(valid))  # which no temperature changes

    def loss(value: float) -> float:
        sharpness.fill_(value)
        words = ((read, valid.ids[read.positions].astype(np.int64)[:, None]) for read in states)
        scores = [scorer.log_prob_of(read.h, ids, read.context) for read, ids in words]
        return -float(np.concatenate(scores).mean())

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
    for _ in range(SCALINGS):
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
