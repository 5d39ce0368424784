"""The keys of a configuration: the section of each stage, every key with its default and meaning.

The section `train` is `Recipe` of `accord.models.recipe`. `accord config` prints the meanings, and
`SECTIONS` names all sections in the order of the stages. Nothing here imports torch or pandas.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NamedTuple

from accord.errors import AccordError
from accord.models.common.checks import expect
from accord.models.common.registry import Choice
from accord.models.common.schema import Section
from accord.models.parts import BACKGROUNDS, HISTORIES, SMOOTHINGS
from accord.models.recipe import Count, Recipe, Whole

SOURCE = "source"  # the label that names which of several sources a sentence is from
SPACY = "spacy"  # the vectors that spaCy's French model brings
MORPHOLOGY = ("form", "lemma", "pos", "gender", "number", "tense", "mood", "person", "verbform")


@dataclass(frozen=True)
class CorpusParams(Section):
    source: Annotated[
        tuple[str, ...],
        "A corpus name, a path (.txt with one sentence a line, .conllu, or .tsv and .jsonl with a "
        "column `text`), a data set on disk (FOLDER[#COLUMN] of `save_to_disk`), or "
        "hub:ID[:CONFIG][#COLUMN]; or several. Where some have splits of their "
        "own, the sentences of the others are for training. A hub data set is read once: `--force "
        "corpus` reads it anew. Splits that are drawn have whole documents: an article, a "
        "headword, an example of the hub, a file. In a .txt a blank line ends a document, in a "
        ".conllu `# newdoc` begins one, in .tsv and .jsonl a column `document` names it. A source "
        "of one document is split by sentence.",
    ] = ("wiktionnaire",)
    limit: Annotated[
        Count | None,
        "Number of sentences at most, from documents drawn at random. Of a hub data set the first "
        "ones are taken, and the rest is not downloaded. null takes all.",
    ] = None
    valid: Annotated[
        float,
        "Held out of training for validation: a share below 1, or a number of sentences. 0 takes "
        "the source's own `dev` split, if it has one.",
    ] = 0.05
    test: Annotated[float, "held out for the test, where the source has no splits of its own"] = (
        0.05
    )
    seed: Annotated[Whole, "of the shuffle that draws the limit and the splits"] = 1
    pretraining: Annotated[
        tuple[str, ...] | None,
        "A second text, of one source or several, which a network may read before the training "
        "text: train.phases. Sentences that validation or test have too are left out of it.",
    ] = None
    labels: Annotated[
        tuple[str, ...],
        "Names of labels of sentences that a network may be conditioned on (train.condition): "
        "comments of CoNLL-U (`# genre = news`), columns of .tsv, .jsonl and hub data sets, or "
        "`source`, which of several sources it is from.",
    ] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        for key in ("valid", "test"):
            value = getattr(self, key)
            is_amount = 0 <= value < 1 or (value >= 1 and value == int(value))
            expect(key, is_amount, "a share below 1 or a number of sentences", value)
        if SOURCE in self.labels and len(self.source) == 1:
            raise AccordError(f"labels: {SOURCE} expects several sources, got one")
        expect("source", bool(self.source), "a source, or several", "none")
        for key in ("labels", "source", "pretraining"):
            names = getattr(self, key) or ()
            expect(key, len({*names}) == len(names), "names that differ", ", ".join(names))


@dataclass(frozen=True)
class TokeniseParams(Section):
    view: Annotated[
        Literal["surface", "syntactic", "rows"],
        "Of a treebank's contractions: surface (du), syntactic (de le), or rows (all three).",
    ] = "surface"
    lowercase: Annotated[bool, "words are compared without regard to capitals"] = True
    processes: Annotated[
        Count | None,
        "Number of processes that tokenise; null: one for each core, if the text is long.",
    ] = field(default=None, compare=False)


@dataclass(frozen=True)
class AnalyseParams(Section):
    lexicon: Annotated[
        tuple[str, ...],
        "The chain of lexicons: names, or paths of your own tables. `closed` holds closed classes, "
        "numbers and punctuation; `guesser`, learned from those before it, answers for any word. "
        "`treebank:FILE` takes the analyses of a CoNLL-U file. `spacy:TEXT` takes those that "
        "spaCy's fr_core_news_sm gives the words of a text, one sentence per line; "
        "`spacy:MODEL:TEXT` those of another model that is installed. Both only teach the guesser, "
        "where there is one.",
    ] = ("closed", "dela", "guesser")
    join: Annotated[
        Literal["fallback", "union"],
        "A word known to several lexicons has the first one's analyses (fallback) or all (union).",
    ] = "fallback"
    protocol: Annotated[
        Literal["open", "closed", "paper"],
        "open: known words come from training and lexicon alone, others are spelled; closed: known "
        "words are all of the corpus, the test included, but only training is counted; paper: "
        "words are counted over all of the corpus too, so φ and b know the test.",
    ] = "open"
    strict: Annotated[
        bool, "stop at the first row of a lexicon that cannot be read; else skip it"
    ] = False
    frequency: Annotated[
        str | None,
        "A lexicon with corpus frequencies (lexique), for the template `frequency` and for "
        "background.unseen: frequency; null for none.",
    ] = None
    suites: Annotated[
        tuple[str, ...],
        "Agreement suites that every model is judged on, in the form of CLAMS: names of data "
        "folders or paths. Their words are known under `closed` and `paper`, as those of the test "
        "are; `paper` counts those that the corpus lacks as met once.",
    ] = ()


@dataclass(frozen=True)
class VectorParams(Section):
    source: Annotated[str, "spacy, or a file of your own"] = SPACY
    dimensions: Annotated[Whole, "0: classes only"] = 64
    unknown: Annotated[Literal["mean", "none"], "the vector of unknown words"] = "mean"


@dataclass(frozen=True)
class FeaturiseParams(Section):
    templates: Annotated[
        tuple[str, ...],
        "form; hashed, one of `forms` identity features by a hash of the word, whether training "
        "has it or not; suffix, shape, number-class, number-falling; frequency (see "
        "analyse.frequency); source (which lexicon answered), lemma, pos, or any feature of the "
        "lexicon: gender, number, tense, mood, person, verbform, prontype, sem, or one of your own "
        "table. a×b, a*b or axb crosses two or more of what the lexicon says. class-500: one of "
        "500 classes of words that have similar vectors; cluster-500: of words that have similar "
        "neighbours in the training text. [+sem, +pos×gender] adds to the templates of the base: "
        "the defaults or those of a preset.",
    ] = MORPHOLOGY
    without: Annotated[
        tuple[str, ...],
        "Templates left out, or single features (PronType=Art), and crossed ones that hold them.",
    ] = ()
    forms: Annotated[
        Whole | None,
        "Number M of most frequent words that have a feature of their own; null: all words seen "
        "more than once. The others share one, `@notTop`.",
    ] = 2500
    lemmas: Annotated[
        Whole,
        "Number of most frequent lemmas that have a feature, if `lemma` is a template; training "
        "must have them at least twice. Each makes signatures of its unseen forms, and these cost "
        "time.",
    ] = 1000
    values: Annotated[
        Literal["union", "weighted"],
        "An ambiguous word carries the union of its analyses, or each by its share (weighted).",
    ] = "union"
    steps: Annotated[
        Count, "shares are rounded to 1/steps, so that guessed words have signatures in common"
    ] = 4
    vectors: Annotated[
        VectorParams | None,
        "Vectors of words, such as {source: spacy, dimensions: 64}. Source: spacy, or the path of "
        "a .vec file (compressed or not) or of an .npz with the arrays forms and vectors. "
        "Dimensions: so many principal components are dense features; 0: the vectors only make "
        "classes. Unknown: an unknown word has the mean of its class (mean) or no vector (none). "
        "With train.start only a closed vocabulary may add them, to a model that has none.",
    ] = None
    read: Annotated[
        tuple[str, ...] | None,
        "ψ: the templates that are read, `vectors` for the dense features; null: all of them.",
    ] = None
    predict: Annotated[
        tuple[str, ...] | None,
        "φ: the templates that words are predicted by, in the same way; null: all of them.",
    ] = None
    letters: Annotated[
        bool,
        "Keeps how each word is written, for `train.input: letters-…` and outputs that read forms.",
    ] = False


@dataclass(frozen=True)
class BackgroundParams(Section):
    kind: Annotated[Choice, BACKGROUNDS, "Where b comes from"] = "unigram"
    share: Annotated[
        Literal["words", "signatures"],
        "Words that training lacks share the freed mass as words, all alike and whatever the "
        "lexicon says of them, or within signatures: the lexicon then says how likely they are, "
        "before the network does.",
    ] = "words"
    order: Annotated[Count, "of the n-grams: so many words, the predicted one included"] = 5
    smoothing: Annotated[Choice, SMOOTHINGS, "Of the n-grams"] = "kneser-ney"
    history: Annotated[Choice, HISTORIES, "The history of the n-grams"] = "words"
    pretraining: Annotated[bool, "n-grams of the text of corpus.pretraining too"] = False
    unseen: Annotated[
        Literal["alike", "frequency"],
        "Words that training lacks share mass equally, or by the frequencies of analyse.frequency.",
    ] = "alike"
    spelling: Annotated[
        Literal["ngram", "neural"],
        "Unknown words are spelled by n-grams of letters, or by a small recurrent network.",
    ] = "ngram"
    spelling_order: Annotated[Count, "letters of the spelling model's n-grams"] = 6


@dataclass(frozen=True)
class EncodeParams(Section):
    merges: Annotated[
        Whole | None,
        "Models of subwords predict words by their spelling: in pieces made by this many merges of "
        "byte-pair encoding; 0: in letters; null: words are not split.",
    ] = None
    classes: Annotated[Whole, "of words, for `train.output: classes`; 0: none"] = 0
    classes_by: Annotated[
        Literal["neighbours", "frequency", "evenly"],
        "By the words beside them (clusters by exchange), by frequency, or evenly: as many words "
        "each.",
    ] = "neighbours"


@dataclass(frozen=True)
class EvaluateParams(Section):
    pass


@dataclass(frozen=True)
class ReportParams(Section):
    title: Annotated[str, "of the page; empty: the run's name and its sources"] = ""


SECTIONS: dict[str, type[Section]] = {
    "corpus": CorpusParams,
    "tokenise": TokeniseParams,
    "analyse": AnalyseParams,
    "featurise": FeaturiseParams,
    "background": BackgroundParams,
    "encode": EncodeParams,
    "train": Recipe,
    "evaluate": EvaluateParams,
    "report": ReportParams,
}
OF_ALL_MODELS = ("report",)  # sections that no model has values of its own for


class StartSettings(NamedTuple):
    """The settings of an initial checkpoint."""

    params: Mapping[str, Mapping[str, Any]]  # section -> key -> value
    has_vectors: bool
