"""Models of torch behind the interface; a model as a background; models that read backwards."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from accord.errors import AccordError
from accord.models.background import Background, ClassTerms, Unigram, required, split_terms
from accord.models.common.checks import expect
from accord.models.data import Sentences, State, columns
from accord.models.encoder import FeatureEmbedding
from accord.models.inference.interface import (
    NOTHING,
    WORDS_AT_ONCE,
    InferenceModel,
    PsiVectors,
    ScoreTerms,
)
from accord.models.log_linear import LogLinear, log_linear_of
from accord.models.model import LanguageModel
from accord.models.phi import Features
from accord.models.softmax import SignatureOutput


class TorchModel(InferenceModel):
    """A network over words. A training may query its model: its mode stays."""

    scored_at_once = WORDS_AT_ONCE

    def __init__(self, network: LanguageModel):
        self.network, self.output = network, network.output
        self.is_sum = isinstance(self.output, LogLinear)
        self.reads_documents = network.recipe.text == "documents"
        sharpness = getattr(self.output, "inverse_temperature", None)
        self.sharpness = 1.0 if sharpness is None else float(sharpness)
        # How words share the mass of their signature, if no context changes it
        share, background = None, getattr(network.output, "background", None)
        if isinstance(self.output, SignatureOutput):
            share = self.output.log_share
        elif self.is_sum and isinstance(background, Unigram):
            share = background.log_share()
        self.by_word = share is None
        words = network.vocabulary_size
        self.signature, self.log_share = np.arange(words), np.zeros(words)
        if share is not None:
            self.signature = self.output.get_buffer("signature").cpu().numpy()
            self.log_share = share.double().cpu().numpy()

    @property
    def device(self) -> torch.device:
        return self.network.embedding.weight.device

    def _tensor(self, array: np.ndarray) -> Tensor:
        """Return an array on the model's device; torch shares no memory that is read-only."""
        return torch.from_numpy(np.require(array, requirements=["C", "W"])).to(self.device)

    def initial_state(self, columns: int) -> State:
        return self.network.encoder.initial_state(columns)

    @torch.inference_mode()
    def advance(
        self, words: np.ndarray, state: State, extra: Mapping[str, np.ndarray] = NOTHING
    ) -> tuple[Tensor, State]:
        of_words = {name: self._tensor(values) for name, values in extra.items()}
        was_training = self.network.training
        if was_training:
            self.network.eval()
        results = self.network(self._tensor(words), state, of_words)
        if was_training:
            self.network.train()
        return results

    def columns(self, state: State, chosen: np.ndarray) -> State:
        return columns(state, self._tensor(chosen))

    def contexts(self, sentences: Sentences) -> np.ndarray:
        return self.network.contexts(sentences)

    def as_read(self, sentences: Sentences) -> Sentences:
        return self.network.as_read(sentences)

    @torch.inference_mode()
    def signature_log_prob(self, h: Tensor, context: np.ndarray) -> np.ndarray:
        if isinstance(self.output, SignatureOutput):
            return self.output.within.log_prob(h).cpu().numpy()
        if isinstance(self.output, LogLinear) and not self.by_word:
            return self.output.score_signatures(h, self._tensor(context)).log_p.cpu().numpy()
        return self.log_prob(h, context)

    @torch.inference_mode()
    def log_prob_of(self, h: Tensor, words: np.ndarray, context: np.ndarray) -> np.ndarray:
        log_p = self.output.log_prob_of(h, self._tensor(words), self._tensor(context))
        return log_p.double().cpu().numpy()

    @torch.inference_mode()
    def log_prob(self, h: Tensor, context: np.ndarray) -> np.ndarray:
        return self.output.log_prob(h, self._tensor(context)).cpu().numpy()

    @torch.inference_mode()
    def adaptor(self, h: Tensor) -> np.ndarray:
        output = log_linear_of(self.network)
        return output.adaptor(h)[:, : len(output.weight)].double().cpu().numpy()

    @torch.inference_mode()
    def terms(self, h: Tensor, words: np.ndarray, context: np.ndarray) -> ScoreTerms:
        output, known = log_linear_of(self.network), self._tensor(context)
        background = output.log_background_of(h, self._tensor(words), known).double().cpu()
        log_z = output.score_signatures(h, known).logits.logsumexp(dim=1).double().cpu()
        named = output.context_terms(h, known)
        return ScoreTerms(background.numpy(), log_z.numpy(), self.adaptor(h), named)

    @torch.inference_mode()
    def vectors(self) -> PsiVectors:
        embedding = self.network.embedding
        if not isinstance(embedding, FeatureEmbedding):
            raise AccordError(
                f"expected a model that reads words by vectors, got {type(embedding).__name__}"
            )
        rows = embedding.product(embedding.weight)
        return PsiVectors(rows.cpu().numpy(), embedding.signature.cpu().numpy())

    def switched_off(self, features: Sequence[int]) -> "TorchModel":
        output = _copied(log_linear_of(self.network))
        off = output.signature.new_tensor(list(features))
        for name in ("weight", "bias"):
            weights = getattr(output, name).detach().index_fill(0, off, 0)
            setattr(output, name, nn.Parameter(weights, requires_grad=False))
        network = _copied(self.network)
        network.output = output
        return TorchModel(network)

    def condition_on(self, labels: np.ndarray) -> None:
        readers = self._label_readers
        if not readers:
            super().condition_on(labels)
        for reader in readers:
            reader.default_labels = torch.from_numpy(labels).to(self.device)

    @property
    def labels(self) -> np.ndarray | None:
        readers = self._label_readers
        return readers[0].default_labels.cpu().numpy() if readers else None

    @property
    def _label_readers(self) -> list[Any]:
        """Return the parts that read labels: the condition, b, those of models below it."""
        modules = self.network.modules()
        return [module for module in modules if getattr(module, "reads_labels", False)]

    def parameter_count(self) -> int:
        return self.network.parameter_count()


