"""Models that follow a text: unigram cache, nearest neighbours (kNN-LM), dynamic evaluation."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from accord.errors import AccordError
from accord.models.calibration import chunks
from accord.models.data import END, Sentences, State, detached
from accord.models.inference.interface import with_others
from accord.models.inference.torch_model import TorchModel
from accord.models.model import LanguageModel
from accord.pipeline.ask.scorer import Scorer
from accord.pipeline.base.messages import say, track
from accord.pipeline.model.comparison import Scored
from accord.pipeline.model.network import load_inference, load_trained
from accord.pipeline.study.combine import Candidates


class Cache:
    """p(x | K) = Σ_{j<t} δ^{t−j}·[x_j = x] / Σ_{j<t} δ^{t−j}, j over all words that were read.

    Sentences are therefore taken in their order. A word counts half as much after `half_life`
    words; a sentence's end is never held, hence impossible, and before the first word all are
    alike: the cache is of use as part of a mixture only.
    """

    def __init__(self, words: int, half_life: float):
        self.words, self.decay = words, 0.5 ** (1 / half_life)

    def score(self, sentences: Sentences) -> np.ndarray:
        log_p = np.full(len(sentences.ids), -np.inf)
        mass: dict[int, tuple[float, int]] = {}  # of each word, and when that was
        total, now = 0.0, 0
        for place, word in enumerate(sentences.ids.tolist()):
            if not total:
                log_p[place] = -np.log(self.words)
            if word == END:
                continue
            held, then = mass.get(word, (0.0, now))
            held *= self.decay ** (now - then)
            if held:
                log_p[place] = math.log(held) - math.log(total)
            total, now = (total + 1) * self.decay, now + 1
            mass[word] = (held + 1) * self.decay, now
        return log_p


NEAREST = 256  # states; four times as many are worth nothing (results/log/calibration.md)
STATES_AT_ONCE = 512  # that are compared with all of the text
MOST_NUMBERS = 1 << 30  # of the states of a text: 4 GiB


class Neighbourhood(NamedTuple):
    """The words that followed the states nearest to some others, x_i, and how near these are."""

    words: np.ndarray  # (N × k)
    distances: np.ndarray  # ‖h − h_i‖², the nearest first (N × k)

    def log_p(self, words: np.ndarray, temperature: float) -> np.ndarray:
        """log p of one word after each of the N states, which none may have followed: (N)."""
        nearer = np.exp((self.distances[:, :1] - self.distances) / temperature)
        of_word = np.where(self.words == words[:, None], nearer, 0).sum(axis=1)
        with np.errstate(divide="ignore"):
            return np.log(of_word) - np.log(nearer.sum(axis=1))


class Neighbours:
    """p(x | K) = Σ_i [x_i = x]·exp(−‖h − h_i‖²/T) / Σ_i exp(−‖h − h_i‖²/T)

    h is a network's state after K, h_i are the states before the words x_i of a text, the nearest
    ones alone (Khandelwal et al. 2020). Other words than theirs are impossible: neighbours are of
    use as part of a mixture only.
    """

    def __init__(self, network: LanguageModel, text: Sentences):
        self.network, self.text = network, text
        self.h = _states(network, text)
        self.squared = self.h.pow(2).sum(dim=1)  # ‖h_i‖²

    @torch.inference_mode()
    def after(self, sentences: Sentences) -> Neighbourhood:
        """Return the words after the states nearest to those before each word of some sentences."""
        k = min(NEAREST, len(self.h))
        nearest_states = []
        for h in _states(self.network, sentences).split(STATES_AT_ONCE):
            # The nearest have the largest h·h_i − ‖h_i‖²/2, as ‖h‖² is the same for all.
            nearest = (h @ self.h.T).sub_(self.squared / 2).topk(k, dim=1)
            distances = (h.pow(2).sum(dim=1, keepdim=True) - 2 * nearest.values).clamp(min=0)
            nearest_states.append((nearest.indices.cpu().numpy(), distances.cpu().numpy()))
        indices, distances = (np.concatenate(parts) for parts in zip(*nearest_states, strict=True))
        return Neighbourhood(self.text.ids[indices], distances)


@torch.inference_mode()
def _states(network: LanguageModel, text: Sentences) -> Tensor:
    """Return the states before all words, in their order: (N × H)."""
    if not len(text.ids):
        raise AccordError("neighbours: expected a text with words, got none")
    h = None
    for read in TorchModel(network).states(text):
        if h is None:
            most = MOST_NUMBERS // read.h.shape[1]
            if len(text.ids) > most:
                raise AccordError(
                    f"neighbours: expected a text of at most {most:,} words, whose states have "
                    f"{MOST_NUMBERS:,} numbers; got {len(text.ids):,}"
                )
            h = read.h.new_empty(len(text.ids), read.h.shape[1])
        h[read.positions] = read.h
    return h


class Dynamic:
    """Dynamic evaluation: the weights follow the text that is scored (Mikolov et al. 2010).

        θ ← θ − η·∇_θ ℓ(sentence) + λ·(θ₀ − θ)

    Every sentence is scored first and learned from afterwards, so that each probability is one of
    words that come before; λ draws the weights back to those of the training (Krause et al. 2018).
    Sentences are taken in their order, and the weights stay as they are after the last.
    """

    def __init__(self, network: LanguageModel, rate: float, back: float = 0.0):
        self.network, self.rate, self.back = network.eval(), rate, back
        self.weights = [weight for weight in network.parameters() if weight.requires_grad]
        self.first = [weight.detach().clone() for weight in self.weights]

    def score(self, sentences: Sentences) -> np.ndarray:
        """log p of every word of every sentence in order, END included, in nats."""
        return self.score_alternatives(sentences, ())[:, 0]

    def score_alternatives(self, sentences: Sentences, others: Sequence[int]) -> np.ndarray:
        """log p of every word, in the first column, and of others at its position: (N × 1 + M)."""
        sentences = self.network.as_read(sentences)
        contexts = self.network.contexts(sentences)
        firsts = {*sentences.texts()[0].tolist()}
        log_p, state = np.zeros((len(sentences.ids), 1 + len(others))), None
        for start, length in zip(sentences.starts, sentences.lengths, strict=True):
            here = slice(start, start + length)
            if state is None or start in firsts:
                state = self.network.encoder.initial_state(1)
            log_p[here], state = self._read(sentences.ids[here], contexts[here], state, others)
        return log_p

    def _read(
        self, ids: np.ndarray, contexts: np.ndarray, state: State, others: Sequence[int]
    ) -> tuple[np.ndarray, State]:
        """Score a sentence, then take a step on it."""
        device = self.weights[0].device
        targets = torch.from_numpy(ids.astype(np.int64)).to(device)
        words = torch.cat([targets.new_full((1,), END), targets[:-1]]).unsqueeze(1)
        context = torch.from_numpy(contexts).to(device)
        with torch.enable_grad():
            seen = self.network.loss(words, targets, state, context)
            settings = {"allow_unused": True, "materialize_grads": True}
            gradients = torch.autograd.grad(seen.nats, self.weights, **settings)
        with torch.no_grad():
            columns = torch.from_numpy(with_others(ids, others)).to(device)
            log_p = self.network.output.log_prob_of(seen.states, columns, context).double().cpu()
            norm, most = nn.utils.get_total_norm(gradients), self.network.recipe.max_grad_norm
            scale = self.rate * min(1.0, most / max(float(norm), 1e-12))
            for weight, gradient, first in zip(self.weights, gradients, self.first, strict=True):
                weight.lerp_(first, self.back).sub_(gradient, alpha=scale)
        return log_p.numpy(), detached(seen.state)

    def parameter_count(self) -> int:
        return self.network.parameter_count()


HALF_LIVES = (20, 50, 100, 200, 500, 1000, 2000, 5000)  # of the cache, in words
# Of neighbours, in mean distances to the nearest one: how large states are depends on the network.
TEMPERATURES = (0.05, 0.1, 0.2, 0.4, 0.8)


def of_cache(model: Scored) -> Candidates:
    """Caches of recent words, with several half-lives."""
    texts = {split: model.distinguished(split) for split in model.splits}
    return {
        f"cache, half-life {span} words": lambda split, span=span: Cache(model.words, span).score(
            texts[split]
        )
        for span in HALF_LIVES
    }


def of_neighbours(model: Scored) -> Candidates:
    """Offer the words after a network's nearest states in its training text."""
    network = load_trained(model.opened)
    if not model.opened.reads_words or not isinstance(network, LanguageModel):
        raise AccordError(
            f"--neighbours: expected a network over words, whose states can be compared; "
            f"'{model.name}' has no states of words: it is made of n-grams or of subwords"
        )
    text = model.sentences("train")
    say(f"{model.name} reads its training text, {len(text.ids):,} words")
    known, followed = Neighbours(network, text), {}
    for split in model.splits:
        pieces = [*chunks(model.sentences(split))]
        shown = track(pieces, f"pieces of {split}", len(pieces))
        neighbourhoods = zip(*(known.after(piece) for piece in shown), strict=True)
        followed[split] = Neighbourhood(*map(np.concatenate, neighbourhoods))
    words = {split: model.distinguished(split).ids for split in model.splits}
    nearest = followed["valid"].distances[:, 0].mean()
    return {
        f"neighbours of {model.name}, temperature {share}": lambda split, share=share: followed[
            split
        ].log_p(words[split], share * nearest)
        for share in TEMPERATURES
    }


def follow(scorer: Scorer, rate: float, back: float = 0.0) -> Scorer:
    """Let the model's weights follow the text which it scores (dynamic evaluation)."""
    loaded = load_inference(scorer.parts)
    if not isinstance(loaded, TorchModel):
        kind = type(loaded).__name__
        raise AccordError(
            f"--dynamic: expected a network over words that reads forwards, got {kind}"
        )
    scorer.model = Dynamic(loaded.network, rate, back)
    return scorer
