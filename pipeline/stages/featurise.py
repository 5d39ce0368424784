"""Stage `featurise`: analyses become Φ, a row of features for every known word.

Most features are sparse. With word vectors, a few dense ones follow them.
"""

import json
from collections.abc import Sequence, Set
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from accord.models.common.weights import save_tensors
from accord.models.fine_tuning import of_words, rows_by_name, with_own_features
from accord.models.phi import Features
from accord.pipeline.base.artefact import Inputs
from accord.pipeline.base.messages import say
from accord.pipeline.base.names import DESCRIBED, END, NOT_TOP, START, START_WEIGHTS
from accord.pipeline.config.sections import FeaturiseParams
from accord.pipeline.data import word_vectors
from accord.pipeline.data.templates import VECTORS, check, chosen, fill, known_names, sides
from accord.pipeline.data.word_vectors import (
    WordVectors,
    clusters_of,
    dense_names,
    is_dense,
    spelled,
)
from accord.pipeline.model.folder import ModelFolder, open_folder

OWN_FEATURE = 3  # occurrences in a text after which a word gets a feature of its own


def compute(params: FeaturiseParams, inputs: Inputs, out: Path) -> None:
    types = pd.read_parquet(inputs["analyse"] / "types.parquet")
    analyses = pd.read_parquet(inputs["analyse"] / "analyses.parquet")
    if START in inputs:
        built, weights = _extend(params, open_folder(inputs[START]), types, analyses)
        save_tensors(weights, out / START_WEIGHTS)
    else:
        built = build(params, types, analyses, inputs["tokenise"] / "train.arrow")
    built.phi.save(out / "phi.npz")
    if built.psi:
        built.psi.save(out / "psi.npz")
    if params.letters:
        np.save(out / "letters.npy", spelled(types["form"]))
        described = {"forms": types["form"].tolist(), "names": built.names}
        (out / DESCRIBED).write_text(json.dumps(described, ensure_ascii=False), encoding="utf-8")
    written = json.dumps(built.names, ensure_ascii=False, indent=0)
    (out / "names.json").write_text(written, encoding="utf-8")
    say(
        f"featurise: {built.phi.vocabulary_size:,} words, {len(built.names):,} features, "
        f"{built.phi.signature_count:,} signatures"
    )


class Built(NamedTuple):
    """Φ, Ψ if the input features differ, and the names of their features."""

    phi: Features
    psi: Features | None
    names: list[str]


def build(
    params: FeaturiseParams,
    types: pd.DataFrame,
    analyses: pd.DataFrame,
    training: Path | None = None,
) -> Built:
    """Return Φ and Ψ of the words of a table; clusters are of the training text."""
    names = known_names(analyses)
    check(params, names)
    templates = chosen(params, names)
    computed, dense = {}, None
    if params.vectors:
        computed, dense = word_vectors.rows(params, templates, types, analyses)
    computed |= {
        template: _cluster_rows(template, types, training)
        for template in templates
        if template.startswith("cluster-")
    }
    table = fill(params, types, analyses, computed)
    for template in sorted({*templates} - {*table["template"]}):
        say(f"featurise: no word has a feature of the template '{template}'")
    sparse = table["feature"].cat.categories.tolist()
    names_of_dense = dense_names(dense) if dense else []

    def select(side: Set[str]) -> Features:
        """Return the features of some templates; those of others keep their numbers."""
        rows = table[table["template"].isin({END, *side})]
        if VECTORS in side or not dense:
            return _features(rows, len(sparse), len(types), dense)
        return _features(rows, len(sparse) + len(names_of_dense), len(types))

    read, predicted = sides(params, names)
    psi = select(read) if read != predicted else None
    return Built(select(predicted), psi, [*sparse, *names_of_dense])


def _extend(
    params: FeaturiseParams,
    start: ModelFolder,
    types: pd.DataFrame,
    analyses: pd.DataFrame,
) -> tuple[Built, dict[str, Tensor]]:
    """Return Φ and Ψ of the initial checkpoint for the known words, and its weights.

    New words have the rows of their classes. A word that the text has often enough, and that has no
    feature of its own, has one more. A checkpoint without vectors may be given some. Weights of new
    features are zero before training.
    """
    former, identity = start.feature_names, "form=" + types["form"]
    is_own = (types["count"] >= OWN_FEATURE) & ~identity.isin(former) & (NOT_TOP in former)
    words = np.flatnonzero(is_own)
    first = sum(not is_dense(name) for name in former)  # the dense ones come last
    names = [*former[:first], *identity[is_own], *former[first:]]
    dense = word_vectors.dense_rows(params.vectors, types, analyses) if params.vectors else None
    if dense:
        names += dense_names(dense)

    def grown(features: Features, side: Sequence[str] | None) -> Features:
        features = of_words(features, types["start"].to_numpy())
        if side is None or "form" in map(str.lower, side):
            features = with_own_features(features, words, first)
        if dense and side is None:  # a side that names templates cannot name these
            features = features.with_vectors(dense.vectors, dense.row)
        return replace(features, feature_count=len(names))  # some of which no word may have

    psi = None if start.psi is None else grown(start.psi, params.read)
    weights = {name: torch.from_numpy(array) for name, array in start.weights().items()}
    built = Built(grown(start.phi, params.predict), psi, names)
    return built, rows_by_name(weights, former, names)


def _cluster_rows(template: str, types: pd.DataFrame, training: Path) -> pd.DataFrame:
    number = clusters_of(types, training, int(template.removeprefix("cluster-")))
    names = [f"{template}={cluster}" for cluster in number]
    return pd.DataFrame({"word": types.index, "feature": names, "value": 1.0})


def _features(
    table: pd.DataFrame, sparse: int, words: int, dense: WordVectors | None = None
) -> Features:
    """Return Φ of the rows of a table, sorted by word, with a number of sparse features."""
    codes = table["feature"].cat.codes.to_numpy()
    indptr = np.zeros(words + 1, dtype=np.int64)
    np.cumsum(np.bincount(table["word"], minlength=words), out=indptr[1:])
    values = table["value"].to_numpy(np.float32)
    features = Features.from_rows(indptr, codes, values, sparse)
    return features.with_vectors(dense.vectors, dense.row) if dense else features
