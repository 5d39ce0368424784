"""In torch: an automaton over words as a background, and features that are switched off.

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

from accord.errors import AccordError
from accord.models.background import Background, Chance
from accord.models.constraints.automata import WordAutomaton
from accord.models.data import Sentences
from accord.models.log_linear import log_linear_of
from accord.models.model import LanguageModel
from accord.models.phi import Features


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
        group = features.group_of_signatures("group", automaton.group)
        allowed = torch.from_numpy(automaton.log_weight[:, group])
        self.register_buffer("allowed", allowed, persistent=False)
        self.register_buffer("signature", torch.from_numpy(features.signature), persistent=False)

    def contexts(self, sentences: Sentences, training: bool = False) -> np.ndarray:
        """The context of the inner background, followed by the state of the automaton."""
        inner = self.background.contexts(sentences, training)
        return np.column_stack([inner, self.automaton.states(sentences).astype(inner.dtype)])

    def class_mass(self, context: Tensor | None = None) -> Tensor:
        inner, state = self._apart(context)
        log_mass = self.background.class_mass(inner) + self.allowed[state]
        stuck = log_mass.isneginf().all(dim=-1)
        if stuck.any():
            raise AccordError(
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
        """The shares of the inner background: words of a signature are treated alike."""
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
    """A trained model, constrained by an automaton; `features` are those it was trained on.

    Earlier constraints stay in force.
    """
    split = features.split_by(automaton.group)
    output = log_linear_of(model)
    split = split.split_by(output.signature.cpu().numpy())
    background = Constrained(split, output.regrouped(split), automaton)
    return model.over(split, background)


def switched_off(model: LanguageModel, features: Sequence[int]) -> LanguageModel:
    """A model without some features; it shares the weights of the original."""
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
    """A shallow copy of a module, whose parts can be exchanged without changing the original."""
    same = copy.copy(module)
    same._parameters, same._modules = {**module._parameters}, {**module._modules}
    return same
