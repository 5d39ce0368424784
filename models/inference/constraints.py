"""A model constrained by an automaton over words; words made likelier by a weight (priming).

    p(x | C, K) ∝ p(x | K)·exp(β_q(x)/T)

β_q(x) is the weight that the automaton's state q has for the group of x, −inf where it forbids x.
Signatures are split where their words are of different groups, so the sum over all words is one
over parts of signatures. The weight is divided by the temperature T as all scores are.

Priming is an automaton of one state, which forbids nothing. With q = p(C | K), the mass that the
words have unprimed, a primed word is e^β / (1 + (e^β − 1)·q) times as likely (for T = 1).
"""

from collections.abc import Mapping, Sequence

import numpy as np

from accord.errors import AccordError
from accord.models.constraints.automata import WordAutomaton
from accord.models.data import Sentences
from accord.models.inference.interface import (
    NOTHING,
    InferenceModel,
    PsiVectors,
    Rows,
    ScoreTerms,
    State,
    log_sum_exp,
)


class ConstrainedModel(InferenceModel):
    """Another model, constrained by an automaton."""

    def __init__(self, whole: InferenceModel, automaton: WordAutomaton):
        self.whole, self.automaton = whole, automaton
        self.is_sum, self.sharpness = whole.is_sum, whole.sharpness
        groups = int(automaton.group.max()) + 1
        pairs = whole.signature * groups + automaton.group
        parts, self.signature = np.unique(pairs, return_inverse=True)
        self.above, group = np.divmod(parts, groups)  # the signature and the group of each part
        mass = np.bincount(self.signature, np.exp(whole.log_share), minlength=len(parts))
        with np.errstate(divide="ignore", invalid="ignore"):
            self.part_share = np.log(mass)  # of each part in its signature
            share = whole.log_share - self.part_share[self.signature]
        self.log_share = np.nan_to_num(share, nan=-np.inf, neginf=-np.inf)
        self.weight = automaton.log_weight[:, group] * self.sharpness  # (Q × parts)

    def contexts(self, sentences: Sentences) -> np.ndarray:
        """Return the whole model's contexts, each followed by the state of the automaton."""
        whole = self.whole.contexts(sentences)
        return np.column_stack([whole, self.automaton.states(sentences).astype(whole.dtype)])

    def signature_log_prob(self, h: Rows, context: np.ndarray) -> np.ndarray:
        log_p, total = self._weighed(h, context)
        return log_p - total[:, None]

    def _weighed(self, h: Rows, context: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return log p·exp(β/T) of every part of a signature (N × S), and log of its sum (N)."""
        log_p = self.whole.signature_log_prob(h, context[:, :-1]).astype(np.float64)
        state = context[:, -1].astype(np.int64)
        log_p = log_p[:, self.above] + self.part_share + self.weight[state]
        total = log_sum_exp(log_p)
        if np.isneginf(total).any():
            raise AccordError(
                f"automaton: expected a word with mass in every state, state "
                f"{state[np.isneginf(total)][0]} allows none"
            )
        return log_p, total

    def adaptor(self, h: Rows) -> np.ndarray:
        return self.whole.adaptor(h)

    def terms(self, h: Rows, words: np.ndarray, context: np.ndarray) -> ScoreTerms:
        terms = self.whole.terms(h, words, context[:, :-1])
        weight = self.weight[context[:, -1:].astype(np.int64), self.signature[words]]
        total = self._weighed(h, context)[1]
        return terms._replace(background=terms.background + weight, log_z=terms.log_z + total)

    def initial_state(self, columns: int) -> State:
        return self.whole.initial_state(columns)

    def advance(
        self, words: np.ndarray, state: State, extra: Mapping[str, np.ndarray] = NOTHING
    ) -> tuple[Rows, State]:
        return self.whole.advance(words, state, extra)

    def columns(self, state: State, chosen: np.ndarray) -> State:
        return self.whole.columns(state, chosen)

    def as_read(self, sentences: Sentences) -> Sentences:
        return self.whole.as_read(sentences)

    def vectors(self) -> PsiVectors:
        return self.whole.vectors()

    def switched_off(self, features: Sequence[int]) -> "ConstrainedModel":
        return ConstrainedModel(self.whole.switched_off(features), self.automaton)

    def parameter_count(self) -> int:
        return self.whole.parameter_count()


ENOUGH = 1e-6  # the weight is tuned until it moves by less
ROUNDS = 100  # of Newton's method, at most
LONGEST_STEP, LARGEST = 2.0, 20.0  # of the weight, in nats


def primed(model: InferenceModel, words: np.ndarray, weight: float) -> InferenceModel:
    """Return a model under which some words are likelier by a weight in nats."""
    group = np.zeros(len(model.signature), np.int64)
    group[words] = 1
    return model.constrained(WordAutomaton(group, np.zeros((1, 2)), np.array([[0.0, weight]])))


def likeliest_weight(model: InferenceModel, words: np.ndarray, sentences: Sentences) -> float:
    """Return the β that makes sentences likeliest.

    Newton's method finds it: Σ_t β·[x_t ∈ C] − log(1 + (e^β − 1)·q_t) is concave in β.
    """
    is_primed = np.isin(sentences.ids, words)
    if not is_primed.any():
        raise AccordError(
            "priming: expected a text to tune on that has some of the words, got none"
        )
    q = _mass(primed(model, words, 0.0), words, sentences)
    weight = 0.0
    for _ in range(ROUNDS):
        now = np.exp(weight) * q / (1 + np.expm1(weight) * q)  # q as it is with this weight
        slope, curvature = (is_primed - now).sum(), (now * (1 - now)).sum()
        step = np.clip(slope / max(curvature, 1e-12), -LONGEST_STEP, LONGEST_STEP)
        weight = float(np.clip(weight + step, -LARGEST, LARGEST))
        if abs(step) < ENOUGH:
            break
    return weight / model.sharpness


def _mass(model: InferenceModel, words: np.ndarray, sentences: Sentences) -> np.ndarray:
    """Return q before each word of a text (N); of a signature all words are primed, or none."""
    q, signatures = np.zeros(len(sentences.ids)), np.unique(model.signature[words])
    for read in model.states(sentences):
        log_p = model.signature_log_prob(read.h, read.context)
        q[read.positions] = np.exp(log_p[:, signatures].astype(np.float64)).sum(axis=1)
    return q
