"""Stage `featurise`: analyses become Φ, a row of features for every known word.

Most features are sparse. Where there are word vectors, a few dense ones follow them in number.
"""

import json
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from lexicon.analysis import FEATURES, feature_names
from lexicon.reading import Report
from lexicon.registry import BUILT_IN, FROM_PATH, TABLES
from lexicon.table import read as read_table
from models.common.checks import expect_at_least
from models.common.files.json_file import load_json
from models.features.phi import Features
from pipeline.display.progress import say
from pipeline.features import TEMPLATES, word_vectors
from pipeline.features.letters import spelled
from pipeline.features.template_names import VECTORS, check, chosen, sides
from pipeline.features.templates import fill, known_names
from pipeline.features.word_classes import clusters_of
from pipeline.features.word_vectors import VectorParams, WordVectors
from pipeline.prepared.special_words import END, NOT_TOP, START_WEIGHTS
from pipeline.stage import START, Inputs, Stage
from pipeline.trained.start import start_weights

MORPHOLOGY = ("form", "pos", "gender", "number", "tense", "mood", "person", "verbform")

OWN_FEATURE = 3  # times that a text has a word for it to get a feature beside those of a start


@dataclass(frozen=True)
class Params:
    # form, suffix, shape, number-class; frequency (see analyse.frequency); source (which lexicon
    # answered), lemma, pos, or any feature of the lexicon: gender, number, tense, mood, person,
    # verbform, prontype, sem, or one of your own table. a×b, a*b or axb crosses two or more of what
    # the lexicon says. class-500: one of 500 classes of words that have similar vectors;
    # cluster-500: of words that have similar neighbours in the training text.
    templates: tuple[str, ...] = MORPHOLOGY
    # Templates left out, or single features (PronType=Art), and crossed ones that hold them.
    without: tuple[str, ...] = ()
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
    # ψ: the templates that are read, `vectors` for the dense features; null: all of them.
    read: tuple[str, ...] | None = None
    # φ: the templates that words are predicted by, in the same way; null: all of them.
    predict: tuple[str, ...] | None = None
    letters: bool = False  # keeps how each word is written, for `train.input: letters-…`

    def __post_init__(self):
        expect_at_least(0, self, "forms", "lemmas")
        expect_at_least(1, self, "steps")


def compute(params: Params, inputs: Inputs, out: Path) -> None:
    types = pd.read_parquet(inputs["analyse"] / "types.parquet")
    analyses = pd.read_parquet(inputs["analyse"] / "analyses.parquet")
    if START in inputs:
        built = _go_on(params, inputs[START], types, out)
    else:
        built = build(params, types, analyses, inputs["tokenise"] / "train.arrow")
    built.phi.save(out / "phi.npz")
    if built.psi:
        built.psi.save(out / "psi.npz")
    if params.letters:
        np.save(out / "letters.npy", spelled(types["form"]))
    written = json.dumps(built.names, ensure_ascii=False, indent=0)
    (out / "names.json").write_text(written, encoding="utf-8")
    say(
        f"featurise: {built.phi.vocabulary_size:,} words, {len(built.names):,} features, "
        f"{built.phi.signature_count:,} signatures"
    )


class Built(NamedTuple):
    """Φ, the Ψ of what is read where it is another, and the names of their features."""

    phi: Features
    psi: Features | None
    names: list[str]


def build(
    params: Params, types: pd.DataFrame, analyses: pd.DataFrame, training: Path | None = None
) -> Built:
    """Φ and Ψ of the words of a table; clusters are of the training text."""
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
    of_table = table["feature"].cat.categories.tolist()
    dimensions = range(dense.vectors.shape[1] if dense else 0)

    def of(side: Set[str]) -> Features:
        """The features of some templates; those of others keep their numbers in it."""
        rows = table[table["template"].isin({END, *side})]
        if VECTORS in side or not dense:
            return _features(rows, len(of_table), len(types), dense)
        return _features(rows, len(of_table) + len(dimensions), len(types))

    read, predicted = sides(params, names)
    return Built(
        of(predicted),
        of(read) if read != predicted else None,
        [*of_table, *(f"vector[{number}]" for number in dimensions)],
    )


