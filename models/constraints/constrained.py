"""Word automaton as a background, priming, switched-off features.

    b(C, K, x) = b(K, x)·exp(β·[x ∈ C])

A constraint by an automaton of one state, which forbids nothing. With q = p(C | K), the mass that
the words have unprimed, a primed word is e^β / (1 + (e^β − 1)·q) times as likely.

    p(x | K) = b(K, x)·exp(Σ_{f not in off} a_f·φ_f(x)) / Z(K)

Z is that of the features which are left, so the probabilities sum to one again. What is read of
the words before stays as it was: h_t and the weights a_f of all other features are the same.
"""

import copy
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from accord.models.background.base import Background, Chance
from accord.models.common.batching import Sentences
from accord.models.common.checks import check_range
from accord.models.features.phi import Features
from accord.models.network.language_model import LanguageModel
from accord.models.network.states import states
from accord.models.outputs.log_linear import log_linear_of


class WordAutomaton(nn.Module):
    """Reads words, one group of them being as good as another, and forbids some in each state.

    `group` (V) is the group of each word; `follow` (Q × G) the state after a word of a group, −1
    where the state forbids it; `log_weight` (Q × G), if not all are alike, by how many nats the
    state makes a word of a group likelier. It starts in state 0.
    """

    group: Tensor
    follow: Tensor
    log_weight: Tensor

    def __init__(self, group: np.ndarray, follow: np.ndarray, log_weight: np.ndarray | None = None):
        super().__init__()
        group, follow = np.asarray(group, np.int64), np.asarray(follow, np.int64)
        states, groups = follow.shape
        check_range("group", "groups", group, 0, groups)
        check_range("follow", "states", follow, -1, states)
        self.register_buffer("group", torch.from_numpy(group), persistent=False)
        self.register_buffer("follow", torch.from_numpy(follow), persistent=False)
        weight = np.where(follow >= 0, 0.0 if log_weight is None else log_weight, -np.inf)
        self.register_buffer("log_weight", torch.from_numpy(weight), persistent=False)

    def states(self, sentences: Sentences) -> np.ndarray:
        """The state before each word of each sentence: (N).

        A forbidden word leaves the state as it was: its text has the probability zero already.
        """
        group, follow = self.group.cpu().numpy(), self.follow.cpu().numpy()
        before = np.zeros(len(sentences.ids), np.int64)
        starts, now = sentences.starts, np.zeros(len(sentences.lengths), np.int64)
        for step in range(sentences.lengths.max(initial=0)):
            longer = np.flatnonzero(sentences.lengths > step)
            positions = starts[longer] + step
            before[positions] = now[longer]
            after = follow[now[longer], group[sentences.ids[positions]]]
            now[longer] = np.where(after >= 0, after, now[longer])
        return before


