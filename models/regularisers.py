"""Terms that a training adds to the loss of the text: penalties, further targets, second passes."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from accord.errors import AccordError
from accord.models.data import Sentences
from accord.models.gpu.kernels import log_softmax_at, sum_of_rows, times_rows
from accord.models.log_linear import LogLinear, log_linear_of
from accord.models.model import LanguageModel, Seen
from accord.models.phi import Features
from accord.models.recipe import Recipe

Run = Callable[[], tuple[Tensor, Seen]]  # a forward pass over a batch: its loss and its results


class LossTerm(nn.Module):
    """A term of the loss. Its parameters are trained and not saved."""

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

    def __init__(self, strength: float):
        super().__init__()
        self.strength = strength

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
        super().__init__()
        self.strength, size = strength, output.weight.shape[1]
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

    def __init__(self, strength: float):
        super().__init__()
        self.strength = strength

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
        super().__init__()
        psi = model.psi
        if not isinstance(psi, Features):
            raise AccordError(
                "losses.features: expected features that words are read by and not predicted by "
                "(featurise.predict), found none"
            )
        self.strength, self.ids = strength, np.zeros(0, np.int64)
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
        nats = nn.functional.binary_cross_entropy_with_logits(
            z, self.table[of_batch[0]], reduction="none"
        )
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
