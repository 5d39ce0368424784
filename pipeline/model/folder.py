"""The model folder: training writes it, everything else reads it.

    config.json          recipe, background, lexicons, hashes of files; exported: scores, sources
    model.safetensors    weights in single precision; model-….safetensors: rounded ones
    vectors.safetensors  the dense block of Φ, if it has one; rounded ones lie with the weights
    words.npz            the known words with their counts, signatures and b
    analyses.npz         the readings of each word: part of speech, features, lemma
    features.npz         Φ and ψ by signature, the names of features
    endings.npz          the endings that tell classes of unknown words apart
    spelling.*           the character model
    text-N.npz           the texts that n-grams are counted on
    others               files of a few recipes: subwords, word classes, labels, factors, letters

A folder may come from somebody else. So before anything is built from it, every file has the hash
that `config.json` names, and no array is far larger than its file. Older versions are rejected.

Needs numpy and safetensors only, as models are trained and asked without tables and lexicons.
"""

import json
import shutil
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from accord.errors import AccordError
from accord.models.common.arrays import (
    Weights,
    load_array,
    load_arrays,
    load_model,
    load_weights,
    narrow,
    save_arrays,
    save_weights,
    shapes_of,
)
from accord.models.common.files import WEIGHTS, load_json
from accord.models.common.registry import imported, parted
from accord.models.common.schema import Kind, Section, checked, hints_of
from accord.models.data import Sentences
from accord.models.inference.interface import InferenceModel
from accord.models.inference.numpy_model import NumpyModel, computes
from accord.models.ngrams import discounted
from accord.models.parts import BACKGROUNDS
from accord.models.phi import Features
from accord.models.recipe import Recipe
from accord.models.spelling import Spelling, SubwordModel, count_subwords, load_spelling
from accord.pipeline.base import artefact
from accord.pipeline.base.names import CHAIN, CONFIG, DESCRIBED
from accord.pipeline.config.sections import BackgroundParams, StartSettings
from accord.pipeline.data.encoded import Speller, read_values
from accord.pipeline.model.find import find_start
from accord.pipeline.model.words import (
    ANALYSES,
    WORDS,
    FormsById,
    KnownIds,
    KnownWords,
    NamedFeatures,
    Readings,
    Vocabulary,
)

if TYPE_CHECKING:
    from accord.models.inference.torch_model import Backward
    from accord.models.log_linear import Described
    from accord.pipeline.model.endings import UnknownClasses

ABOUT_B = "about.json"  # of the stage `background`: the kind of b and its settings
FEATURES = "features.npz"
VECTORS, VECTORS_FILE = "phi.vectors", "vectors.safetensors"  # the dense block of Φ
SHARDS = "model-*.safetensors"
# Which of numpy and torch answers for a model is known here only. torch takes long to load.
IN_TORCH = "accord.pipeline.model.network:load_inference"


@dataclass(frozen=True)
class Lookup(Section):
    """The lexicons that words were looked up in."""

    names: tuple[str, ...]
    lowercase: bool


