"""The nine stages in the order in which data flows: what each reads, writes and checks.

The module of a stage is imported when the stage runs, so that this table can be read without torch:
`accord config`, `accord run --status` and the keys of artefacts need no more than it.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from accord.corpora import sources
from accord.errors import AccordError, NotFoundError
from accord.lexicon.analysis import BUILT_IN, FEATURES, FROM_PATH, TABLES, feature_names
from accord.lexicon.analysis import files as lexicon_files
from accord.lexicon.index import Report
from accord.lexicon.tables import read_table
from accord.models.common.checks import expect, nearest
from accord.models.common.registry import outside_files
from accord.models.parts import BACKGROUNDS
from accord.models.spelling import COUNTS
from accord.pipeline.base.arrow import WRITTEN
from accord.pipeline.base.names import (
    ABOUT,
    DESCRIBED,
    FACTORS,
    FIGURES,
    MADE_OF,
    PRETRAINING_MASS,
    START_WEIGHTS,
)
from accord.pipeline.config.sections import (
    AnalyseParams,
    BackgroundParams,
    CorpusParams,
    EncodeParams,
    EvaluateParams,
    FeaturiseParams,
    ReportParams,
    TokeniseParams,
)
from accord.pipeline.data import word_vectors
from accord.pipeline.data.catalogue import folder_of
from accord.pipeline.data.encoded import DOCUMENTS, NUMBERS, PARTS, SIZES, VALUES
from accord.pipeline.data.encoded import WRITTEN as SAME_TEXT
from accord.pipeline.data.templates import TEMPLATES, check
from accord.pipeline.model.metrics import METRICS
from accord.pipeline.model.suites import suite_files
from accord.pipeline.stages.stage import TRAIN, Stage


def _files_of_sources(params: CorpusParams) -> list[Path]:
    """Return the files of all sources; none of a hub data set, as a key needs no network."""
    named = [*params.source, *(params.pretraining or ())]
    return [path for source in named for path in sources.files(source, folder=folder_of)]


def _files_of_lexicons_and_suites(params: AnalyseParams) -> list[Path]:
    """Return the files of suites and lexicons; lexicons that are written in code have none."""
    names = [*params.lexicon, *([params.frequency] if params.frequency else [])]
    lexicons = [path for name in names for path in lexicon_files(name, folder_of)]
    return [*lexicons, *(path for suite in params.suites for path in suite_files(suite))]


def _check_lexicon(sections: Mapping[str, Any]) -> None:
    chain, start = sections["analyse"].lexicon, sections["train"].start  # which brings its own
    expect("analyse.lexicon", bool(chain or start), "one or more", "none")


def _files_of_templates(params: FeaturiseParams) -> Sequence[Path]:
    """Return the files of the vectors, and of templates of other packages."""
    names = [name for name in params.templates if name in TEMPLATES]
    code = [TEMPLATES.part(name).file for name in names if name not in TEMPLATES.own]
    return [*(word_vectors.files(params.vectors.source) if params.vectors else ()), *code]


def _check_templates(sections: Mapping[str, Any]) -> None:
    """Reject unknown templates, as far as the names of the lexicon's features are known.

    Accord's own lexicons have those of UD, and tables are read. A treebank, or the lexicon of
    another package, may have any.
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


def _files_of_ngrams(params: BackgroundParams) -> list[Path]:
    """Return the files of parts of other packages, and those that the background names."""
    paths = [Path(file) for file in BACKGROUNDS.files(params.kind)]
    for path in paths:
        if not path.is_file():
            raise NotFoundError(f"background.kind: expected a file, got none at '{path}'")
    return [*outside_files(params), *paths]


def _files_of_metrics(params: EvaluateParams) -> list[Path]:
    """Return the files of metrics of other packages."""
    return [part.file for name, part in METRICS.parts().items() if name not in METRICS.own]


DATASET = "dataset_dict.json"  # and a folder for each split

