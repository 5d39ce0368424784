"""What a model in its small form is asked with, each part read when it is first asked for."""

from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from accord.models.background.unigram import Unigram
from accord.models.common.device import choose_device
from accord.models.common.files.compact_weights import load_compact, take_weights
from accord.models.common.files.json_file import load_json
from accord.models.common.files.weights import check_shapes, load_weights, shapes_of
from accord.models.features.phi import Features
from accord.models.network.language_model import LanguageModel
from accord.pipeline.artefacts.artefact import Inputs
from accord.pipeline.artefacts.model_files import CHAIN, RECIPE
from accord.pipeline.prepared.named_features import NamedFeatures
from accord.pipeline.sharing.compact.features import PHI, PSI, load_features
from accord.pipeline.sharing.compact.readings import Readings
from accord.pipeline.sharing.compact.vocabulary import CompactVocabulary
from accord.pipeline.sharing.compact.words import Words
from accord.pipeline.sharing.file_names import WORDS
from accord.pipeline.sharing.recipe_file import read_recipe

if TYPE_CHECKING:
    import pandas as pd

    from accord.lexicon import Lexicon
    from accord.models.spelling.strings import Spelling

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
    def words(self) -> Words:
        return Words.load(self.folder / WORDS)

    @cached_property
    def readings(self) -> Readings:
        return Readings(self.folder, self.words)

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
        from accord.pipeline.sharing.compact.unknown_words import chain  # here, as it loads pandas

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
        from accord.models.spelling.open_vocabulary import NEURAL
        from accord.pipeline.sharing.compact.letters import LETTERS, load_letters

        if (self.folder / LETTERS).exists():
            return load_letters(self.folder / LETTERS)
        if (self.folder / NEURAL).exists():
            from accord.models.spelling.neural import NeuralSpelling

            return NeuralSpelling.load(self.folder / NEURAL)
        return None

    def analyses(self, columns: Sequence[str]) -> "pd.DataFrame":
        """A row for each analysis of each known word: those columns."""
        return self.readings.table(columns)
