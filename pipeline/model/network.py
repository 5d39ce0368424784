"""The network and its background over prepared data, untrained or with its weights."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from accord.errors import AccordError
from accord.models.background import Background, HistoryContext, Prior, Uniform, Unigram
from accord.models.common.arrays import check_shapes, load_array, load_arrays, shapes_of
from accord.models.common.device import choose_device
from accord.models.common.files import load_json
from accord.models.common.registry import Choice, parted
from accord.models.common.weights import load_weights, take_weights
from accord.models.composed import Backward, FrozenModelBackground
from accord.models.data import Sentences
from accord.models.encoder import Psi, reads_letters
from accord.models.inference.interface import InferenceModel
from accord.models.inference.torch_model import in_torch
from accord.models.log_linear import Described
from accord.models.model import LanguageModel
from accord.models.ngrams import discounted
from accord.models.parts import BACKGROUNDS, CONDITIONS, HISTORIES, SMOOTHINGS
from accord.models.phi import Features
from accord.models.recipe import Recipe
from accord.models.spelling.subwords import SubwordModel, ends_of_words, subword_mass
from accord.pipeline.base.artefact import Inputs
from accord.pipeline.base.messages import say
from accord.pipeline.base.names import DESCRIBED, PRETRAINING, PRETRAINING_MASS, RECIPE
from accord.pipeline.data.encoded import read_text, read_values, weighted
from accord.pipeline.model.encoding import PRIOR, Encoding, FullEncoding
from accord.pipeline.model.parts import has_own_words, without_the_impossible


def training_text(recipe: Recipe, inputs: Inputs) -> Sentences:
    """The text for training and for counting n-grams: all but the fold that is left out."""
    text = read_text(inputs["encode"], "train")
    if recipe.source_weights:
        text = weighted(text, inputs["encode"], recipe.source_weights)
    return text.chosen(text.parts(recipe.folds) != recipe.fold) if recipe.folds else text


def background_of(recipe: Recipe, encoding: Encoding, features: Features, folds: int) -> Background:
    """b(K, x) of the kind that was prepared. With folds it can be trained over."""
    kind, settings = encoding.about["kind"], encoding.about.get("settings", {})
    return BACKGROUNDS[kind](recipe, encoding, features, folds, **settings)


def ngrams(recipe: Recipe, encoding: Encoding, features: Features, folds: int) -> Background:
    """n-grams of the training text; words that it lacks share mass as in `unigram`."""
    inputs, about = encoding.artefacts, encoding.about
    texts = [training_text(recipe, inputs)]
    if about["pretraining"]:
        expect_pretraining("background.pretraining", inputs)
        texts.append(read_text(inputs["encode"], PRETRAINING))
    history = about.get("history", "words")  # which older models do not tell
    return HISTORIES.make(
        history,
        HistoryContext(
            features,
            texts,
            about["order"],
            partial(SMOOTHINGS.make, about["smoothing"]),
            prior_of(encoding),
            folds,
            classes_of(encoding),
            _factors(history, encoding),
        ),
    )


def classes_of(encoding: Encoding) -> np.ndarray | None:
    """The classes of words; subwords have none."""
    path = encoding.artefacts["encode"] / "classes.npy"
    return load_array(path) if path.exists() and not encoding.subwords else None


def _factors(history: Choice, encoding: Encoding) -> dict[str, np.ndarray] | None:
    path = encoding.artefacts["background"] / "factors.npz"
    if not path.exists() or encoding.subwords:
        return None
    return load_arrays(path, parted(history)[1]["factors"].split())


def prior_of(encoding: Encoding) -> Prior:
    """The prior of n-grams: discounted counts of words, nothing for subwords."""
    if encoding.subwords:
        return np.ones_like
    folder = encoding.artefacts["background"]
    group, share = (load_array(folder / f"{name}.npy") for name in ("group", "share"))
    return partial(discounted, signature=group, share=share)


def unigram(recipe: Recipe, encoding: Encoding, features: Features, folds: int) -> Unigram:
    """Training counts; words that training lacks share the discounted mass."""
    return _unigram(encoding, features)


def uniform(recipe: Recipe, encoding: Encoding, features: Features, folds: int) -> Unigram:
    """The same mass for every known word, as in a softmax."""
    return _unigram(encoding, features)


def _unigram(encoding: Encoding, features: Features, mass: str = PRIOR) -> Unigram:
    if not encoding.subwords:
        return Unigram(features, encoding.mass(mass))
    counted = subword_mass(encoding.artefacts["encode"])  # which older models do without
    uniform = counted is None or encoding.about["kind"] == "uniform"
    return Uniform(features) if uniform else Unigram(features, counted)


def expect_pretraining(key: str, inputs: Inputs) -> None:
    if not (inputs["encode"] / f"{PRETRAINING}.ids.npy").exists():
        raise AccordError(f"{key} expects a text; set corpus.pretraining")


def build(recipe: Recipe, inputs: Inputs, folds: int = 0) -> LanguageModel | Background:
    """An untrained model over the features and the background that were prepared.

    To be trained it needs folds, if its background is to be counted on the text it is trained on.
    """
    return _maker(recipe, FullEncoding(inputs), folds)()


def build_pretraining(recipe: Recipe, inputs: Inputs) -> LanguageModel:
    """The model, or its future background, for the pretraining text."""
    alone = replace(recipe, phases={})
    if recipe.pretraining == "background":
        alone = _below(alone)
    encoding = FullEncoding(inputs)
    features = _features(encoding)
    return _network(alone, encoding, features, _unigram(encoding, features, PRETRAINING_MASS))()


Maker = Callable[[], LanguageModel | Background]  # takes room for the weights alone


def _maker(recipe: Recipe, encoding: Encoding, folds: int) -> Maker:
    """A function that makes the network of a recipe from data that were read before."""
    features = _features(encoding)
    if recipe.is_log_linear:  # others may tell words apart that have no mass
        features = without_the_impossible(features, encoding)
    if recipe.output_kind == "background":
        folds = 0  # as nothing is trained
        if has_own_words(encoding):
            raise AccordError(
                "train.output: background expects a b that sums to one; that of a file need not, "
                "as it may have words that the vocabulary lacks"
            )
        background = background_of(recipe, encoding, features, folds)
        return lambda: background
    if recipe.pretraining == "background":
        return _network(recipe, encoding, features, _unigram(encoding, features))
    return _network(recipe, encoding, features, background_of(recipe, encoding, features, folds))


def _network(
    recipe: Recipe, encoding: Encoding, features: Features, background: Background
) -> Maker:
    """A function that makes a network over a background, or over a model with that background."""
    inputs = encoding.artefacts
    labels, classes = _label_counts(recipe, inputs), classes_of(encoding)
    ends = ends_of_words(inputs["encode"]) if encoding.subwords else None
    psi = None if encoding.subwords else _psi(recipe, encoding)
    described = None if encoding.subwords else partial(_described, encoding)

    def make() -> LanguageModel:
        below = background
        if recipe.pretraining == "background":
            own = LanguageModel(_below(recipe), features, background, ends=ends, labels=labels)
            below = FrozenModelBackground(features, own)
        return LanguageModel(recipe, features, below, classes, psi, ends, labels, described)

    return make


def _described(encoding: Encoding) -> Described:
    """The forms of words and the names of features, read when an output asks for them."""
    path = encoding.artefacts["featurise"] / DESCRIBED
    if not path.exists():
        raise AccordError(f"{path}: the output reads forms; expected featurise.letters: true")
    return Described(**load_json(path, dict))


def _features(encoding: Encoding) -> Features:
    """Of words; subwords, where words are spelled in these, have none."""
    return Features.one_hot(encoding.subwords) if encoding.subwords else encoding.phi


def _below(recipe: Recipe) -> Recipe:
    """Of a model that is the background of another, whose temperature and expert are enough."""
    gate = parted(recipe.output)[1]["background_gate"]
    return replace(recipe, output={"kind": "log-linear", "background_gate": gate})


def _label_counts(recipe: Recipe, inputs: Inputs) -> list[int]:
    """The number of labels of each kind that the network is conditioned on, if any."""
    kind, _ = parted(recipe.condition)
    if kind == "none" or CONDITIONS.about(kind, "reads") == "sentence before":
        return []
    values = read_values(inputs["encode"])
    if not values:
        raise AccordError(
            f"train.condition: {kind} expects labels of the sentences; set corpus.labels"
        )
    return [*map(len, values.values())]


def _psi(recipe: Recipe, encoding: Encoding) -> Psi | None:
    """The input features of every word, if they are not Φ."""
    if reads_letters(recipe.input):
        letters = encoding.artefacts["featurise"] / "letters.npy"
        return load_array(letters) if letters.exists() else None
    return encoding.psi


def load_trained(encoding: Encoding, folds: int = 0) -> LanguageModel | Background:
    """Return the network with its best weights; with folds, to score its training text too.

    The network is first made without memory for its weights. So a recipe takes no more room than
    the weights bear out, and no first weights are drawn.
    """
    recipe, where = encoding.recipe, f"{encoding.where}: "
    make = _maker(recipe, encoding, folds)
    # Copied, as products may differ in the last digit where a tensor is not aligned.
    weights = {name: torch.tensor(value) for name, value in encoding.weights().items()}
    try:
        with torch.device("meta"):
            model = make()
    except (RuntimeError, TypeError, OverflowError, MemoryError) as error:  # torch's, of such sizes
        path = encoding.artefacts["train"] / RECIPE
        raise AccordError(f"{path}: no network can be so large: {error}") from None
    check_shapes(where, shapes_of(dict(model.named_parameters())), shapes_of(weights))
    if _lacks_room(model):
        model = make()
        load_weights(model, weights, where)
    else:
        take_weights(model, weights, where)
    return model.to(_device(recipe.device)).eval()


def load_inference(encoding: Encoding) -> InferenceModel | SubwordModel | Backward:
    """Return the model with its best weights, for queries by torch."""
    return for_queries(load_trained(encoding), encoding)


def for_queries(
    network: LanguageModel | Background, encoding: Encoding
) -> InferenceModel | SubwordModel | Backward:
    """Return a network behind the interface of queries."""
    model = in_torch(network)
    if encoding.recipe.text == "backward":
        return Backward(model)
    return SubwordModel(model) if encoding.subwords else model


def _lacks_room(model: nn.Module) -> bool:
    """Whether a model must be made with memory for its weights.

    A reservoir has tensors beside its weights, and torch's own recurrent modules hold references
    to theirs, so that they cannot be swapped.
    """
    if any(isinstance(module, nn.RNNBase) for module in model.modules()):
        return True
    own = (each for module in model.modules() for each in vars(module).values())
    tensors = (each for each in own if isinstance(each, Tensor))
    return any(tensor.is_meta for tensor in (*model.buffers(), *tensors))


def _device(trained_on: str) -> torch.device:
    """Where a model was trained, or the best that is here."""
    try:
        return choose_device(trained_on)
    except ValueError:
        here = choose_device("auto")
        say(f"the model was trained on {trained_on}, which is not here: it answers on {here}")
        return here
