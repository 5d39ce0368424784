"""The parts of a trained model for queries, in either encoding; open a model by name.

A folder may come from somebody else, so it is checked before anything is built from it: every file
has the hash that `config.json` names, and no array or table is far larger than its file.
"""

import zipfile
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from accord.errors import AccordError
from accord.models.common.files import load_json
from accord.models.common.registry import imported
from accord.models.inference.interface import InferenceModel
from accord.models.inference.numpy_model import NumpyModel, computes
from accord.models.parts import BACKGROUNDS
from accord.models.phi import Features
from accord.models.spelling.spelling import Spelling
from accord.models.spelling.subwords import SubwordModel
from accord.pipeline.base.artefact import Artefact, Damaged, read_json
from accord.pipeline.base.names import CONFIG, RECIPE, is_compact
from accord.pipeline.data.vocabulary import NamedFeatures, Vocabulary
from accord.pipeline.model.encoding import (
    CompactEncoding,
    Encoding,
    FullEncoding,
    read_lookup,
)
from accord.pipeline.model.find import TrainedModel

if TYPE_CHECKING:
    import pandas as pd

    from accord.models.composed import Backward
    from accord.pipeline.data.subwords import Speller

# Which of numpy and torch answers for a model is known here only. This is imported when a model
# needs it, as it loads torch.
IN_TORCH = "accord.pipeline.model.network:load_inference"


def load_inference(
    encoding: Encoding, is_exported: bool
) -> "InferenceModel | SubwordModel | Backward":
    """A trained model, ready to answer: exported LSTMs by numpy, all others by torch."""
    recipe = encoding.recipe
    if not is_exported or encoding.subwords or not computes(recipe, encoding.about["kind"]):
        return imported(IN_TORCH)(encoding)
    mass = encoding.mass()
    features = without_the_impossible(encoding.phi, encoding, mass)
    return NumpyModel(
        recipe, encoding.weights(), features, mass, encoding.psi, f"{encoding.where}: "
    )


def without_the_impossible(
    features: Features, encoding: Encoding, mass: np.ndarray | None = None
) -> Features:
    """Φ with all signatures that b has no mass for as one, so that the others alone cost time.

    After a text that was read first most are such: those of words that the corpus lacks. N-grams
    of that text, or of a file, may have mass for any.
    """
    if has_own_words(encoding) or encoding.about.get("pretraining") or encoding.subwords:
        return features
    mass = encoding.mass() if mass is None else mass
    return features.merging(np.bincount(features.signature, mass, features.signature_count) == 0)


def has_own_words(encoding: Encoding) -> bool:
    """Whether b comes from a file, which may have words that the vocabulary lacks."""
    return bool(BACKGROUNDS.about(encoding.about["kind"], "own_words"))


ASKED = ("analyse", "featurise", "background", "encode", "train")  # stages that answers come from
READ = {".json", ".npy", ".npz", ".safetensors", ".parquet", ".arrow"}  # files that are loaded
MOST_PACKED = 100  # bytes that one byte of a small form may stand for
ALWAYS = 1 << 20  # bytes that arrays may have however well they are packed


class Parts:
    """The parts of a model; each is read on first use."""

    def __init__(self, encoding: Encoding, is_exported: bool = True):
        self.encoding, self.artefacts = encoding, encoding.artefacts
        self.is_exported = is_exported

    @cached_property
    def vocabulary(self) -> Vocabulary:
        return self.encoding.vocabulary()

    @cached_property
    def lowercase(self) -> bool:
        return read_lookup(self.artefacts["analyse"])["lowercase"]

    @cached_property
    def model(self) -> "InferenceModel | SubwordModel | Backward":
        """The model as it answers, by numpy or by torch."""
        return load_inference(self.encoding, self.is_exported)

    @cached_property
    def spelling(self) -> Spelling | None:
        """How unknown words are spelled; a closed vocabulary has none."""
        return self.encoding.spelling()

    @cached_property
    def speller(self) -> "Speller | None":
        """Splits words, for a model of subwords."""
        if self.encoding.subwords is None:
            return None
        from accord.pipeline.data.subwords import Speller  # needs the library tokenizers

        return Speller.load(self.artefacts["encode"])

    @cached_property
    def features(self) -> NamedFeatures:
        names = load_json(self.artefacts["featurise"] / "names.json", list)
        return NamedFeatures(self.encoding.phi, names)

    def analyses(self, columns: Sequence[str]) -> "pd.DataFrame":
        """A row for each analysis of each known word, with those columns."""
        return self.encoding.analyses(columns)


def open_parts(model: TrainedModel) -> Parts:
    """The parts of a trained model, in either encoding, after a check of its files."""
    model = model.here()
    if not model.is_in_one_folder:
        model.check(*ASKED)
        return Parts(FullEncoding(model.folders, model.weights.name), is_exported=False)
    check_files(model.place)
    if is_compact(model.place):
        check_packed(model.place)
        encoding: Encoding = CompactEncoding(model.place)
        words = len(encoding.words.forms)
    else:
        from accord.pipeline.model.table_checks import check_tables  # a small form has no tables

        words = check_tables(model.place)
        encoding = FullEncoding(model.folders, model.weights.name)
    _check_bounds(encoding, words)
    return Parts(encoding)


def _check_bounds(encoding: Encoding, words: int) -> None:
    """Reject a recipe or a Φ that is larger than the weights allow.

    Both would cost time or room before the shapes of the weights can be compared.
    """
    recipe, shapes, folder = encoding.recipe, encoding.shapes(), encoding.artefacts["train"]
    if recipe.output != "background" and recipe.layers > len(shapes):
        raise AccordError(
            f"{folder / RECIPE}: layers: expected at most {len(shapes)}, the tensors of the model; "
            f"got {recipe.layers:,}"
        )
    if not encoding.phi_file.exists():  # a model of subwords has none
        return
    phi = encoding.phi
    most = max(len(phi.indices), *(size for shape in shapes.values() for size in shape), 1)
    if phi.feature_count > most:
        raise AccordError(
            f"{encoding.phi_file}: feature_count: expected at most {most:,}, as many as it names "
            f"or there are weights for; got {phi.feature_count:,}"
        )
    if phi.vocabulary_size != words:
        raise AccordError(
            f"{encoding.phi_file}: expected {words:,} words, as many as the vocabulary has; got "
            f"{phi.vocabulary_size:,}"
        )


def check_files(folder: Path) -> None:
    """Every file that could be read is named with its hash, lies there and has that hash."""
    about = read_json(folder / CONFIG)
    hashes = about.get("files")
    if about.get("model_type") != "accord" or not isinstance(hashes, dict):
        raise AccordError(f"{folder / CONFIG}: expected what `accord export` writes")
    for name, digest in hashes.items():
        if Path(name).name != name or not isinstance(digest, str):
            raise AccordError(
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


def check_packed(folder: Path) -> None:
    """Arrays are packed, and yet not far larger than their files."""
    for path in sorted(folder.glob("*.npz")):
        try:
            with zipfile.ZipFile(path) as archive:
                claimed = sum(member.file_size for member in archive.infolist())
        except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
            raise AccordError(f"{path} cannot be loaded: {error}") from None
        most = ALWAYS + MOST_PACKED * path.stat().st_size
        if claimed > most:
            raise AccordError(f"{path}: expected at most {most:,} bytes, it claims {claimed:,}")
