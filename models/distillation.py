"""Distillation (Hinton et al. 2015): a model is trained towards the predictions of its teachers.

Words of a signature share by the background, which does not learn. So the divergence over words
and the one over signatures have the same gradient, and the latter costs the signatures alone:

    KL(q ‖ p) = Σ_s q_s·log q_s/p_s + a term without parameters
"""

from collections.abc import Callable, Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from accord.errors import AccordError
from accord.models.data import Sentences
from accord.models.inference.interface import ReadStates
from accord.models.inference.torch_model import TorchModel
from accord.models.log_linear import LogLinear, log_linear_of
from accord.models.mixture import likeliest_weights
from accord.models.model import LanguageModel, Seen
from accord.models.recipe import Recipe
from accord.models.regularisers import LossTerm

LEAST_WEIGHT = 1e-3  # of a teacher: one that alone may teach a part is heard there


class Taught(NamedTuple):
    """The teachers' predictions in some states: the likeliest signatures, the others as one."""

    signatures: Tensor  # (N × k), which differ in each row
    q: Tensor  # (N × k), of sum 1 or less


def tempered(log_p: Tensor, temperature: float) -> Tensor:
    """log p^(1/T), normalised."""
    return log_p if temperature == 1 else (log_p / temperature).log_softmax(dim=-1)


def likeliest(q: Tensor, k: int) -> Taught:
    """The k likeliest signatures, or all: (N × k), of q (N × S)."""
    top = q.topk(min(k, q.shape[1]), dim=1)
    return Taught(top.indices, top.values)


def divergence(log_p: Tensor, taught: Taught) -> Tensor:
    """KL(q ‖ p) in nats, the mean over states; log p (N × S) is the student's."""
    top = log_p.gather(1, taught.signatures)
    tiny = torch.finfo(log_p.dtype).eps
    log_rest = (1 - top.exp().sum(dim=1)).clamp(min=tiny).log()
    q_rest = (1 - taught.q.sum(dim=1)).clamp(min=0)
    entropy = torch.special.entr(taught.q).sum(dim=1) + torch.special.entr(q_rest)
    # Where q is 0 a signature counts for nothing, also if the student finds it impossible.
    cross = torch.where(taught.q > 0, taught.q * top, 0).sum(dim=1) + q_rest * log_rest
    return (-cross - entropy).mean()


class TaughtText(NamedTuple):
    """The mixture of the teachers before each word of a text, its likeliest signatures."""

    signatures: np.ndarray  # (N × k)
    q: np.ndarray  # (N × k)

    def at(self, positions: np.ndarray) -> Taught:
        return Taught(
            torch.from_numpy(self.signatures[positions].astype(np.int64)),
            torch.from_numpy(self.q[positions]),
        )


class Distillation(LossTerm):
    """(1 − λ)·NLL + λ·T²·KL(teachers ‖ model), both at the temperature T.

    T² keeps the size of the gradient. `teachers` loads them when the text is read.
    """

    def __init__(
        self,
        recipe: Recipe,
        teachers: Callable[[], Sequence[LanguageModel]],
        is_training_text: bool,
    ):
        super().__init__()
        self.weight, self.temperature = recipe.teachers.weight, recipe.teachers.temperature
        self.teachers, self.is_training_text = teachers, is_training_text
        self.text: TaughtText | None = None

    def prepare(self, model: LanguageModel, text: Sentences, valid: Sentences) -> None:
        self.text = teach(self.teachers(), text, valid, model, self.is_training_text)

    def of_batch(self, positions: np.ndarray) -> Taught:
        if self.text is None:
            raise AccordError("teachers: expected `prepare` to be called before the first step")
        return self.text.at(positions)

    def forward(self, loss: Tensor, seen: Seen, *taught: Tensor) -> Tensor:
        log_p = tempered(seen.scored().log_p, self.temperature)
        far = divergence(log_p, Taught(*taught))
        return (1 - self.weight) * loss + self.weight * self.temperature**2 * far


@torch.inference_mode()
def teach(
    teachers: Sequence[LanguageModel],
    text: Sentences,
    valid: Sentences,
    student: LanguageModel,
    is_training_text: bool,
) -> TaughtText:
    """The mixture of the teachers on a text; each sentence is read by itself, as in scoring.

    Their weights are those of the mixture under which the validation text is likeliest.
    Of the text that they were trained on, those that left a part out teach this part alone. The
    n-grams of all others lack the part of each sentence, as they did when the teachers learned:
    with those of the sentence itself they would be surer than of any other text.
    """
    recipe, output = student.recipe, log_linear_of(student)
    signature, signatures = output.signature, output.product.signature_count
    k = min(recipe.teachers.top, signatures)
    taught = TaughtText(
        np.zeros((len(text.ids), k), np.int32), np.zeros((len(text.ids), k), np.float32)
    )
    may = np.stack([_may_teach(each.recipe, text, is_training_text) for each in teachers])
    weights = _weights(teachers, may, valid)
    read = [
        TorchModel(teacher).states(text, _contexts(teacher, text, is_training_text))
        for teacher in teachers
    ]
    for at in zip(*read, strict=True):
        positions = at[0].positions  # the same for all, as they follow from the lengths
        shares = weights * may[:, positions]
        shares = torch.from_numpy(shares / shares.sum(axis=0)).to(signature.device)
        weighed = (
            share.unsqueeze(1) * _by_signature(teacher, each, signature, signatures)
            for teacher, each, share in zip(teachers, at, shares, strict=True)
        )
        q = tempered(reduce(torch.add, weighed).log(), recipe.teachers.temperature)
        top = likeliest(q.exp(), k)
        taught.signatures[positions], taught.q[positions] = top.signatures.cpu(), top.q.cpu()
    return taught


def _may_teach(recipe: Recipe, text: Sentences, is_training_text: bool) -> np.ndarray:
    """Whether a teacher counts before each word: 1 or 0."""
    if not recipe.folds or not is_training_text:
        return np.ones(len(text.ids), np.float32)
    left_out = text.parts(recipe.folds) == recipe.fold
    return np.repeat(left_out, text.lengths).astype(np.float32)


def _weights(teachers: Sequence[LanguageModel], may: np.ndarray, valid: Sentences) -> np.ndarray:
    """The weight of each teacher in their mixture: (M × 1)."""
    if not may.any(axis=0).all():
        raise AccordError(
            "teacher: expected some that have not read each part of the training text; all of "
            "these left a part out (train.folds), and some parts none of them did"
        )
    tuned = likeliest_weights(np.stack([TorchModel(each).score(valid) for each in teachers]))
    return np.maximum(tuned, LEAST_WEIGHT).astype(np.float32)[:, None]


def _contexts(teacher: LanguageModel, text: Sentences, is_training_text: bool) -> np.ndarray:
    """Return the contexts of the teacher's background: in training those that it learned with."""
    in_training = not (teacher.recipe.folds and is_training_text)
    return teacher.contexts(teacher.as_read(text), in_training)


def _by_signature(
    teacher: LanguageModel, read: ReadStates, signature: Tensor, signatures: int
) -> Tensor:
    """Return p of the student's signatures, which may not be the teacher's: (N × S)."""
    output, context = teacher.output, torch.from_numpy(read.context).to(signature.device)
    if isinstance(output, LogLinear) and torch.equal(output.signature, signature):
        log_p = output.score_signatures(read.h, context).log_p
        if log_p.shape[1] == signatures:  # no word is a class of its own
            return log_p.exp()
    p = output.log_prob(read.h, context).exp()
    return p.new_zeros(len(p), signatures).index_add_(1, signature, p)
