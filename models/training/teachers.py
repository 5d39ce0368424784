"""What trained models say of a text, kept to train another one towards it."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from models.common.batching import Sentences
from models.network.combined.mixture import likeliest_weights
from models.network.language_model import LanguageModel
from models.network.states import States, states
from models.outputs.distillation import Taught, likeliest, tempered
from models.outputs.log_linear import LogLinear
from models.recipe import Recipe

LEAST_WEIGHT = 1e-3  # of a teacher: one that alone may teach a part is heard there


class TaughtText(NamedTuple):
    """The mixture of the teachers before each word of a text, its likeliest signatures."""

    signatures: np.ndarray  # (N × k)
    q: np.ndarray  # (N × k)

    def at(self, positions: np.ndarray) -> Taught:
        return Taught(
            torch.from_numpy(self.signatures[positions].astype(np.int64)),
            torch.from_numpy(self.q[positions]),
        )


@torch.inference_mode()
def teach(
    teachers: Sequence[LanguageModel],
    text: Sentences,
    valid: Sentences,
    student: LanguageModel,
    is_training_text: bool,
) -> TaughtText:
    """What the teachers say of a text together, each sentence read by itself, as it is scored.

    Their weights are those of the mixture under which the validation text is likeliest.
    Of the text that they were trained on, those that left a part out teach this part alone. The
    n-grams of all others lack the part of each sentence, as they did when the teachers learned:
    with those of the sentence itself they would be surer than of any other text.
    """
    recipe, signature = student.recipe, student.output.signature
    signatures = len(student.output.background.starts) - 1
    k = min(recipe.distillation_top, signatures)
    taught = TaughtText(
        np.zeros((len(text.ids), k), np.int32), np.zeros((len(text.ids), k), np.float32)
    )
    may = np.stack([_may_teach(each.recipe, text, is_training_text) for each in teachers])
    weights = _weights(teachers, may, valid)
    read = (
        states(teacher, text, training=not (teacher.recipe.folds and is_training_text))
        for teacher in teachers
    )
    for at in zip(*read, strict=True):
        positions = at[0].positions  # the same for all, as they follow from the lengths
        shares = weights * may[:, positions]
        shares = torch.from_numpy(shares / shares.sum(axis=0)).to(signature.device)
        q = sum(
            share.unsqueeze(1) * _by_signature(teacher, each, signature, signatures)
            for teacher, each, share in zip(teachers, at, shares, strict=True)
        )
        q = tempered(q.log(), recipe.distillation_temperature)
        top = likeliest(q.exp(), k)
        taught.signatures[positions], taught.q[positions] = top.signatures.cpu(), top.q.cpu()
    return taught


def _may_teach(recipe: Recipe, text: Sentences, is_training_text: bool) -> np.ndarray:
    """Whether a teacher has a say before each word: 1 or 0."""
    if not recipe.folds or not is_training_text:
        return np.ones(len(text.ids), np.float32)
    left_out = text.parts(recipe.folds) == recipe.fold
    return np.repeat(left_out, text.lengths).astype(np.float32)


def _weights(teachers: Sequence[LanguageModel], may: np.ndarray, valid: Sentences) -> np.ndarray:
    """Of each teacher in their mixture, wherever it has a say: (M × 1)."""
    if not may.any(axis=0).all():
        raise ValueError(
            "teacher: expected some that have not read each part of the training text; all of "
            "these left a part out (train.folds), and some parts none of them did"
        )
    tuned = likeliest_weights(np.stack([each.score(valid) for each in teachers]))
    return np.maximum(tuned, LEAST_WEIGHT).astype(np.float32)[:, None]


def _by_signature(teacher: LanguageModel, at: States, signature: Tensor, signatures: int) -> Tensor:
    """p of the student's signatures, which a teacher of other features may not have: (N × S)."""
    output = teacher.output
    same = isinstance(output, LogLinear) and torch.equal(output.signature, signature)
    if same and not output.expert:
        return output.class_log_prob(at.h, at.context).exp()
    p = output.log_prob(at.h, at.context).exp()
    return p.new_zeros(len(p), signatures).index_add_(1, signature, p)
