"""What a trained model is asked with, in either encoding; opening an exported one."""

import zipfile
from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import torch

from accord.models.background.base import Unigram
from accord.models.common.device import choose_device
from accord.models.common.files import WEIGHTS, load_json
from accord.models.common.weights import (
    check_shapes,
    load_compact,
    load_weights,
    shapes_of,
    take_weights,
)
from accord.models.features.phi import Features
from accord.models.network.background_models import BackgroundOnly
from accord.models.network.language_model import LanguageModel
from accord.models.spelling.spelling import Spelling, load_spelling
from accord.models.spelling.subwords import SubwordModel
from accord.pipeline.artefacts.artefact import Artefact, Damaged, Inputs, read_json
from accord.pipeline.artefacts.names import CHAIN, CONFIG, RECIPE, WORDS, is_compact
from accord.pipeline.dataset.subwords import Speller
from accord.pipeline.dataset.unknown_words import read_chain
from accord.pipeline.dataset.vocabulary import NamedFeatures, Vocabulary
from accord.pipeline.trained.compact_arrays import PHI, PSI, load_features
from accord.pipeline.trained.compact_lexicon import CompactReadings
from accord.pipeline.trained.compact_words import CompactVocabulary, CompactWords
from accord.pipeline.trained.network import load_trained
from accord.pipeline.trained.received import read_recipe
from accord.pipeline.trained.resolve import TrainedModel

if TYPE_CHECKING:
    import pandas as pd

    from accord.lexicon import Lexicon
    from accord.models.spelling.spelling import Spelling


NAMED = ["upos", "feats", "source"]  # columns with few different values


class Parts:
    """Each is read when it is first asked for."""

    def __init__(self, artefacts: Inputs, weights: str = WEIGHTS):
        self.artefacts, self.weights = artefacts, weights

    @cached_property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary(self.artefacts["analyse"])

    @cached_property
    def lowercase(self) -> bool:
        return read_chain(self.artefacts["analyse"])["lowercase"]

    @cached_property
    def model(self) -> LanguageModel | BackgroundOnly | SubwordModel:
        return load_trained(self.artefacts, self.weights)

    @cached_property
    def spelling(self) -> Spelling | None:
        return load_spelling(self.artefacts["background"])

    @cached_property
    def speller(self) -> Speller | None:
        """Of a model of subwords."""
        return Speller.load(self.artefacts["encode"])

    @cached_property
    def features(self) -> NamedFeatures:
        return NamedFeatures.load(self.artefacts["featurise"])

    def analyses(self, columns: Sequence[str]) -> pd.DataFrame:
        """A row for each analysis of each known word: those columns."""
        named = [name for name in columns if name in NAMED]
        path = self.artefacts["analyse"] / "analyses.parquet"
        return pd.read_parquet(path, columns=list(columns), read_dictionary=named)


BACKGROUND = "about.json"
VECTORS = "phi.vectors"  # the tensor of the dense block of Φ
KINDS = ("unigram", "uniform")  # of backgrounds that are made of counts again


