"""The network of a model folder and its background, untrained or with its weights."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from accord.errors import AccordError
from accord.models.background import Background, HistoryContext, Uniform, Unigram
from accord.models.common.arrays import check_shapes, load_arrays, shapes_of
from accord.models.common.registry import about, parted
from accord.models.common.weights import choose_device, load_weights, take_weights
from accord.models.data import Sentences
from accord.models.encoder import Psi, reads_letters
from accord.models.inference.interface import InferenceModel
from accord.models.inference.torch_model import Backward, FrozenModelBackground, in_torch
from accord.models.model import LanguageModel
from accord.models.parts import BACKGROUNDS, CONDITIONS, HISTORIES, SMOOTHINGS
from accord.models.phi import Features
from accord.models.recipe import Recipe
from accord.models.spelling import SubwordModel, ends_of_words, subword_mass
from accord.pipeline.base.messages import say
from accord.pipeline.base.names import CONFIG
from accord.pipeline.model.folder import ModelFolder, without_the_impossible

Texts = Sequence[Sentences]  # that b is counted on


@about(reads_text=True)
def ngrams(model: ModelFolder, features: Features, texts: Texts, folds: int) -> Background:
    """n-grams of the training text; words that it lacks share mass as in `unigram`."""
    settings, path = model.background, model.folder / "factors.npz"
    factors = None
    if path.exists() and not model.subwords:
        factors = load_arrays(path, parted(settings.history)[1]["factors"].split())
    counted = settings.order, partial(SMOOTHINGS.make, settings.smoothing), model.prior, folds
    context = HistoryContext(features, texts, *counted, model.classes, factors)
    return HISTORIES.make(settings.history, context)


def unigram(model: ModelFolder, features: Features, texts: Texts, folds: int) -> Unigram:
    """Training counts; words that training lacks share the discounted mass."""
    return _unigram(model, features)


def uniform(model: ModelFolder, features: Features, texts: Texts, folds: int) -> Unigram:
    """Equal mass for all known words, as in a softmax."""
    return _unigram(model, features)


def _unigram(model: ModelFolder, features: Features, mass: np.ndarray | None = None) -> Unigram:
    """Return the mass of words, by default their b, or of the subwords that spell them."""
    if not model.subwords:
        return Unigram(features, model.mass() if mass is None else mass)
    if model.background.kind == "uniform":
        return Uniform(features)
    return Unigram(features, subword_mass(model.folder))


def build(
    recipe: Recipe, model: ModelFolder, texts: Texts, folds: int = 0
) -> LanguageModel | Background:
    """Return an untrained network of a recipe over the words of a folder.

    To be trained it needs folds, if its background is counted on the text that it is trained on.
    """
    return _maker(recipe, model, texts, folds)()


def build_pretraining(recipe: Recipe, model: ModelFolder, mass: np.ndarray | None) -> LanguageModel:
    """Return the network, or its future background, for the pretraining text with its own b."""
    alone = replace(recipe, phases={})
    if recipe.pretraining == "background":
        alone = _below(alone)
    features = _features(model)
    return _network(alone, model, features, _unigram(model, features, mass))()


Maker = Callable[[], LanguageModel | Background]  # takes room for the weights alone


def _maker(recipe: Recipe, model: ModelFolder, texts: Texts, folds: int) -> Maker:
    """Return a function that makes the network of a recipe from data that were read before."""
    features = _features(model)
    if recipe.is_log_linear:  # others may tell words apart that have no mass
        features = without_the_impossible(features, model)
    if recipe.output_kind == "background":
        if model.has_file_background:
            raise AccordError(
                "train.output: background expects a b that sums to one; that of a file need not, "
                "as it may have words that the vocabulary lacks"
            )
        # No folds, as nothing is trained.
        counted = BACKGROUNDS.make(model.background.kind, model, features, texts, 0)
        return lambda: counted
    if recipe.pretraining == "background":
        return _network(recipe, model, features, _unigram(model, features))
    background = BACKGROUNDS.make(model.background.kind, model, features, texts, folds)
    return _network(recipe, model, features, background)


def _network(
    recipe: Recipe, model: ModelFolder, features: Features, background: Background
) -> Maker:
    """Return a maker of a network over a background, or over a model with that background."""
    labels, classes, of_words = _label_counts(recipe, model), model.classes, not model.subwords
    psi: Psi | None = None
    if of_words:
        psi = model.letters if reads_letters(recipe.input) else model.psi
    ends = None if of_words else ends_of_words(model.folder)
    described = model.described if of_words else None

    def make() -> LanguageModel:
        below = background
        if recipe.pretraining == "background":
            pretrained = _below(recipe), features, background
            lower = LanguageModel(*pretrained, ends=ends, labels=labels)
            below = FrozenModelBackground(features, lower)
        return LanguageModel(recipe, features, below, classes, psi, ends, labels, described)

    return make


def _features(model: ModelFolder) -> Features:
    """Return Φ of words; subwords have none."""
    return Features.one_hot(model.subwords) if model.subwords else model.phi


def _below(recipe: Recipe) -> Recipe:
    """Return the recipe of a model that is the background of another."""
    gate = parted(recipe.output)[1]["background_gate"]
    return replace(recipe, output={"kind": "log-linear", "background_gate": gate})


def _label_counts(recipe: Recipe, model: ModelFolder) -> list[int]:
    """Return the number of labels of each kind that the network is conditioned on."""
    kind, _ = parted(recipe.condition)
    if kind == "none" or CONDITIONS.about(kind, "reads") == "sentence before":
        return []
    if not model.labels:
        raise AccordError(
            f"train.condition: {kind} expects labels of the sentences; set corpus.labels"
        )
    return [*map(len, model.labels.values())]


def load_trained(model: ModelFolder, folds: int = 0) -> LanguageModel | Background:
    """Return the network with its best weights; with folds, to score its training text too.

    The network is first made without memory for its weights. So a recipe takes no more room than
    the weights bear out, and no first weights are drawn.
    """
    recipe, where = model.recipe, f"{model.folder}: "
    make = _maker(recipe, model, model.texts, folds)
    # Copied, as products may differ in the last digit where a tensor is not aligned.
    weights = {name: torch.tensor(value) for name, value in model.weights().items()}
    try:
        with torch.device("meta"):
            network = make()
    except (RuntimeError, TypeError, OverflowError, MemoryError) as error:  # torch's, of such sizes
        raise AccordError(f"{model.folder / CONFIG}: no network can be so large: {error}") from None
    check_shapes(where, shapes_of(dict(network.named_parameters())), shapes_of(weights))
    if _lacks_room(network):
        network = make()
        load_weights(network, weights, where)
    else:
        take_weights(network, weights, where)
    return network.to(_device(recipe.device)).eval()


def load_inference(model: ModelFolder) -> InferenceModel | SubwordModel | Backward:
    """Return the model with its best weights, for queries by torch."""
    return for_queries(load_trained(model), model)


def for_queries(
    network: LanguageModel | Background, model: ModelFolder
) -> InferenceModel | SubwordModel | Backward:
    """Return a network behind the interface of queries."""
    queried = in_torch(network)
    if model.recipe.text == "backward":
        return Backward(queried)
    return SubwordModel(queried) if model.subwords else queried


def _lacks_room(model: nn.Module) -> bool:
    """Return whether a model must be made with memory for its weights.

    A reservoir has further tensors, and torch's own recurrent modules hold references
    to theirs, so that they cannot be swapped.
    """
    if any(isinstance(module, nn.RNNBase) for module in model.modules()):
        return True
    values = (value for module in model.modules() for value in vars(module).values())
    tensors = (value for value in values if isinstance(value, Tensor))
    return any(tensor.is_meta for tensor in (*model.buffers(), *tensors))


def _device(trained_on: str) -> torch.device:
    """Return the device that the model was trained on, or the best one of this machine."""
    try:
        return choose_device(trained_on)
    except ValueError:
        best = choose_device("auto")
        say(f"the model was trained on {trained_on}, which is not here: it answers on {best}")
        return best