class ModelFolder:
    """A trained model; its parts are read on first use."""

    def __init__(self, folder: Path, config: dict[str, Any] | None = None):
        """Open a folder; while it is trained, its `config` is not written yet."""
        self.folder = folder
        self.config = read_config(folder) if config is None else config

    @cached_property
    def recipe(self) -> Recipe:
        return checked(Recipe, self.config["params"]["train"], f"{self.folder / CONFIG}: train")

    @cached_property
    def background(self) -> BackgroundParams:
        return self._checked(BackgroundParams, "background")

    @cached_property
    def lookup(self) -> Lookup:
        return self._checked(Lookup, "lookup")

    @property
    def has_file_background(self) -> bool:
        """Return whether b comes from a file, which may have words that the vocabulary lacks."""
        return bool(BACKGROUNDS.about(self.background.kind, "own_words"))

    def _checked(self, kind: type[Kind], key: str) -> Kind:
        return checked(kind, self.config.get(key), f"{self.folder / CONFIG}: {key}")

    # Words

    @cached_property
    def words(self) -> KnownWords:
        return KnownWords.load(self.folder / WORDS)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        def classes() -> "UnknownClasses":
            # Here, as it loads tables and lexicons, and known words are scored without them.
            from accord.pipeline.model.endings import classes_of

            return classes_of(self.folder, self.readings, self.lookup.names, self.lookup.lowercase)

        words = self.words
        return Vocabulary(FormsById(words), KnownIds(words), words.unknown, classes)

    @cached_property
    def readings(self) -> Readings:
        return Readings(self.folder / ANALYSES, self.words)

    def mass(self) -> np.ndarray:
        return self.words.mass(parted(self.background.kind)[0], self.background.share)

    @cached_property
    def prior(self) -> Callable[[np.ndarray], np.ndarray]:
        """Return the prior of n-grams: discounted counts of words, nothing for subwords."""
        if self.subwords:
            return np.ones_like
        group = self.words.groups(self.background.share)
        return partial(discounted, signature=group, share=self.words.shares)

    # Features

    @cached_property
    def phi(self) -> Features:
        return self._load_features("phi", self.words.column("signature"))

    @cached_property
    def psi(self) -> Features | None:
        """Return the input features, if they are not all of φ."""
        if not len(self.words.columns["read"]):
            return None
        psi = self._load_features("psi", self.words.column("read"))
        if psi.feature_count != self.phi.feature_count:
            raise AccordError(
                f"{self.folder / FEATURES}: psi: expected {self.phi.feature_count:,} features"
            )
        return psi

    def _load_features(self, side: str, signature: np.ndarray) -> Features:
        path = self.folder / FEATURES
        chosen = load_arrays(path, _FEATURE_ARRAYS, [f"{side}_{name}" for name in _ROWS])
        lengths, indices, values, value, vector, count = chosen.values()
        try:
            starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
            dense = (self._vectors, vector) if len(vector) else ()
            return Features(starts, indices, values[value], signature, int(count), *dense)
        except (ValueError, TypeError, IndexError) as error:
            raise AccordError(f"{path}: {side}: {error}") from None

    @cached_property
    def _vectors(self) -> np.ndarray:
        """Return the dense block of Φ and ψ."""
        path = self.folder / VECTORS_FILE
        tensors = load_weights(path) if path.exists() else self._tensors  # rounded with the weights
        if VECTORS not in tensors:
            raise AccordError("expected the vectors of its dense features, found none")
        return tensors[VECTORS]

    @cached_property
    def feature_names(self) -> list[str]:
        path = self.folder / FEATURES
        letters = load_arrays(path, _FEATURE_ARRAYS, ["names"])["names"]
        try:
            names = json.loads(letters.tobytes())
        except (ValueError, RecursionError) as error:
            raise AccordError(f"{path}: names: {error}") from None
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise AccordError(f"{path}: names: expected a list of texts")
        return names

    @cached_property
    def features(self) -> NamedFeatures:
        return NamedFeatures(self.phi, self.feature_names)

    # Network

    @cached_property
    def _tensors(self) -> Weights:
        return load_model(self.folder)

    def weights(self) -> Weights:
        """Return the weights by name, in memory that the model may keep."""
        weights = {name: value for name, value in self._tensors.items() if name != VECTORS}
        del self._tensors  # read again if they are needed again
        return weights

    @cached_property
    def model(self) -> "InferenceModel | SubwordModel | Backward":
        """Return the model that answers: log-linear LSTMs by numpy, all others by torch."""
        if not self.reads_words or not computes(self.recipe, parted(self.background.kind)[0]):
            return imported(IN_TORCH)(self)
        mass = self.mass()
        features, where = without_the_impossible(self.phi, self, mass), f"{self.folder}: "
        return NumpyModel(self.recipe, self.weights(), features, mass, self.psi, where)

    @cached_property
    def spelling(self) -> Spelling | None:
        """Return the character model of unknown words; a closed vocabulary has none."""
        return load_spelling(self.folder)

    # What a few recipes have

    @property
    def reads_words(self) -> bool:
        """Return whether it predicts words, from left to right."""
        return not self.subwords and self.recipe.text != "backward"

    @cached_property
    def subwords(self) -> int | None:
        """Return the number of subwords, END included; None for a model of words."""
        return count_subwords(self.folder)

    @cached_property
    def speller(self) -> Speller | None:
        """Return the splitter of words of a model of subwords."""
        return None if self.subwords is None else Speller.load(self.folder)

    @cached_property
    def labels(self) -> dict[str, list[str]]:
        """Return the labels of each kind in training."""
        return read_values(self.folder)

    @property
    def classes(self) -> np.ndarray | None:
        """Return the cluster of each word; subwords have none."""
        return None if self.subwords else _array(self.folder / "classes.npy")

    @property
    def letters(self) -> np.ndarray | None:
        """Return the letters of each word, where words are read by them."""
        return _array(self.folder / "letters.npy")

    def described(self) -> "Described":
        """Return the forms of words and the names of features, for outputs that read them."""
        from accord.models.log_linear import Described  # loads torch

        path = self.folder / DESCRIBED
        if not path.exists():
            raise AccordError(f"{path}: the output reads forms; expected featurise.letters: true")
        return Described(**load_json(path, dict))

    @property
    def texts(self) -> list[Sentences]:
        """Return the texts that n-grams are counted on."""
        texts = (load_arrays(path, _OF_TEXT) for path in sorted(self.folder.glob("text-*.npz")))
        return [Sentences(*(a if a.size else None for a in text.values())) for text in texts]


