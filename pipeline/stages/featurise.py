"""Stage `featurise`: analyses become Φ, a row of features for every known word.

Most features are sparse. Where there are word vectors, a few dense ones follow them in number.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from models.features.phi import Features
from pipeline.display.progress import say
from pipeline.stage import Inputs, Stage
from pipeline.stages import word_vectors
from pipeline.stages.templates import chosen, fill
from pipeline.stages.word_classes import clusters_of
from pipeline.stages.word_vectors import VectorParams, WordVectors

MORPHOLOGY = ("form", "pos", "gender", "number", "tense", "mood", "person", "verbform")


@dataclass(frozen=True)
class Params:
    # form, suffix, shape, number-class; frequency (see analyse.frequency); source (which lexicon
    # answered), lemma, pos, or a feature of the lexicon: gender, number, tense, mood, person,
    # verbform, prontype and so on. a×b crosses two or more of what the lexicon says. class-500:
    # one of 500 classes of words with similar vectors; cluster-500: of words that have similar
    # neighbours in the training text.
    templates: tuple[str, ...] = MORPHOLOGY
    without: tuple[str, ...] = ()  # templates left out, and crossed ones that hold them
    # M: so many most frequent words have a feature of their own; null: all seen more than once.
    # The others share one, `@notTop`.
    forms: int | None = 2500
    lemmas: int = 1000  # so many most frequent lemmas have a feature, where `lemma` is a template
    # An ambiguous word carries the union of its analyses, or each by its share (weighted).
    values: Literal["union", "weighted"] = "union"
    steps: int = 4  # shares are rounded to 1/steps, so that guessed words have signatures in common
    # Vectors of words, such as {source: spacy, dimensions: 64}. Source: spacy, or the path of a
    # .vec file (compressed or not) or of an .npz with the arrays forms and vectors. Dimensions: so
    # many principal components are dense features; 0: the vectors only make classes. Unknown: an
    # unknown word has the mean of its class (mean) or no vector (none).
    vectors: VectorParams | None = None


def compute(params: Params, inputs: Inputs, out: Path) -> None:
    types = pd.read_parquet(inputs["analyse"] / "types.parquet")
    analyses = pd.read_parquet(inputs["analyse"] / "analyses.parquet")
    features, names = build(params, types, analyses, inputs["tokenise"] / "train.arrow")
    features.save(out / "phi.npz")
    written = json.dumps(names, ensure_ascii=False, indent=0)
    (out / "names.json").write_text(written, encoding="utf-8")
    say(
        f"featurise: {features.vocabulary_size:,} words, {features.feature_count:,} features, "
        f"{features.signature_count:,} signatures"
    )


def build(
    params: Params, types: pd.DataFrame, analyses: pd.DataFrame, training: Path | None = None
) -> tuple[Features, list[str]]:
    """Φ of the words of a table, and the names of its features; clusters are of the training."""
    computed, dense = {}, None
    if params.vectors:
        computed, dense = word_vectors.rows(params, chosen(params), types, analyses)
    for template in chosen(params):
        if template.startswith("cluster-"):
            number = clusters_of(types, training, int(template.removeprefix("cluster-")))
            names = f"{template}=" + pd.Series(number.astype(str), index=types.index)
            computed[template] = pd.DataFrame({"feature": names, "value": 1.0, "word": types.index})
    table = fill(params, types, analyses, computed)
    names = table["feature"].cat.categories.tolist()
    if dense:
        names += [f"vector[{number}]" for number in range(dense.vectors.shape[1])]
    return _features(table, dense, len(types)), names


def _features(table: pd.DataFrame, dense: WordVectors | None, words: int) -> Features:
    codes = table["feature"].cat.codes.to_numpy()
    indptr = np.zeros(words + 1, dtype=np.int64)
    np.cumsum(np.bincount(table["word"], minlength=words), out=indptr[1:])
    values = table["value"].to_numpy(np.float32)
    block = {"vectors": dense.vectors, "vector": dense.row} if dense else {}
    count = len(table["feature"].cat.categories)
    return Features.from_rows(indptr, codes, values, count, **block)


def _files(params: Params) -> Sequence[Path]:
    return word_vectors.files(params.vectors.source) if params.vectors else ()


STAGE = Stage(
    name="featurise",
    help="turns analyses into the vectors φ",
    inputs={"analyse": ("types.parquet", "analyses.parquet"), "tokenise": ("train.arrow",)},
    outputs={
        "phi.npz": "Φ by signature in CSR, and the signature of each word",
        "names.json": "the name of each feature",
    },
    params=Params,
    compute=compute,
    files=_files,
)
