"""Distillation (Hinton et al. 2015): a model is trained towards the predictions of its teachers.

Words of a signature share its mass by the background, which does not learn. So the divergence over
signatures has the same gradient as the one over words, at the price of the signatures:

    KL(q ‖ p) = Σ_s q_s·log q_s/p_s + a term without parameters
"""

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from accord.errors import AccordError
from accord.models.data import Sentences
from accord.models.inference.interface import WORDS_AT_ONCE, slices
from accord.models.inference.torch_model import TorchModel
from accord.models.log_linear import LogLinear, log_linear_of
from accord.models.mixture import likeliest_weights
from accord.models.model import LanguageModel, Seen
from accord.models.recipe import Recipe
from accord.models.regularisers import LossTerm

LEAST_WEIGHT = 1e-3  # of a teacher, which may be the only one of a part of the text
WORDS_IN_PART = 1 << 16  # of a text whose states are kept until all teachers have read it


class Taught(NamedTuple):
    """The teachers' predictions before some words: the likeliest signatures."""

    signatures: Tensor  # (N × k)
    q: Tensor  # (N × k); 1 − Σq is the mass of all other signatures


def tempered(log_p: Tensor, temperature: float) -> Tensor:
    """Return log p^(1/T), normalised."""
    return log_p if temperature == 1 else (log_p / temperature).log_softmax(dim=-1)


def likeliest(q: Tensor, k: int) -> Taught:
    """Return the k likeliest signatures of q (N × S), or all."""
    top = q.topk(min(k, q.shape[1]), dim=1)
    return Taught(top.indices, top.values)


def divergence(log_p: Tensor, taught: Taught) -> Tensor:
    """Return KL(q ‖ p) in nats, the mean over states; log p (N × S) is the student's."""
    top = log_p.gather(1, taught.signatures)
    tiny = torch.finfo(log_p.dtype).eps
    log_rest = (1 - top.exp().sum(dim=1)).clamp(min=tiny).log()
    q_rest = (1 - taught.q.sum(dim=1)).clamp(min=0)
    entropy = torch.special.entr(taught.q).sum(dim=1) + torch.special.entr(q_rest)
    # A signature with q = 0 does not count, even if the student finds it impossible.
    cross = torch.where(taught.q > 0, taught.q * top, 0).sum(dim=1) + q_rest * log_rest
    return (-cross - entropy).mean()


class Distillation(LossTerm):
    """(1 − λ)·NLL + λ·T²·KL(teachers ‖ model), both at the temperature T.

    T² keeps the size of the gradient. `teachers` loads the teachers when the text is prepared.
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
        self.taught: Taught | None = None

    def prepare(self, model: LanguageModel, text: Sentences, valid: Sentences) -> None:
        self.taught = teach(self.teachers(), text, valid, model, self.is_training_text)

    def of_batch(self, positions: np.ndarray) -> Taught:
        assert self.taught, "`prepare` comes before the first step"
        return Taught(self.taught.signatures[positions].long(), self.taught.q[positions])

    def forward(self, loss: Tensor, seen: Seen, *taught: Tensor) -> Tensor:
        log_p = tempered(seen.scored().log_p, self.temperature)
        distance = divergence(log_p, Taught(*taught))
        return (1 - self.weight) * loss + self.weight * self.temperature**2 * distance


@torch.inference_mode()
def teach(
    teachers: Sequence[LanguageModel],
    text: Sentences,
    valid: Sentences,
    student: LanguageModel,
    is_training_text: bool,
) -> Taught:
    """Return the mixture of the teachers on a text, which each reads as in scoring.

    Their weights are those of the mixture under which the validation text is likeliest. Of their
    own training text, teachers that left a part out teach this part alone. The n-grams of the
    others lack the part of each sentence, as they did when the teachers learned: with those of the
    sentence itself they would be surer than of any other text.
    """
    recipe, output = student.recipe, log_linear_of(student)
    signature, signatures = output.signature, output.product.signature_count
    k = min(recipe.teachers.top, signatures)
    size = len(text.ids), k
    taught = Taught(torch.zeros(size, dtype=torch.int32), torch.zeros(size))
    queries = [TorchModel(teacher) for teacher in teachers]
    contexts, is_teaching = [], []  # before each word, by teacher
    for teacher in teachers:
        folds = teacher.recipe.folds if is_training_text else 0
        contexts.append(teacher.contexts(teacher.as_read(text), training=not folds))
        is_left_out = text.parts(folds or 1) == (teacher.recipe.fold if folds else 1)
        is_teaching.append(np.repeat(is_left_out, text.lengths).astype(np.float32))
    if not np.any(is_teaching, axis=0).all():
        raise AccordError(
            "teacher: expected some that have not read each part of the training text; all of "
            "these left a part out (train.folds), and some parts none of them did"
        )
    tuned = likeliest_weights(np.stack([teacher.score(valid) for teacher in queries]))
    shares = np.maximum(tuned, LEAST_WEIGHT).astype(np.float32)[:, None] * np.stack(is_teaching)
    shares = torch.from_numpy(shares / shares.sum(axis=0)).to(signature.device)
    for part, start in _parts(text):
        stop = start + len(part.ids)
        states = [
            _states(teacher, part, context[start:stop])
            for teacher, context in zip(queries, contexts, strict=True)
        ]
        for rows in slices(len(part.ids), WORDS_AT_ONCE):
            words = slice(start + rows.start, min(start + rows.stop, stop))
            weighted = (
                share[words].unsqueeze(1)
                * _by_signature(teacher, h[rows], context[words], signature, signatures)
                for teacher, h, context, share in zip(
                    teachers, states, contexts, shares, strict=True
                )
            )
            q = tempered(reduce(torch.add, weighted).log(), recipe.teachers.temperature)
            top = likeliest(q.exp(), k)
            taught.signatures[words], taught.q[words] = top.signatures.int().cpu(), top.q.cpu()
    return taught


def _parts(text: Sentences) -> Iterator[tuple[Sentences, int]]:
    """Yield the text in parts of whole documents, each with the position of its first word."""
    first = text.first_sentences()
    part = text.starts[first] // WORDS_IN_PART
    borders = [*first[np.flatnonzero(np.diff(part, prepend=-1))], len(text.lengths)]
    for begin, end in pairwise(borders):
        yield text.part(begin, end), int(text.starts[begin])


def _states(teacher: TorchModel, text: Sentences, contexts: np.ndarray) -> Tensor:
    """Return the states before all words in order; teachers read texts in orders of their own."""
    read = list(teacher.states(text, contexts))
    order = np.argsort(np.concatenate([states.positions for states in read]))
    return torch.cat([states.h for states in read])[torch.from_numpy(order)]


def _by_signature(
    teacher: LanguageModel, h: Tensor, contexts: np.ndarray, signature: Tensor, signatures: int
) -> Tensor:
    """Return p of the student's signatures, which may not be the teacher's: (N × S)."""
    output, context = teacher.output, torch.from_numpy(contexts).to(signature.device)
    if isinstance(output, LogLinear) and torch.equal(output.signature, signature):
        log_p = output.score_signatures(h, context).log_p
        if log_p.shape[1] == signatures:  # no word is a class of its own
            return log_p.exp()
    p = output.log_prob(h, context).exp()
    return p.new_zeros(len(p), signatures).index_add_(1, signature, p)