class CompactParts:
    """The same as `sharing.parts.Parts`, of one folder."""

    speller = None  # it is no model of subwords

    def __init__(self, folder: Path):
        self.folder = folder
        self.artefacts: Inputs = defaultdict(lambda: folder)  # it stands for those of all stages

    @cached_property
    def words(self) -> CompactWords:
        return CompactWords.load(self.folder / WORDS)

    @cached_property
    def readings(self) -> CompactReadings:
        return CompactReadings(self.folder, self.words)

    @cached_property
    def chain(self) -> dict[str, Any]:
        about = load_json(self.folder / CHAIN, dict)
        names = about.get("names")
        if not isinstance(names, list) or not isinstance(about.get("lowercase"), bool):
            raise ValueError(f"{self.folder / CHAIN}: expected names, and whether in lower case")
        return about

    @property
    def lowercase(self) -> bool:
        return self.chain["lowercase"]

    @cached_property
    def vocabulary(self) -> CompactVocabulary:
        return CompactVocabulary(self.words, self._told_apart)

    def _told_apart(self) -> "Lexicon":
        from accord.pipeline.trained.compact_lexicon import chain  # here, as it loads pandas

        return chain(self.folder, self.words, self.readings, self.chain)

    @cached_property
    def features(self) -> NamedFeatures:
        return NamedFeatures(self.phi, load_json(self.folder / "names.json", list))

    @cached_property
    def tensors(self) -> dict[str, torch.Tensor]:
        return load_compact(self.folder)

    @cached_property
    def phi(self) -> Features:
        """Φ, of no more features than it names or there are weights for."""
        vectors = self.tensors.get(VECTORS)
        vectors = None if vectors is None else vectors.numpy()
        phi = load_features(self.folder / PHI, self.words.column("signature"), vectors)
        sizes = (size for tensor in self.tensors.values() for size in tensor.shape)
        most = max(len(phi.indices), *sizes, 1)
        if phi.feature_count > most:
            raise ValueError(
                f"{self.folder / PHI}: feature_count: expected at most {most:,}, as many as it "
                f"names or there are weights for; got {phi.feature_count:,}"
            )
        return phi

    @cached_property
    def psi(self) -> Features | None:
        """What is read of words, where it is not all of φ."""
        if not (self.folder / PSI).exists():
            return None
        psi = load_features(self.folder / PSI, self.words.column("read"), self.phi.vectors)
        if psi.feature_count != self.phi.feature_count:
            raise ValueError(f"{self.folder / PSI}: expected {self.phi.feature_count:,} features")
        return psi

    @cached_property
    def model(self) -> LanguageModel:
        """The network, in single precision; no room is taken that the weights do not bear out."""
        recipe = read_recipe(self.folder / RECIPE)
        weights = {name: value for name, value in self.tensors.items() if name != VECTORS}
        if recipe.layers > len(weights):
            raise ValueError(
                f"{self.folder / RECIPE}: layers: expected at most {len(weights)}, the tensors of "
                f"the model; got {recipe.layers:,}"
            )
        kind = load_json(self.folder / BACKGROUND, dict).get("kind")
        if kind not in KINDS:
            raise ValueError(
                f"{self.folder / BACKGROUND}: kind: expected {' or '.join(KINDS)}; got {kind!r}"
            )
        background = Unigram(self.phi, self.words.mass(kind))
        try:
            with torch.device("meta"):
                model = LanguageModel(recipe, self.phi, background, psi=self.psi)
        except (RuntimeError, TypeError, OverflowError, MemoryError) as error:  # of such sizes
            raise ValueError(
                f"{self.folder / RECIPE}: no network can be so large: {error}"
            ) from None
        own, where = dict(model.named_parameters()), f"{self.folder}: "
        check_shapes(where, shapes_of(own), shapes_of(weights))
        if any(buffer.is_meta for buffer in model.buffers()):  # drawn at random, as a reservoir's
            model = LanguageModel(recipe, self.phi, background, psi=self.psi)
            load_weights(model, weights, where)
        else:
            take_weights(model, weights, where)
        return model.to(choose_device("auto")).eval()

    @cached_property
    def spelling(self) -> "Spelling | None":
        """How unknown words are spelled; nothing of a closed vocabulary."""
        from accord.models.spelling.spelling import NEURAL
        from accord.pipeline.trained.compact_arrays import LETTERS, load_letters

        if (self.folder / LETTERS).exists():
            return load_letters(self.folder / LETTERS)
        if (self.folder / NEURAL).exists():
            from accord.models.spelling.neural import NeuralSpelling

            return NeuralSpelling.load(self.folder / NEURAL)
        return None

    def analyses(self, columns: Sequence[str]) -> "pd.DataFrame":
        """A row for each analysis of each known word: those columns."""
        return self.readings.table(columns)


ASKED = ("analyse", "featurise", "background", "encode", "train")  # stages that answers come from
READ = {".json", ".npy", ".npz", ".safetensors", ".parquet", ".arrow"}  # files that are loaded
MOST_PACKED = 100  # bytes that one byte of a small form may stand for
ALWAYS = 1 << 20  # bytes that arrays may have however well they are packed


def open_parts(model: TrainedModel) -> "Parts | CompactParts":
    """What a trained model is asked with, whatever its form, once its files have been checked."""
    model = model.here()
    if model.is_in_one_folder:
        check_files(model.place)
        if is_compact(model.place):
            _check_packed(model.place)
            return CompactParts(model.place)
        from accord.pipeline.trained.received import check  # here, as it loads what tables need

        check(model.place, model.folders)
    else:
        model.check(*ASKED)

    return Parts(model.folders, model.weights.name)


def check_files(folder: Path) -> None:
    """Every file that could be read is named with its hash, lies there and has that hash."""
    about = read_json(folder / CONFIG)
    hashes = about.get("files")
    if about.get("model_type") != "accord" or not isinstance(hashes, dict):
        raise ValueError(f"{folder / CONFIG}: expected what `accord export` writes")
    for name, digest in hashes.items():
        if Path(name).name != name or not isinstance(digest, str):
            raise ValueError(
                f"{folder / CONFIG}: expected names of files beside it and their hashes, "
                f"got {name!r}: {digest!r:.100}"
            )
        if not (folder / name).is_file():
            raise Damaged(f"{folder / name} is missing")
    there = {path.name for path in folder.iterdir() if path.suffix in READ} - {CONFIG}
    for name in sorted(there - hashes.keys()):
        raise Damaged(f"{folder / name} is not named in {CONFIG}: nothing says what it should be")
    for fault in Artefact(folder, about).faults():
        raise Damaged(fault)


def _check_packed(folder: Path) -> None:
    """Arrays are packed, and yet not far larger than their files."""
    for path in sorted(folder.glob("*.npz")):
        try:
            with zipfile.ZipFile(path) as archive:
                claimed = sum(member.file_size for member in archive.infolist())
        except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
            raise ValueError(f"{path} cannot be loaded: {error}") from None
        most = ALWAYS + MOST_PACKED * path.stat().st_size
        if claimed > most:
            raise ValueError(f"{path}: expected at most {most:,} bytes, it claims {claimed:,}")