def _go_on(params: Params, start: Path, types: pd.DataFrame, out: Path) -> Built:
    """Φ and Ψ of the start for all words, and its weights.

    New words have the rows of their classes. A word that the text has often enough, and that has
    no feature of its own, has one more, whose weights are zero: what it does, training will tell.
    """
    from models.common.files.weights import save_tensors  # here, as it loads torch
    from models.features.grown import by_name, with_own_features, with_words

    before, phi = load_json(start / "names.json", list), Features.load(start / "phi.npz")
    read_as = types["unknown"].to_numpy()[phi.vocabulary_size :]
    of_form = "form=" + types["form"]
    own = (types["count"] >= OWN_FEATURE) & ~of_form.isin(before) & (NOT_TOP in before)
    words = np.flatnonzero(own)
    first = sum(not name.startswith("vector[") for name in before)  # the dense ones come last
    names = [*before[:first], *of_form[own], *before[first:]]
    save_tensors(by_name(start_weights(start), before, names), out / START_WEIGHTS)

    def grown(features: Features, side: Sequence[str] | None) -> Features:
        features = with_words(features, read_as)
        if side is None or "form" in map(str.lower, side):
            return with_own_features(features, words, first)
        more = len(names) - len(before)  # that no word has
        return replace(features, feature_count=features.feature_count + more)

    psi = start / "psi.npz"
    psi = grown(Features.load(psi), params.read) if psi.exists() else None
    return Built(grown(phi, params.predict), psi, names)


def _cluster_rows(template: str, types: pd.DataFrame, training: Path) -> pd.DataFrame:
    number = clusters_of(types, training, int(template.removeprefix("cluster-")))
    names = [f"{template}={each}" for each in number]
    return pd.DataFrame({"word": types.index, "feature": names, "value": 1.0})


def _features(
    table: pd.DataFrame, sparse: int, words: int, dense: WordVectors | None = None
) -> Features:
    """Φ of the rows of a table, which is sorted by word, in so many sparse features."""
    codes = table["feature"].cat.codes.to_numpy()
    indptr = np.zeros(words + 1, dtype=np.int64)
    np.cumsum(np.bincount(table["word"], minlength=words), out=indptr[1:])
    values = table["value"].to_numpy(np.float32)
    block = {"vectors": dense.vectors, "vector": dense.row} if dense else {}
    return Features.from_rows(indptr, codes, values, sparse, **block)


def _check(sections: Mapping[str, Any]) -> None:
    """Refuse templates that are none, as far as the names of the lexicon's features are known.

    Accord's own lexicons have those of UD and tables can be asked; a treebank, or the lexicon of
    another package, may have any, and its analyses will show.
    """
    if sections["train"].start:  # whose features they are
        return
    names: set[str] | None = {*FEATURES}
    for lexicon in sections["analyse"].lexicon:
        of_text = lexicon.partition(":")[0] in FROM_PATH
        if Path(lexicon).suffix in TABLES and not of_text:
            rows = read_table(Path(lexicon), Report(Path(lexicon)))
            names = names and names | feature_names(row.feats for row in rows)
        elif lexicon not in BUILT_IN:
            names = None
    check(sections["featurise"], names and sorted(names))


def _files(params: Params) -> Sequence[Path]:
    """Those of the vectors, and of the templates that other packages bring."""
    brought = [name for name in params.templates if name in TEMPLATES]
    brought = [TEMPLATES.part(name).file for name in brought if not TEMPLATES.is_own(name)]
    return [*(word_vectors.files(params.vectors.source) if params.vectors else ()), *brought]


STAGE = Stage(
    name="featurise",
    help="turns analyses into the vectors φ",
    inputs={"analyse": ("types.parquet", "analyses.parquet"), "tokenise": ("train.arrow",)},
    outputs={
        "phi.npz": "Φ by signature in CSR, and the signature of each word",
        "psi.npz": "the same of what is read, where that is not all of it",
        "letters.npy": "how each word is written, where words are read by their letters",
        "names.json": "the name of each feature",
        START_WEIGHTS: "the weights of the model that training goes on from, where there is one",
    },
    params=Params,
    compute=compute,
    version=1,
    files=_files,
    starts=True,
    check=_check,
    audited={"φ": ("phi.npz", "psi.npz", "letters.npy", "names.json")},
)
