"""What a trained model is asked with, whatever its encoding; opening a model that has a name."""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from accord.models.common.files import load_json
from accord.models.network.background_models import BackgroundOnly
from accord.models.network.language_model import LanguageModel
from accord.models.spelling.spelling import Spelling
from accord.models.spelling.subwords import SubwordModel
from accord.pipeline.artefacts.names import RECIPE, is_compact
from accord.pipeline.dataset.subwords import Speller
from accord.pipeline.dataset.vocabulary import NamedFeatures, Vocabulary
from accord.pipeline.trained.encoding import (
    CompactEncoding,
    Encoding,
    FullEncoding,
    read_lookup,
)
from accord.pipeline.trained.network import load_trained
from accord.pipeline.trained.received import check_files, check_packed, check_tables
from accord.pipeline.trained.resolve import TrainedModel

if TYPE_CHECKING:
    import pandas as pd

ASKED = ("analyse", "featurise", "background", "encode", "train")  # stages that answers come from


class Parts:
    """Each is read when it is first asked for."""

    def __init__(self, encoding: Encoding):
        self.encoding, self.artefacts = encoding, encoding.artefacts

    @cached_property
    def vocabulary(self) -> Vocabulary:
        return self.encoding.vocabulary()

    @cached_property
    def lowercase(self) -> bool:
        return read_lookup(self.artefacts["analyse"])["lowercase"]

    @cached_property
    def model(self) -> LanguageModel | BackgroundOnly | SubwordModel:
        return load_trained(self.encoding)

    @cached_property
    def spelling(self) -> Spelling | None:
        """How unknown words are spelled; a closed vocabulary has none."""
        return self.encoding.spelling()

    @cached_property
    def speller(self) -> Speller | None:
        """Of a model of subwords."""
        return Speller.load(self.artefacts["encode"])

    @cached_property
    def features(self) -> NamedFeatures:
        names = load_json(self.artefacts["featurise"] / "names.json", list)
        return NamedFeatures(self.encoding.phi, names)

    def analyses(self, columns: Sequence[str]) -> "pd.DataFrame":
        """A row for each analysis of each known word, with those columns."""
        return self.encoding.analyses(columns)


def open_parts(model: TrainedModel) -> Parts:
    """What a trained model is asked with, whatever its form, once its files have been checked."""
    model = model.here()
    if not model.is_in_one_folder:
        model.check(*ASKED)
        return Parts(FullEncoding(model.folders, model.weights.name))
    check_files(model.place)
    if is_compact(model.place):
        check_packed(model.place)
        encoding: Encoding = CompactEncoding(model.place)
        words = len(encoding.words.forms)
    else:
        words = check_tables(model.place)
        encoding = FullEncoding(model.folders, model.weights.name)
    _check_bounds(encoding, words)
    return Parts(encoding)


def _check_bounds(encoding: Encoding, words: int) -> None:
    """Refuse a recipe or a Φ that claims more than the weights bear out.

    Both would cost time or room before the shapes of the weights can be compared.
    """
    recipe, shapes, folder = encoding.recipe, encoding.shapes(), encoding.artefacts["train"]
    if recipe.output != "background" and recipe.layers > len(shapes):
        raise ValueError(
            f"{folder / RECIPE}: layers: expected at most {len(shapes)}, the tensors of the model; "
            f"got {recipe.layers:,}"
        )
    if not encoding.phi_file.exists():  # a model of subwords has none
        return
    phi = encoding.phi
    most = max(len(phi.indices), *(size for shape in shapes.values() for size in shape), 1)
    if phi.feature_count > most:
        raise ValueError(
            f"{encoding.phi_file}: feature_count: expected at most {most:,}, as many as it names "
            f"or there are weights for; got {phi.feature_count:,}"
        )
    if phi.vocabulary_size != words:
        raise ValueError(
            f"{encoding.phi_file}: expected {words:,} words, as many as the vocabulary has; got "
            f"{phi.vocabulary_size:,}"
        )