_STAGES = (
    Stage(
        name="corpus",
        help="reads a source of French sentences and splits it",
        inputs={},
        outputs={
            "*.arrow": "the sentences of each split: id, document, text, a treebank's rows, "
            "source, labels",
            DATASET: "what makes the splits a DatasetDict of the library datasets",
            ABOUT: "how the corpus was split, and how many texts were left out for each reason",
        },
        params=CorpusParams,
        sharded=True,
        version=7,
        files=_files_of_sources,
    ),
    Stage(
        name="tokenise",
        help="turns sentences into words",
        inputs={"corpus": ("*.arrow",)},
        outputs={
            "*.arrow": "the words of each sentence of each split, its source and labels",
            DATASET: "what makes the splits a DatasetDict of the library datasets",
            WRITTEN: "how training writes each word most often, where words are lowercased",
        },
        params=TokeniseParams,
        sharded=True,
        version=4,
    ),
    Stage(
        name="analyse",
        help="looks every known word up in the lexicon",
        inputs={"tokenise": ()},
        outputs={
            "types.parquet": "the known words and their counts; ids are positions in it",
            "analyses.parquet": "lemma, POS and features of each, and the lexicon that has them",
            "coverage.csv": "types and counted tokens that each lexicon answered for",
            "words.npz": "the known words as a model has them",
            "analyses.npz": "their analyses as a model has them",
            "endings.npz": "the endings that tell classes of unknown words apart",
            "lexicon.json": "the lexicons that words were looked up in",
            MADE_OF: "the initial checkpoint, if there is one: its name and its sources",
            "*.suite.parquet": "the pairs of each agreement suite",
        },
        params=AnalyseParams,
        sharded=True,
        version=5,
        files=_files_of_lexicons_and_suites,
        starts=True,
        check=_check_lexicon,
    ),
    Stage(
        name="featurise",
        help="turns analyses into the vectors φ",
        inputs={"analyse": ("types.parquet", "analyses.parquet"), "tokenise": ("train.arrow",)},
        outputs={
            "phi.npz": "Φ by signature, as scipy's csr, and the signature of each word",
            "psi.npz": "Ψ, the input features, if they are not all of Φ",
            "letters.npy": "how each word is written, where words are read by their letters",
            DESCRIBED: "the forms of words and the names of features, with letters.npy",
            "names.json": "the name of each feature",
            START_WEIGHTS: "the weights of the initial checkpoint, if there is one",
        },
        params=FeaturiseParams,
        version=4,
        files=_files_of_templates,
        starts=True,
        check=_check_templates,
        audited={"φ": ("phi.npz", "psi.npz", "letters.npy", "names.json")},
    ),
    Stage(
        name="background",
        help="gives every known word its prior mass b, and learns to spell the others",
        inputs={
            "analyse": ("types.parquet", "analyses.parquet"),
            "featurise": ("phi.npz",),
        },
        outputs={
            "b.npy": "the prior mass of each word",
            PRETRAINING_MASS: "the prior mass while the text of corpus.pretraining is read",
            "share.npy": "the share of each word in its group's mass for unseen words",
            "about.json": "the kind of background, from which training counts its n-grams",
            "factors.npz": "the factors of each word, where n-grams back off over them",
            "ngrams.npz": "the n-grams of an ARPA file for the known words",
            "topics.json": "the listed words of each label, where b is by label",
            "spelling.*": "the spelling model of an open vocabulary",
            "spelled.npy": "the class, from 1, of each word that it was learned from; else 0",
        },
        params=BackgroundParams,
        version=3,
        files=_files_of_ngrams,
        starts=True,
        audited={
            "b": ("b.npy", "share.npy", "about.json", "ngrams.npz", "spelling.*")
        },  # the groups are φ's own
    ),
    Stage(
        name="encode",
        help="turns words into ids",
        inputs={
            "tokenise": (),
            "analyse": ("types.parquet", "*.npz", "lexicon.json", "*.suite.parquet"),
        },
        outputs={
            "*.ids.npy": "the ids of each split, END after every sentence",
            "*.lengths.npy": "the length of each sentence, END included",
            "*.forms.json": "the words of each split as they are written, each once",
            "*.form.npy": "which of them each word is, −1 for ends",
            "*.unseen.npy": "whether each word is absent from the training text",
            f"*{PARTS}": "which source each sentence is from, where there are several",
            f"*{DOCUMENTS}": "the number of each sentence's document, where some have several",
            f"*{NUMBERS}": "the labels of each sentence by their numbers, where it has some",
            VALUES: "the labels of each kind that training has",
            SIZES: "sentences, words and characters of each split",
            "subwords.json": "the tokenizer of subwords, if a model predicts subwords",
            COUNTS: "how often training has each subword",
            "*.subwords.npz": "the subwords of each word of each split or suite as it is written",
            "classes.npy": "the class of each word, where an output wants classes",
            "*.suite.npz": "the sentences of each agreement suite as ids, and how they pair",
        },
        params=EncodeParams,
        sharded=True,
        version=3,
    ),
    TRAIN,
    Stage(
        name="evaluate",
        help="scores the validation and test sentences, and judges the agreement suites",
        inputs={
            "train": (),
            "encode": (),
            "featurise": (START_WEIGHTS,),
        },
        outputs={
            FIGURES: "every metric of every split, every source in it, and every suite",
            "*.log_p.npy": "the log-probability of each word of each split, in nats",
            "*.margins.npy": "by how many nats the right sentence of each pair of a suite, and its "
            "critical word, is likelier",
        },
        params=EvaluateParams,
        version=4,
        files=_files_of_metrics,
    ),
    Stage(
        name="report",
        help="gathers tables, figures and one page",
        inputs={
            "evaluate": (FIGURES, "*.log_p.npy"),
            "train": (),
            "analyse": ("coverage.csv", "types.parquet"),
            "featurise": ("names.json",),
            "background": ("about.json",),
            # The texts that are compared, and the sentences that a model explains.
            "encode": (*(f"*.{part}" for part in SAME_TEXT), SIZES),
            "tokenise": ("valid.arrow",),
        },
        outputs={
            "index.html": "the page, self-contained",
            "table.md": "the comparison table",
            FACTORS: "how many times each other perplexity the first model's is, with intervals",
            "scores.parquet": "one row per model, split and metric",
            "scores.csv": "the same as text",
            "*.png": "the figures, on white ground",
            "*.svg": "the same, without a ground",
        },
        params=ReportParams,
        version=9,
        over_models=True,
        shows=("tokenise", "analyse", "featurise", "background", "encode", "train", "evaluate"),
    ),
)
STAGES = {stage.name: stage for stage in _STAGES}


def check_names(names: Iterable[str]) -> None:
    """Reject a name that is no stage; the error names the nearest one."""
    for name in names:
        if name not in STAGES:
            raise AccordError(f"unknown stage '{name}'{nearest(name, STAGES)}")


def declared() -> list[dict[str, str]]:
    """Return the declarations of the stages, a row each, for `accord run --status`."""
    return [
        {
            "stage": f"`{stage.name}`",
            "does": stage.help,
            "reads": ", ".join(stage.inputs) or "the source",
            "writes": ", ".join(f"`{file}`" for file in stage.outputs),
        }
        for stage in STAGES.values()
    ]