def _array(path: Path) -> np.ndarray | None:
    return load_array(path) if path.exists() else None


_ROWS = ("lengths", "indices", "values", "value", "vector", "feature_count")
_OF_TEXT = ("ids", "lengths", "labels", "documents")  # the first columns of Sentences
_FEATURE_ARRAYS = ("names", *(f"{side}_{name}" for side in ("phi", "psi") for name in _ROWS))


def without_the_impossible(
    features: Features, model: ModelFolder, mass: np.ndarray | None = None
) -> Features:
    """Return Φ with all signatures without mass as one, so that the others alone cost time.

    After pretraining most are such: those of words that the corpus lacks. N-grams of that text, or
    of a file, may have mass for any.
    """
    if model.has_file_background or model.background.pretraining or model.subwords:
        return features
    mass = model.mass() if mass is None else mass
    return features.merging(np.bincount(features.signature, mass, features.signature_count) == 0)


# Writing

COPIED = {  # files that the model folder has as the stages wrote them; many recipes have none
    "analyse": ("analyses.npz", "endings.npz"),
    "featurise": ("letters.npy", DESCRIBED),
    "background": (
        *("spelling.npz", "spelling.safetensors", "ngrams.npz", "factors.npz", "topics.json"),
    ),
    "encode": ("subwords.json", "subwords.count.npy", "classes.npy", "labels.json"),
}


def prepare(recipe: Recipe, inputs: artefact.Inputs) -> dict[str, Any]:
    """Return the configuration of a model that is trained on prepared data, without hashes."""
    params = asdict(recipe)
    names = [Path(teacher).name for teacher in recipe.teachers.models]  # no paths of this machine
    params["teachers"]["models"], params["start"] = names, None
    about, keys = load_json(inputs["background"] / ABOUT_B, dict), hints_of(BackgroundParams)
    return {
        "format": artefact.FORMAT,
        "model_type": "accord",
        "params": {"train": params},
        "background": {key: value for key, value in about.items() if key in keys},
        "lookup": load_json(inputs["analyse"] / CHAIN, dict),
    }


def write_prepared(
    config: dict[str, Any], inputs: artefact.Inputs, texts: Sequence[Sentences], folder: Path
) -> None:
    """Write all files of a model folder but its weights and `config.json`."""
    for stage, names in COPIED.items():
        for path in (inputs[stage] / name for name in names):
            if path.exists():
                shutil.copy(path, folder / path.name)
    phi = Features.load(inputs["featurise"] / "phi.npz")
    path = inputs["featurise"] / "psi.npz"
    psi = Features.load(path) if path.exists() else None
    background, about, none = inputs["background"], config["background"], np.zeros(0, np.int64)
    spelled = _array(background / "spelled.npy")
    KnownWords.load(inputs["analyse"] / WORDS).with_columns(
        *(load_array(background / name) for name in ("share.npy", "b.npy")),
        *(parted(about["kind"])[0], about["share"]),
        signature=phi.signature,
        read=none if psi is None else psi.signature,
        spelled=none if spelled is None else spelled,
    ).save(folder / WORDS)
    names = load_json(inputs["featurise"] / "names.json", list)
    save_features(phi, psi, names, folder / FEATURES)
    dense = [side for side in (phi, psi) if side is not None and side.dimensions]
    if dense:  # both sides have the same vectors
        save_weights({VECTORS: dense[0].vectors}, folder / VECTORS_FILE)
    if BACKGROUNDS.about(about["kind"], "reads_text"):
        for number, text in enumerate(texts):
            columns = ((name, getattr(text, name)) for name in _OF_TEXT)
            arrays = {n: np.zeros(0, np.uint8) if c is None else c for n, c in columns}
            save_arrays(folder / f"text-{number}.npz", arrays, packed=True)


def save_features(phi: Features, psi: Features | None, names: Sequence[str], path: Path) -> None:
    """Write Φ and Ψ without the signatures of words and without vectors, and all names."""
    arrays = {"names": np.frombuffer(json.dumps(names, ensure_ascii=False).encode(), np.uint8)}
    none = np.zeros(0, np.uint8)
    for side, features in (("phi", phi), ("psi", psi)):
        rows = [none] * len(_ROWS)
        if features is not None:
            values, code = np.unique(features.values, return_inverse=True)
            vector = narrow(features.vector) if features.dimensions else none
            rows = [narrow(np.diff(features.indptr)), narrow(features.indices)]
            rows += [values, narrow(code), vector, np.array(features.feature_count)]
        arrays |= {f"{side}_{name}": array for name, array in zip(_ROWS, rows, strict=True)}
    save_arrays(path, arrays, packed=True)


