"""Models of torch modules behind the interface that numpy implements too."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from accord.errors import AccordError, NumericalError
from accord.models.composed import BackgroundOnly
from accord.models.constraints.automata import WordAutomaton
from accord.models.constraints.constrained import constrained, switched_off
from accord.models.data import Sentences, State, columns
from accord.models.embedding import FeatureEmbedding
from accord.models.inference.interface import NOTHING, InferenceModel, PsiVectors, ScoreTerms
from accord.models.log_linear import LogLinear, log_linear_of
from accord.models.model import LanguageModel
from accord.models.phi import Features
from accord.models.softmax import SignatureOutput


class TorchModel(InferenceModel):
    """A network over words; to be constrained it needs the Φ that it was trained on."""

    def __init__(self, network: LanguageModel, features: Features | None = None):
        self.network, self.features = network, features
        self.output = network.output
        self.is_sum = isinstance(self.output, LogLinear)
        sharpness = getattr(self.output, "inverse_temperature", None)
        self.sharpness = 1.0 if sharpness is None else float(sharpness)
        shares = self._fixed_shares()
        self.by_word = shares is None
        if shares is None:
            words = network.vocabulary_size
            self.signature, self.log_share = np.arange(words), np.zeros(words)
        else:
            self.signature, self.log_share = shares[0].cpu().numpy(), shares[1].cpu().numpy()

    def _fixed_shares(self) -> tuple[Tensor, Tensor] | None:
        """The signature of each word and the log of its share there, if no context changes it."""
        if isinstance(self.output, SignatureOutput):
            return self.output.signature, self.output.log_share.double()
        if not isinstance(self.output, LogLinear):
            return None
        shares = self.output.background.fixed_shares()
        return None if shares is None else (self.output.signature, shares.double())

    @property
    def kind(self) -> str:
        return type(self.output).__name__

    @property
    def device(self) -> torch.device:
        return self.network.embedding.weight.device

    def _there(self, array: np.ndarray) -> Tensor:
        """An array on the model's device; torch shares no memory that is read-only."""
        return torch.from_numpy(np.require(array, requirements=["C", "W"])).to(self.device)

    def initial_state(self, columns: int) -> State:
        return self.network.encoder.initial_state(columns)

    @torch.inference_mode()
    def advance(
        self, words: np.ndarray, state: State, extra: Mapping[str, np.ndarray] = NOTHING
    ) -> tuple[Tensor, State]:
        known = {name: self._there(each) for name, each in extra.items()}
        return self.network(self._there(words), state, known)

    def columns(self, state: State, chosen: np.ndarray) -> State:
        return columns(state, self._there(chosen))

    def contexts(self, sentences: Sentences) -> np.ndarray:
        return self.network.contexts(sentences)

    def as_read(self, sentences: Sentences) -> Sentences:
        return self.network.as_read(sentences)

    def score_beside(self, sentences: Sentences, others: Sequence[int]) -> np.ndarray:
        return self.network.score_beside(sentences, others)

    @torch.inference_mode()
    def signature_log_prob(self, h: Tensor, context: np.ndarray) -> np.ndarray:
        known = self._there(context)
        if isinstance(self.output, SignatureOutput):
            return self.output.within.log_prob(h).cpu().numpy()
        if isinstance(self.output, LogLinear) and not self.by_word:
            return self.output.class_log_prob(h, known).cpu().numpy()
        return self.output.log_prob(h, known).cpu().numpy()

    @torch.inference_mode()
    def log_prob_of(self, h: Tensor, words: np.ndarray, context: np.ndarray) -> np.ndarray:
        found = self.output.log_prob_of(h, self._there(words), self._there(context))
        return found.double().cpu().numpy()

    @torch.inference_mode()
    def log_prob(self, h: Tensor, context: np.ndarray) -> np.ndarray:
        return self.output.log_prob(h, self._there(context)).cpu().numpy()

    @torch.inference_mode()
    def top(self, h: Tensor, k: int, context: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        log_p, words = log_linear_of(self.network).top(h, k, self._there(context))
        return log_p.cpu().numpy(), words.cpu().numpy()

    def draw(self, h: Tensor, context: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        chance = torch.Generator(self.device).manual_seed(int(generator.integers(1 << 62)))
        try:
            drawn = log_linear_of(self.network).sample(h, chance, self._there(context))
        except RuntimeError as error:  # torch's, of probabilities that are no numbers
            raise NumericalError(f"no word can be drawn: {error}") from None
        return drawn.cpu().numpy()

    @torch.inference_mode()
    def adaptor(self, h: Tensor) -> np.ndarray:
        output = log_linear_of(self.network)
        return output.adaptor(h)[:, : len(output.weight)].double().cpu().numpy()

    @torch.inference_mode()
    def terms(self, h: Tensor, words: np.ndarray, context: np.ndarray) -> ScoreTerms:
        output, known = log_linear_of(self.network), self._there(context)
        background = output.log_background_of(h, self._there(words), known)
        log_z = output.log_normaliser(h, known)
        words_named, nats = (each.tolist() for each in output.context_terms(h, known))
        named = [
            dict(zip(reversed(which), reversed(given), strict=True))  # the first naming counts
            for which, given in zip(words_named, nats, strict=True)
        ]
        terms, log_sum = background.double().cpu().numpy(), log_z.double().cpu().numpy()
        return ScoreTerms(terms, log_sum, self.adaptor(h), named)

    @torch.inference_mode()
    def vectors(self) -> PsiVectors:
        embedding = self.network.embedding
        if not isinstance(embedding, FeatureEmbedding):
            raise AccordError(
                f"expected a model that reads words by vectors, got {type(embedding).__name__}"
            )
        rows = embedding.product(embedding.weight)
        return PsiVectors(rows.cpu().numpy(), embedding.signature.cpu().numpy())

    def constrained(self, automaton: WordAutomaton) -> "TorchModel":
        if self.features is None:
            raise AccordError(
                "features: expected those of training, to constrain a model; got none"
            )
        return TorchModel(constrained(self.network, self.features, automaton), self.features)

    def switched_off(self, features: Sequence[int]) -> "TorchModel":
        return TorchModel(switched_off(self.network, features), self.features)

    def condition_on(self, labels: np.ndarray) -> None:
        condition_network(self.network, labels)

    @property
    def labels(self) -> np.ndarray | None:
        readers = label_readers(self.network)
        return readers[0].given.cpu().numpy() if readers else None

    def parameter_count(self) -> int:
        return self.network.parameter_count()


class TorchBackground(InferenceModel):
    """p(x | K) = b(K, x): there is no state, and each word is a signature of its own."""

    def __init__(self, model: BackgroundOnly):
        self.model = model
        words = len(model.background.of_word)
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
        return self.model.background.contexts(sentences)

    @torch.inference_mode()
    def signature_log_prob(self, h: np.ndarray, context: np.ndarray) -> np.ndarray:
        background = self.model.background
        known = torch.from_numpy(context).to(background.starts.device)
        return background.log_masses(known).expand(len(context), -1).cpu().numpy()

    def score_beside(self, sentences: Sentences, others: Sequence[int]) -> np.ndarray:
        return self.model.score_beside(sentences, others)

    def parameter_count(self) -> int:
        return self.model.parameter_count()


def in_torch(
    model: LanguageModel | BackgroundOnly, features: Features | None = None
) -> InferenceModel:
    """A model of torch behind the interface."""
    if isinstance(model, BackgroundOnly):
        return TorchBackground(model)
    return TorchModel(model, features)


def label_readers(network: LanguageModel) -> list[Any]:
    """The parts of a network that read labels: its condition, b, and those of models below it."""
    return [each for each in network.modules() if getattr(each, "reads_labels", False)]


def condition_network(network: LanguageModel, labels: np.ndarray) -> None:
    """Set the labels of a network that was trained with some, of its b and of models below it."""
    readers = label_readers(network)
    if not readers:
        raise AccordError(
            "expected a model that was trained with labels of sentences (train.condition); this "
            "one was not"
        )
    for each in readers:
        each.given = torch.from_numpy(labels).to(network.embedding.weight.device)
