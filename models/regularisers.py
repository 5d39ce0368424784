"""Terms that training adds to the loss: penalties, further targets, second passes, teachers."""

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from accord.errors import AccordError
from accord.models.calibration import likeliest_weights
from accord.models.data import Sentences
from accord.models.gpu.kernels import log_softmax_at, sum_of_rows, times_rows
from accord.models.inference.interface import WORDS_AT_ONCE, slices
from accord.models.inference.torch_model import TorchModel
from accord.models.log_linear import LogLinear, log_linear_of
from accord.models.model import LanguageModel, Seen
from accord.models.phi import Features
from accord.models.recipe import Recipe

Run = Callable[[], tuple[Tensor, Seen]]  # a forward pass over a batch: its loss and its results


class LossTerm(nn.Module):
    """A term of the loss. Its parameters are trained and not saved."""

    def __init__(self, strength: float = 1.0):
        super().__init__()
        self.strength = strength

    def prepare(self, model: LanguageModel, text: Sentences, valid: Sentences) -> None:
        """Prepare the term for a text, once, before the first step."""

    def of_batch(self, positions: np.ndarray) -> tuple[Tensor, ...]:
        """Return the data of the term for the targets at some positions of the text."""
        return ()

    def around(self, run: Run) -> Run:
        """Return a forward pass that may call this one several times."""
        return run

    def forward(self, loss: Tensor, seen: Seen, *of_batch: Tensor) -> Tensor:
        """Return the loss with this term added."""
        return loss


def apply_terms(
    run: Callable[[], Seen], terms: Sequence[LossTerm], of_batch: Sequence[tuple[Tensor, ...]]
) -> tuple[Tensor, Seen]:
    """Return the loss of a forward pass with all terms, and the pass."""

    def run_once() -> tuple[Tensor, Seen]:
        seen = run()
        loss = seen.nats
        for term, inputs in zip(terms, of_batch, strict=True):
            loss = term(loss, seen, *inputs)
        return loss, seen

    for term in terms:
        run_once = term.around(run_once)
    return run_once()


class ActivationPenalty(LossTerm):
    """Penalties on the encoder's outputs: `activation` keeps them small, `temporal` slow.

    α·mean(h'²) + β·mean((h_{t+1} − h_t)²) (Merity et al. 2017). As in AWD-LSTM, α weighs the
    outputs after dropout, β those before it.
    """

    def __init__(self, size: float, change: float):
        super().__init__()
        self.size, self.change = size, change

    def forward(self, loss: Tensor, seen: Seen, *of_batch: Tensor) -> Tensor:
        return loss + self.penalty(seen.h, seen.dropped, seen.real)

    def penalty(self, h: Tensor, dropped: Tensor, real: Tensor | None = None) -> Tensor:
        """Return the penalty of outputs (T × B × H); `real` has the positions of words in the T·B.

        If not all are words, the penalty is the mean over columns by their words, each with its own
        means. So it does not depend on the number of processes that share the columns.
        """
        if real is None:
            change = h.diff(dim=0).square().mean() if len(h) > 1 else 0.0
            return self.size * dropped.square().mean() + self.change * change
        is_word = torch.zeros(h.shape[:2], device=h.device)
        is_word.view(-1).index_fill_(0, real, 1)
        words = is_word.sum(dim=0)
        of_size = _means(dropped.square(), is_word)
        of_change = _means(h.diff(dim=0).square(), is_word[1:] * is_word[:-1])
        return ((self.size * of_size + self.change * of_change) * words).sum() / words.sum()


def _means(squares: Tensor, counts: Tensor) -> Tensor:
    """Return the mean over the words of each column, 0 without words: (B)."""
    return (squares.mean(dim=2) * counts).sum(dim=0) / counts.sum(dim=0).clamp(min=1)


class AdaptorPenalty(LossTerm):
    """A penalty on the squared norm of the weights a_t: pulls p towards b.

    λ · the mean of ‖a_t‖² = h_t·WᵀW·h_t + 2c·W·h_t + ‖c‖²: the many weights are never formed.
    """

    def forward(self, loss: Tensor, seen: Seen, *of_batch: Tensor) -> Tensor:
        output = log_linear_of(seen.output)
        h, weight, bias = seen.states, output.whole_weight, output.bias
        quadratic = (h @ (weight.T @ weight) * h).sum(dim=1)
        return loss + self.strength * (quadratic + 2 * h @ (weight.T @ bias) + bias @ bias).mean()


