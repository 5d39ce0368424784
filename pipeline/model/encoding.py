"""How a trained model is stored: in the folders of the stages, or in one compact folder.

Both hold the same model. Words, readings, Φ, b and the weights have other files in the compact
form, so each encoding has its own readers for them; all other files are the same in both.

Needs numpy and safetensors only: tables and lexicons are loaded when they are asked for.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from accord.errors import AccordError
from accord.models.common.arrays import (
    Shapes,
    Weights,
    load_array,
    load_compact,
    load_weights,
    shapes_in,
    shapes_of,
)
from accord.models.common.files import WEIGHTS, load_json
from accord.models.common.schema import checked
from accord.models.ngrams import SHARED_BY, SIGNATURES
from accord.models.phi import Features
from accord.models.recipe import Recipe
from accord.models.spelling.spelling import Spelling, load_spelling
from accord.models.spelling.subwords import count_subwords
from accord.pipeline.base.artefact import Inputs
from accord.pipeline.base.names import CHAIN, RECIPE, WORDS
from accord.pipeline.data.vocabulary import Vocabulary
from accord.pipeline.model.compact_form import (
    LETTERS,
    PHI,
    PSI,
    CompactWords,
    Numbered,
    Numbers,
    load_features,
    load_letters,
)

if TYPE_CHECKING:
    import pandas as pd

    from accord.pipeline.data.unknown_words import UnknownClasses
    from accord.pipeline.model.readings import CompactReadings, Readings, TabledReadings

BACKGROUND = "about.json"  # says what kind of background b is
BEFORE = {"share": SIGNATURES}  # how mass was shared when it was not said
PRIOR = "b.npy"
KINDS = ("unigram", "uniform")  # backgrounds that a small form makes of counts again
VECTORS = "phi.vectors"  # the tensor of a small form that holds the dense block of Φ
NAMED = ["upos", "feats", "source"]  # columns of analyses with few different values

FULL_PHI = "phi.npz"


class Encoding(Protocol):
    """The interface of both encodings."""

    artefacts: Inputs  # the folder of each stage; a model in one folder has that one for all

    @property
    def where(self) -> str:
        """The place of the weights, as errors name it."""

    @property
    def phi_file(self) -> Path: ...

    @property
    def recipe(self) -> Recipe: ...

    @property
    def about(self) -> dict[str, Any]:
        """The kind of the background and its settings."""

    @property
    def subwords(self) -> int | None:
        """How many subwords a model of subwords has, END included; None for a model of words."""

    @property
    def phi(self) -> Features: ...

    @property
    def psi(self) -> Features | None:
        """The input features, if they are not all of φ."""

    @property
    def readings(self) -> "Readings":
        """The readings of forms and the forms of lemmas, looked up one by one."""

    def vocabulary(self) -> Vocabulary: ...

    def analyses(self, columns: Sequence[str]) -> "pd.DataFrame":
        """A row for each analysis of each known word, with those columns."""

    def counts(self) -> np.ndarray:
        """How often each word comes in the training text, by id; zeros if the folder lacks it."""

    def mass(self, name: str = PRIOR) -> np.ndarray:
        """b of every word."""

    def shapes(self) -> Shapes:
        """The shapes of the weights."""

    def weights(self) -> Weights:
        """The weights by name, in memory that the model may keep."""

    def spelling(self) -> Spelling | None:
        """The character model; a closed vocabulary has none."""


class FullEncoding:
    """The folders that the stages made, or an exported folder that stands for all of them."""

    def __init__(self, artefacts: Inputs, weights: str = WEIGHTS):
        self.artefacts, self.file = artefacts, weights

    @property
    def path(self) -> Path:
        return self.artefacts["train"] / self.file

    @property
    def where(self) -> str:
        return str(self.path)

    @cached_property
    def recipe(self) -> Recipe:
        return read_recipe(self.artefacts["train"] / RECIPE)

    @cached_property
    def about(self) -> dict[str, Any]:
        return {**BEFORE, **load_json(self.artefacts["background"] / BACKGROUND, dict)}

    @cached_property
    def subwords(self) -> int | None:
        return count_subwords(self.artefacts["encode"])

    @property
    def phi_file(self) -> Path:
        return self.artefacts["featurise"] / FULL_PHI

    @cached_property
    def phi(self) -> Features:
        return Features.load(self.phi_file)

    @cached_property
    def psi(self) -> Features | None:
        path = self.artefacts["featurise"] / "psi.npz"
        return Features.load(path) if path.exists() else None

    @cached_property
    def readings(self) -> "TabledReadings":
        from accord.pipeline.model.readings import TabledReadings  # as words need none

        words = self.vocabulary()
        return TabledReadings(words.forms, words.known, self.analyses(TabledReadings.COLUMNS))

    def vocabulary(self) -> Vocabulary:
        return Vocabulary.load(self.artefacts["analyse"])

    def analyses(self, columns: Sequence[str]) -> "pd.DataFrame":
        import pandas as pd  # here, as a model is trained and scores without tables

        named = [name for name in columns if name in NAMED]
        path = self.artefacts["analyse"] / "analyses.parquet"
        return pd.read_parquet(path, columns=list(columns), read_dictionary=named)

    def counts(self) -> np.ndarray:
        import pandas as pd  # here, as a model is trained and scores without tables

        types = pd.read_parquet(self.artefacts["analyse"] / "types.parquet")
        return types.get("count", 0 * types["share"]).to_numpy()  # unfolded folders lack it

    def mass(self, name: str = PRIOR) -> np.ndarray:
        return load_array(self.artefacts["background"] / name)

    def shapes(self) -> Shapes:
        return shapes_in(self.path)

    def weights(self) -> Weights:
        return load_weights(self.path)

    def spelling(self) -> Spelling | None:
        return load_spelling(self.artefacts["background"])


class CompactEncoding:
    """One folder that `accord export --compact` wrote."""

    subwords = None  # it holds models of words alone

    def __init__(self, folder: Path):
        self.folder, self.where = folder, str(folder)
        self.phi_file = folder / PHI
        self.artefacts: Inputs = defaultdict(lambda: folder)

    @cached_property
    def recipe(self) -> Recipe:
        """As it was trained; it answers on the best device that is there."""
        return replace(read_recipe(self.folder / RECIPE), device="auto")

    @cached_property
    def about(self) -> dict[str, Any]:
        about = {**BEFORE, **load_json(self.folder / BACKGROUND, dict)}
        for key, choices in (("kind", KINDS), ("share", SHARED_BY)):
            if about.get(key) not in choices:
                raise AccordError(
                    f"{self.folder / BACKGROUND}: {key}: expected {' or '.join(choices)}; got "
                    f"{about.get(key)!r}"
                )
        return about

    @cached_property
    def words(self) -> CompactWords:
        return CompactWords.load(self.folder / WORDS)

    @cached_property
    def tensors(self) -> Weights:
        """The weights, and the vectors of Φ if it has some."""
        return load_compact(self.folder)

    @cached_property
    def phi(self) -> Features:
        vectors = self.tensors.get(VECTORS)
        return load_features(self.phi_file, self.words.column("signature"), vectors)

    @cached_property
    def psi(self) -> Features | None:
        if not (self.folder / PSI).exists():
            return None
        psi = load_features(self.folder / PSI, self.words.column("read"), self.phi.vectors)
        if psi.feature_count != self.phi.feature_count:
            raise AccordError(f"{self.folder / PSI}: expected {self.phi.feature_count:,} features")
        return psi

    @cached_property
    def readings(self) -> "CompactReadings":
        from accord.pipeline.model.readings import CompactReadings  # as words need none

        return CompactReadings(self.folder, self.words)

    def vocabulary(self) -> Vocabulary:
        words = self.words
        return Vocabulary(
            Numbered(words.forms, words.place),
            Numbers(words.forms, words.number, special=1 + len(words.unknown)),
            words.unknown,
            self._classes,
        )

    def _classes(self) -> "UnknownClasses":
        # Here, as it loads tables and lexicons, and known words are scored without them.
        from accord.pipeline.model.compact_lexicon import unknown_classes

        return unknown_classes(self.readings, read_lookup(self.folder))

    def analyses(self, columns: Sequence[str]) -> "pd.DataFrame":
        return self.readings.table(columns)

    def counts(self) -> np.ndarray:
        return self.words.column("count")

    def mass(self, name: str = PRIOR) -> np.ndarray:
        return self.words.mass(self.about["kind"], self.about["share"])

    def shapes(self) -> Shapes:
        return shapes_of(self.weights())

    def weights(self) -> Weights:
        return {name: value for name, value in self.tensors.items() if name != VECTORS}

    def spelling(self) -> Spelling | None:
        if (self.folder / LETTERS).exists():
            return load_letters(self.folder / LETTERS)
        return load_spelling(self.folder)


def read_lookup(folder: Path) -> dict[str, Any]:
    """How words are looked up: the names of the lexicons, and whether in lower case."""
    about = load_json(folder / CHAIN, dict)
    if not isinstance(about.get("names"), list) or not isinstance(about.get("lowercase"), bool):
        raise AccordError(f"{folder / CHAIN}: expected names, and whether in lower case")
    return about


def read_recipe(path: Path) -> Recipe:
    """Read the recipe of a trained model."""
    return checked(Recipe, load_json(path, dict), str(path))