def write_config(config: dict[str, Any], folder: Path) -> None:
    """Write `config.json` with the hashes of all files of the model."""
    hashes = {path.name: artefact.hash_of_file(path) for path in sorted(model_files(folder))}
    artefact.write_json(folder / CONFIG, {**config, "files": hashes})


def model_files(folder: Path) -> list[Path]:
    """Return the files of a model that lie in a folder, perhaps with those of its training."""
    copied = chain.from_iterable(COPIED.values())
    patterns = (WEIGHTS, SHARDS, VECTORS_FILE, WORDS, FEATURES, "text-*.npz", *copied)
    return [path for pattern in patterns for path in folder.glob(pattern)]


# Opening

READ = {".json", ".npy", ".npz", ".safetensors"}  # files that are loaded
MOST_PACKED = 100  # bytes that one byte of a packed file may stand for
ALWAYS = 1 << 20  # bytes that arrays may have however well they are packed


def open_folder(folder: Path) -> ModelFolder:
    """Open a model folder after a check of its files."""
    model = ModelFolder(folder)
    _check_files(folder, model.config["files"])
    _check_bounds(model)
    return model


def start_settings(start: str) -> StartSettings:
    """Return the settings of the model that `train.start` names."""
    from accord.pipeline.data.word_vectors import is_dense  # needs what a training machine lacks

    model = ModelFolder(find_start(start).folder)
    params = model.config["params"]
    params["analyse"]["lexicon"] = model.lookup.names
    # A checkpoint that was fine-tuned itself may have vectors that its settings do not name.
    return StartSettings(params, any(map(is_dense, model.feature_names)))


def read_config(folder: Path) -> dict[str, Any]:
    """Read `config.json` of a model folder of this version."""
    config = artefact.read_json(folder / CONFIG)
    params = config.get("params")
    if config.get("model_type") != "accord" or not isinstance(config.get("files"), dict):
        raise AccordError(f"{folder / CONFIG}: expected what `accord export` writes")
    if not isinstance(params, dict) or not isinstance(params.get("train"), dict):
        raise AccordError(f"{folder / CONFIG}: params.train: expected a recipe")
    return config


def _check_files(folder: Path, hashes: dict[str, Any]) -> None:
    """Check that each file to be loaded has the hash of `config.json`, and its arrays fit in it."""
    for name, digest in hashes.items():
        if Path(name).name != name or not isinstance(digest, str):
            raise AccordError(
                f"{folder / CONFIG}: expected names of files beside it and their hashes, "
                f"got {name!r}: {digest!r:.100}"
            )
    present = {path.name for path in folder.iterdir() if path.suffix in READ}
    for name in sorted(present - {CONFIG, artefact.META} - hashes.keys()):
        raise artefact.Damaged(
            f"{folder / name} is not named in {CONFIG}: nothing says what it should be"
        )
    for fault in artefact.Artefact(folder, {"files": hashes}).faults():
        raise artefact.Damaged(fault)
    for path in sorted(folder.glob("*.npz")):
        try:
            with zipfile.ZipFile(path) as archive:
                claimed = sum(member.file_size for member in archive.infolist())
        except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
            raise AccordError(f"{path} cannot be loaded: {error}") from None
        if claimed > (most := ALWAYS + MOST_PACKED * path.stat().st_size):
            raise AccordError(f"{path}: expected at most {most:,} bytes, it claims {claimed:,}")


def _check_bounds(model: ModelFolder) -> None:
    """Reject a recipe or a Φ that is larger than the weights allow.

    Both would cost time or memory before the shapes of the weights can be compared.
    """
    recipe, shapes = model.recipe, shapes_of(model._tensors)
    if recipe.output != "background" and recipe.layers > len(shapes):
        raise AccordError(
            f"{model.folder / CONFIG}: layers: expected at most {len(shapes)}, the tensors of the "
            f"model; got {recipe.layers:,}"
        )
    phi = model.phi
    most = max(len(phi.indices), *(size for shape in shapes.values() for size in shape), 1)
    if phi.feature_count > most:
        raise AccordError(
            f"{model.folder / FEATURES}: feature_count: expected at most {most:,}, as many as it "
            f"names or there are weights for; got {phi.feature_count:,}"
        )
    if phi.vocabulary_size != len(model.words):
        raise AccordError(
            f"{model.folder / FEATURES}: expected {len(model.words):,} words, as many as the "
            f"vocabulary has; got {phi.vocabulary_size:,}"
        )