class Constrained(Background):
    """b(K, x) times the weight that the automaton has for x after K, 0 where it forbids x.

    Words of one signature must be of one group, so that a signature is allowed or forbidden as
    a whole: `features.split_by(group)` sees to that, and leaves W and c as they are.
    """

    allowed: Tensor  # the log of the weight of each signature in each state (Q × S)
    signature: Tensor  # of every word (V)

    def __init__(self, features: Features, background: Background, automaton: WordAutomaton):
        super().__init__(features)
        background.check_made_for(features)
        self.background, self.automaton = background, automaton
        self.is_of_parts = background.is_of_parts
        group = features.group_of_signatures("group", automaton.group.cpu().numpy())
        allowed = automaton.log_weight[:, torch.from_numpy(group)]
        self.register_buffer("allowed", allowed, persistent=False)
        self.register_buffer("signature", torch.from_numpy(features.signature), persistent=False)

    def contexts(self, sentences: Sentences, training: bool = False) -> np.ndarray:
        """What the inner background needs to know, and after it the state of the automaton."""
        inner = self.background.contexts(sentences, training)
        return np.column_stack([inner, self.automaton.states(sentences).astype(inner.dtype)])

    def class_mass(self, context: Tensor | None = None) -> Tensor:
        inner, state = self._apart(context)
        log_mass = self.background.class_mass(inner) + self.allowed[state]
        stuck = log_mass.isneginf().all(dim=-1)
        if stuck.any():
            raise ValueError(
                f"automaton: expected a word with mass in every state, state "
                f"{state[stuck].flatten()[0].item()} allows none"
            )
        return log_mass

    def class_prior(self, context: Tensor | None = None) -> Tensor:
        inner, state = self._apart(context)
        return self.background.class_prior(inner) + self.allowed[state]

    def log_mass_of(self, words: Tensor, context: Tensor | None = None) -> Tensor:
        inner, state = self._apart(context)
        allowed = self.allowed[state.unsqueeze(-1), self.signature[words]]
        return self.background.log_mass_of(words, inner) + allowed

    def log_masses(self, context: Tensor | None = None) -> Tensor:
        inner, state = self._apart(context)
        return self.background.log_masses(inner) + self.allowed[state][..., self.signature]

    def fixed_shares(self) -> Tensor | None:
        """Those of the inner background: words of a signature are treated alike."""
        return self.background.fixed_shares()

    def word_masses(self) -> np.ndarray:
        return self.background.word_masses()

    def contenders(self, k: int) -> Tensor:
        return self.background.contenders(k)

    def draw(self, signatures: Tensor, context: Tensor | None, chance: Chance) -> Tensor:
        return self.background.draw(signatures, self._apart(context)[0], chance)

    def regrouped(self, features: Features) -> "Constrained":
        return Constrained(features, self.background.regrouped(features), self.automaton)

    def _apart(self, context: Tensor | None) -> tuple[Tensor | None, Tensor]:
        """The inner background's context and the state; before any word, none and state 0."""
        if context is None:
            return None, self.signature.new_zeros(())
        return context[:, :-1], context[:, -1].long()


def constrained(
    model: LanguageModel, features: Features, automaton: WordAutomaton
) -> LanguageModel:
    """A trained model, held to what an automaton allows; `features` are those it was trained on.

    What it is held to already goes on to hold.
    """
    split = features.split_by(automaton.group.cpu().numpy())
    output = log_linear_of(model)
    split = split.split_by(output.signature.cpu().numpy())
    background = Constrained(split, output.regrouped(split), automaton)
    return model.over(split, background)


ENOUGH = 1e-6  # the weight is tuned until it moves by less
ROUNDS = 100  # of Newton's method, at most
LONGEST_STEP, LARGEST = 2.0, 20.0  # of the weight, in nats


def primed(
    model: LanguageModel, features: Features, words: np.ndarray, weight: float
) -> LanguageModel:
    """A trained model under which some words are likelier; `features` are those it has."""
    group = np.zeros(features.vocabulary_size, np.int64)
    group[words] = 1
    automaton = WordAutomaton(group, np.zeros((1, 2)), np.array([[0.0, weight]]))
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
    output, q = log_linear_of(model), np.zeros(len(sentences.ids))
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


def switched_off(model: LanguageModel, features: Sequence[int]) -> LanguageModel:
    """A model that shares all it can with the first, which is left as it is."""
    output = _same(log_linear_of(model))
    off = output.signature.new_tensor(list(features))
    for name in ("weight", "bias"):
        weights = getattr(output, name).detach().index_fill(0, off, 0)
        setattr(output, name, nn.Parameter(weights, requires_grad=False))
    changed = _same(model)
    changed.output = output
    return changed


Module = TypeVar("Module", bound=nn.Module)


def _same(module: Module) -> Module:
    """A module with the same parts, which can be exchanged without changing the first one's."""
    same = copy.copy(module)
    same._parameters, same._modules = {**module._parameters}, {**module._modules}
    return same
