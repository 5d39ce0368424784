"""What a trained model is asked with, read from the folders that its stages made."""

from collections.abc import Sequence
from functools import cached_property

import pandas as pd

from accord.models.network.background_only import BackgroundOnly
from accord.models.network.language_model import LanguageModel
from accord.models.spelling.open_vocabulary import load_spelling
from accord.models.spelling.strings import Spelling
from accord.models.spelling.subwords import SubwordModel
from accord.models.training.files import WEIGHTS
from accord.pipeline.artefacts.artefact import Inputs
from accord.pipeline.prepared.named_features import NamedFeatures
from accord.pipeline.prepared.saved_chain import read_chain
from accord.pipeline.prepared.subwords import Speller
from accord.pipeline.prepared.trained import load_trained
from accord.pipeline.prepared.vocabulary import Vocabulary

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
