"""Priming: words that a condition makes likelier, the paper's b(C, x).

    b(C, K, x) = b(K, x)·exp(β·[x ∈ C])

A constraint by an automaton of one state, which forbids nothing. With q = p(C | K), the mass that
the words have unprimed, a primed word is e^β / (1 + (e^β − 1)·q) times as likely.
"""

import numpy as np
import torch

from accord.models.common.batching import Sentences
from accord.models.features.phi import Features
from accord.models.network.constraint import Automaton, constrained
from accord.models.network.language_model import LanguageModel
from accord.models.network.states import states
from accord.models.outputs.log_linear import log_linear_of

ENOUGH = 1e-6  # the weight is tuned until it moves by less
ROUNDS = 100  # of Newton's method, at most
LONGEST_STEP, LARGEST = 2.0, 20.0  # of the weight, in nats


def primed(
    model: LanguageModel, features: Features, words: np.ndarray, weight: float
) -> LanguageModel:
    """A trained model under which some words are likelier; `features` are those it has."""
    group = np.zeros(features.vocabulary_size, np.int64)
    group[words] = 1
    automaton = Automaton(group, np.zeros((1, 2)), np.array([[0.0, weight]]))
    return constrained(model, features, automaton)


def likeliest_weight(
    model: LanguageModel, features: Features, words: np.ndarray, sentences: Sentences
) -> float:
    """The β under which sentences are likeliest.

    By Newton's method, Σ_t β·[x_t ∈ C] − log(1 + (e^β − 1)·q_t) being concave in β.
    """
    is_primed = np.isin(sentences.ids, words)
    if not is_primed.any():
        raise ValueError("priming: expected a text to tune on that has some of the words, got none")
    q = _mass(primed(model, features, words, 0.0), words, sentences)
    weight = 0.0
    for _ in range(ROUNDS):
        now = np.exp(weight) * q / (1 + np.expm1(weight) * q)  # q as it is with this weight
        slope, curvature = (is_primed - now).sum(), (now * (1 - now)).sum()
        step = np.clip(slope / max(curvature, 1e-12), -LONGEST_STEP, LONGEST_STEP)
        weight = float(np.clip(weight + step, -LARGEST, LARGEST))
        if abs(step) < ENOUGH:
            break
    sharpness = log_linear_of(model).inverse_temperature
    return weight if sharpness is None else weight / float(sharpness)


@torch.inference_mode()
def _mass(model: LanguageModel, words: np.ndarray, sentences: Sentences) -> np.ndarray:
    """q before each word of a text: (N)."""
    output, q = model.output, np.zeros(len(sentences.ids))
    of_word = torch.zeros_like(output.signature, dtype=torch.bool)
    of_word[torch.from_numpy(words).to(of_word.device)] = True
    signatures = int(output.signature.max()) + 1
    of_signature = of_word.new_zeros(signatures).scatter(0, output.signature, of_word)
    for read in states(model, sentences):
        classes = output.classes(read.h, read.context)
        p, named = classes.log_p.double().exp(), classes.named
        # Words that the context names are in no signature.
        is_named = of_word[named.clamp(min=0)] & (named >= 0)
        is_primed = torch.cat([of_signature.expand(len(p), -1), is_named], dim=1)
        q[read.positions] = (p * is_primed).sum(dim=1).cpu()
    return q