class PastDecoder(LossTerm):
    """Decoding the last word from the prediction; for a tied output.

    Past-decode regularisation (Brahma 2018): λ · the mean of −log q_t(x_t), where q_t is decoded
    from p_t, the prediction of x_{t+1}:

        e_t = Σ_s p_t(s)·E_s,    q_t = softmax(E·tanh(A·e_t + a) + d),    E = Φ·W

    Words are decoded by their signatures s, whose rows E also serve to read and to predict them.
    A, a and d have a random generator of their own, so that all other draws stay the same.
    """

    def __init__(self, output: LogLinear, strength: float, seed: int):
        super().__init__(strength)
        size = output.weight.shape[1]
        drawn = torch.rand(size, size, generator=torch.Generator().manual_seed(seed))
        self.weight = nn.Parameter((2 * drawn - 1) * size**-0.5)
        self.bias = nn.Parameter(torch.zeros(size))
        self.signature_bias = nn.Parameter(torch.zeros(output.product.signature_count))

    def forward(self, loss: Tensor, seen: Seen, *of_batch: Tensor) -> Tensor:
        classes = seen.scored()
        rows = classes.rows[:, : len(self.bias)]  # without the labels' part
        expected = sum_of_rows(classes.logits.softmax(dim=1), rows)
        decoded = nn.functional.linear(expected, self.weight, self.bias).tanh()
        logits = times_rows(decoded, rows) + self.signature_bias
        read = seen.words.flatten()
        read = read if seen.real is None else read.index_select(0, seen.real)
        signatures = classes.signature[read].unsqueeze(1)
        return loss - self.strength * log_softmax_at(logits, signatures).mean()


class FraternalDropout(LossTerm):
    """The difference of two runs over each window that drop other units.

    (ℓ₁ + ℓ₂)/2 + κ · the mean of (m₁ − m₂)² (Zołna et al. 2018). m are the states that the output
    layer reads (N × H). The paper compares a softmax's scores of words, whose differences are
    larger. The loss of the first run is reported.
    """

    def around(self, run: Run) -> Run:
        def both() -> tuple[Tensor, Seen]:
            (one, first), (other, second) = run(), run()
            distance = nn.functional.mse_loss(first.states, second.states)
            return (one + other) / 2 + self.strength * distance, first

        return both


class FeatureTask(LossTerm):
    """The features of the next word as a second target: multi-task learning.

    λ · the nats of the next word's features (Caruana 1997; Goldberg 2017, ch. 20):

        ℓ₂ = −Σ_f [v_f·log σ(z_f) + (1 − v_f)·log(1 − σ(z_f))],    z = U·h_t + c

    U and c are not saved; the encoder serves both targets. v_f is the value of a feature that words
    share, from 0 to 1, such as `Gender=Fem`. The features are those of ψ, as the output predicts
    those of φ already.
    """

    def __init__(self, model: LanguageModel, strength: float, seed: int):
        super().__init__(strength)
        psi = model.psi
        if not isinstance(psi, Features):
            raise AccordError(
                "losses.features: expected features that words are read by and not predicted by "
                "(featurise.predict), found none"
            )
        self.ids = np.zeros(0, np.int64)
        rows = np.repeat(np.arange(psi.signature_count), np.diff(psi.indptr))
        shared = np.flatnonzero(np.bincount(psi.indices, minlength=psi.feature_count) > 1)
        table = np.zeros((psi.signature_count, psi.feature_count), np.float32)
        table[rows, psi.indices] = np.clip(psi.values, 0, 1)
        self.register_buffer("table", torch.from_numpy(table[:, shared]), persistent=False)
        self.signature = psi.signature
        size = model.recipe.embedding if model.recipe.tied else model.recipe.hidden
        drawn = torch.rand(len(shared), size, generator=torch.Generator().manual_seed(seed))
        self.weight = nn.Parameter((2 * drawn - 1) * size**-0.5)
        self.bias = nn.Parameter(torch.zeros(len(shared)))

    table: Tensor  # the shared features of each signature (S × F)

    def prepare(self, model: LanguageModel, text: Sentences, valid: Sentences) -> None:
        self.ids = text.ids

    def of_batch(self, positions: np.ndarray) -> tuple[Tensor, ...]:
        """Return the signatures of the targets."""
        return (torch.from_numpy(self.signature[self.ids[positions]]),)

    def forward(self, loss: Tensor, seen: Seen, *of_batch: Tensor) -> Tensor:
        h = seen.states[:, : self.weight.shape[1]]  # without the labels' part
        z = nn.functional.linear(h, self.weight, self.bias)
        values = self.table[of_batch[0]]
        nats = nn.functional.binary_cross_entropy_with_logits(z, values, reduction="none")
        return loss + self.strength * nats.sum(dim=1).mean()


def regularisers(recipe: Recipe, model: LanguageModel) -> dict[str, LossTerm]:
    """Return the terms of a recipe by name."""
    losses = dict(recipe.losses)
    if "temporal" in losses:
        losses.setdefault("activation", 0.0)
    makers: dict[str, Callable[[float], LossTerm]] = {
        "past_decode": lambda w: PastDecoder(log_linear_of(model), w, recipe.seed),
        "activation": lambda w: ActivationPenalty(w, losses.get("temporal", 0.0)),
        "adaptor": AdaptorPenalty,
        "features": lambda w: FeatureTask(model, w, recipe.seed),
        "fraternal": FraternalDropout,
    }
    return {name: make(losses[name]) for name, make in makers.items() if name in losses}


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
    """(1 − λ)·NLL + λ·T²·KL(teachers ‖ model), both at the temperature T (Hinton et al. 2015).

    T² keeps the size of the gradient. `teachers` loads the teachers when the text is prepared.
    Words of a signature share its mass by the background, which does not learn. So the divergence
    over signatures has the same gradient as the one over words, at the price of the signatures:

        KL(q ‖ p) = Σ_s q_s·log q_s/p_s + a term without parameters
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