Module = TypeVar("Module", bound=nn.Module)


def _copied(module: Module) -> Module:
    """Return a shallow copy, so that its parts can be exchanged without changing the original."""
    copied = copy.copy(module)
    copied._parameters, copied._modules = {**module._parameters}, {**module._modules}
    return copied


class TorchBackground(InferenceModel):
    """p(x | K) = b(K, x) for a background that sums to one, without a network.

    There is no state, and each word is a signature of its own.
    """

    scored_at_once = WORDS_AT_ONCE

    def __init__(self, background: Background):
        self.background = background
        words = len(background.of_word)
        self.signature, self.log_share = np.arange(words), np.zeros(words)

    def initial_state(self, columns: int) -> tuple[()]:
        return ()

    def advance(
        self, words: np.ndarray, state: tuple[()], extra: Mapping[str, np.ndarray] = NOTHING
    ) -> tuple[np.ndarray, tuple[()]]:
        return np.zeros((*words.shape, 0)), ()

    def columns(self, state: tuple[()], chosen: np.ndarray) -> tuple[()]:
        return ()

    def contexts(self, sentences: Sentences) -> np.ndarray:
        return self.background.contexts(sentences)

    def signature_log_prob(self, h: np.ndarray, context: np.ndarray) -> np.ndarray:
        log_b = self.background.log_mass_of(None, self._tensor(context))
        return log_b.expand(len(context), -1).cpu().numpy()

    def log_prob_of(self, h: np.ndarray, words: np.ndarray, context: np.ndarray) -> np.ndarray:
        log_b = self.background.log_mass_of(self._tensor(words), self._tensor(context))
        return log_b.double().cpu().numpy()

    def _tensor(self, array: np.ndarray) -> Tensor:
        return torch.from_numpy(array).to(next(self.background.buffers()).device)

    def parameter_count(self) -> int:
        return self.background.size


def in_torch(model: LanguageModel | Background) -> InferenceModel:
    """Return a model of torch behind the interface."""
    return TorchBackground(model) if isinstance(model, Background) else TorchModel(model)


class FrozenModelBackground(Background):
    """b(K, x) = p(x | K) of a frozen model over the same words.

    This is the paper's case of adaptation: a model of much text lies below one of little. The
    context of a word is the state h of that model after the words before it, and the context of its
    own background. Words share the mass of their signature as they do there.
    """

    def __init__(self, features: Features, model: LanguageModel):
        super().__init__(features)
        signature = log_linear_of(model).signature.cpu().numpy()
        expected = f"a model over the same {features.vocabulary_size} words and signatures"
        is_same = np.array_equal(signature, features.signature)
        expect("background", is_same, expected, f"one over {len(signature)} words")
        self.model = model.requires_grad_(False)

    @property
    def output(self) -> LogLinear:
        return log_linear_of(self.model)

    def contexts(self, sentences: Sentences, training: bool = False) -> np.ndarray:
        width = self.output.whole_weight.shape[1]
        h = np.zeros((len(sentences.ids), width), np.float32)
        for read in TorchModel(self.model).states(sentences):
            h[read.positions] = read.h.cpu().numpy()
        inner = self.output.background.contexts(sentences)
        # Side by side in double precision, which holds every whole number that they may have.
        return np.column_stack([h.astype(np.float64), inner]) if inner.size else h

    @torch.no_grad()
    def class_terms(self, context: Tensor | None = None, split: bool = False) -> ClassTerms:
        h, inner = self._split(context)
        log_p = self.output.score_signatures(h, inner).log_p
        if not split:
            return log_p, None
        return split_terms(log_p, self.output.background.class_terms(inner, split=True)[0])

    @torch.no_grad()
    def log_mass_of(self, words: Tensor | None, context: Tensor | None = None) -> Tensor:
        h, inner = self._split(context)
        output = self.output
        return output.log_prob(h, inner) if words is None else output.log_prob_of(h, words, inner)

    def word_masses(self) -> np.ndarray:
        return self.output.background.word_masses()

    def _split(self, context: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return the model's states, and the contexts of its own background."""
        weight, context = self.output.whole_weight, required(context)
        width = weight.shape[1]
        return context[:, :width].to(weight.dtype), context[:, width:].long()


class Backward:
    """p(x_t | x_{t+1} … x_n): a model that was trained on sentences backwards (train.text).

    It scores whole sentences, each word at its own position. The position of the end has the
    probability that the sentence begins here. The product is a probability of the sentence, as
    that of a forward model is.
    """

    def __init__(self, model: InferenceModel):
        self.model = model

    def score(self, sentences: Sentences) -> np.ndarray:
        """Return log p of every word of every sentence in order, END included, in nats."""
        return self.score_alternatives(sentences, ())[:, 0]

    def score_alternatives(self, sentences: Sentences, others: Sequence[int]) -> np.ndarray:
        """Return log p of every word, and of other words at its position: (N × 1 + M)."""
        scored = self.model.score_alternatives(sentences.backwards(), others)
        return scored[sentences.backward_order()]

    def log_distributions(self, sentences: Sentences) -> np.ndarray:
        """Return log p of every word of the vocabulary at every position: (N × V)."""
        log_p = self.model.log_distributions(sentences.backwards())
        return log_p[sentences.backward_order()]

    def parameter_count(self) -> int:
        return self.model.parameter_count()
