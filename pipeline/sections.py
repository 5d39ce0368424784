"""The keys of a configuration: the section of each stage, every key with its meaning and default.

The section `train` is `Recipe` of `accord.models.recipe`. `accord config` prints the comments here,
and each section rejects invalid values. Nothing here imports torch or pandas.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from accord.errors import AccordError
from accord.models.common.checks import expect, expect_at_least
from accord.models.common.registry import Choice, Part, Registry, Setting, check_parts, parted
from accord.models.parts import HISTORIES, SMOOTHINGS

SOURCE = "source"  # the label that names which of several sources a sentence is from
SPACY = "spacy"  # the vectors that spaCy's French model brings
MORPHOLOGY = ("form", "lemma", "pos", "gender", "number", "tense", "mood", "person", "verbform")


@dataclass(frozen=True)
class CorpusParams:
    # A corpus name, a path (.txt with one sentence a line, .conllu, or .tsv and .jsonl with a
    # column `text`), or hub:ID[:CONFIG][#COLUMN]; or several. Where some have splits of their own,
    # the sentences of the others are for training. A hub data set is read once: `--force corpus`
    # reads it anew.
    # Splits that are drawn have whole documents: an article, a headword, an example of the hub, a
    # file. In a .txt a blank line ends a document, in a .conllu `# newdoc` begins one, in .tsv and
    # .jsonl a column `document` names it. A source of one document is split by sentence.
    source: tuple[str, ...] = ("wiktionnaire",)
    # Number of sentences at most, from documents drawn at random. Of a hub data set the first ones
    # are taken, and the rest is not downloaded. null takes all.
    limit: int | None = None
    # Held out of training for validation: a share below 1, or a number of sentences.
    # 0 takes the source's own `dev` split, if it has one.
    valid: float = 0.05
    test: float = 0.05  # held out for the test, where the source has no splits of its own
    seed: int = 1  # of the shuffle that draws the limit and the splits
    # A second text, of one source or several, which a network may read before the training text:
    # train.phases. Sentences that validation or test have too are left out of it.
    pretraining: tuple[str, ...] | None = None

    # Names of labels of sentences that a network may be conditioned on (train.condition): comments
    # of CoNLL-U (`# genre = news`), columns of .tsv, .jsonl and hub data sets, or `source`, which
    # of several sources it is from.
    labels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        expect_at_least(1, self, "limit")
        expect_at_least(0, self, "seed")
        for key in ("valid", "test"):
            value = getattr(self, key)
            is_amount = 0 <= value < 1 or (value >= 1 and value == int(value))
            expect(key, is_amount, "a share below 1 or a number of sentences", value)
        if SOURCE in self.labels and len(self.source) == 1:
            raise AccordError(f"labels: {SOURCE} expects several sources, found one")
        if len({*self.labels}) < len(self.labels):
            raise AccordError(f"labels: expected names that differ, found {', '.join(self.labels)}")
        if not self.source:
            raise AccordError("source: expected a source, or several, found none")
        for key in ("source", "pretraining"):
            sources = getattr(self, key) or ()
            if len({*sources}) < len(sources):
                raise AccordError(
                    f"{key}: expected sources that differ, found {', '.join(sources)}"
                )


@dataclass(frozen=True)
class TokeniseParams:
    # Of a treebank's contractions: surface (du), syntactic (de le), or rows (all three).
    view: Literal["surface", "syntactic", "rows"] = "surface"
    lowercase: bool = True  # words are compared without regard to capitals
    # Number of processes that tokenise; null: one for each core, if the text is long.
    processes: int | None = field(default=None, compare=False)

    def __post_init__(self):
        expect_at_least(1, self, "processes")


@dataclass(frozen=True)
class AnalyseParams:
    # The chain of lexicons: names, or paths of your own tables. `closed` holds closed classes,
    # numbers and punctuation; `guesser`, learned from those before it, answers for any word.
    # `treebank:FILE` takes the analyses of a CoNLL-U file. `spacy:TEXT` takes those that spaCy's
    # fr_core_news_sm gives the words of a text, one sentence per line; `spacy:MODEL:TEXT` those of
    # another model that is installed. Both only teach the guesser, where there is one.
    lexicon: tuple[str, ...] = ("closed", "dela", "guesser")
    # A word known to several lexicons has the first one's analyses (fallback) or all (union).
    join: Literal["fallback", "union"] = "fallback"
    # open: known words come from training and lexicon alone, others are spelled;
    # closed: known words are all of the corpus, the test included, but only training is counted;
    # paper: words are counted over all of the corpus too, so φ and b know the test.
    protocol: Literal["open", "closed", "paper"] = "open"
    strict: bool = False  # stop at the first row of a lexicon that cannot be read; else skip it
    # A lexicon with corpus frequencies (lexique), for the template `frequency` and for
    # background.unseen: frequency; null for none.
    frequency: str | None = None
    # Agreement suites that every model is judged on, in the form of CLAMS: names of data folders or
    # paths. Their words are known under `closed` and `paper`, as those of the test are; `paper`
    # counts those that the corpus lacks as met once.
    suites: tuple[str, ...] = ()


@dataclass(frozen=True)
class VectorParams:
    source: str = SPACY  # or a file of your own
    dimensions: int = 64  # 0: classes only
    unknown: Literal["mean", "none"] = "mean"  # the vector of unknown words

    def __post_init__(self):
        expect_at_least(0, self, "dimensions")


@dataclass(frozen=True)
class FeaturiseParams:
    # form; hashed, one of `forms` identity features by a hash of the word, whether training has it
    # or not; suffix, shape, number-class, number-falling; frequency (see analyse.frequency); source
    # (which lexicon answered), lemma, pos, or any feature of the lexicon: gender, number, tense,
    # mood, person, verbform, prontype, sem, or one of your own table. a×b, a*b or axb crosses two
    # or more of what the lexicon says. class-500: one of 500 classes of words that have similar
    # vectors; cluster-500: of words that have similar neighbours in the training text.
    # [+sem, +pos×gender] adds to the templates of the base: the defaults or those of a preset.
    templates: tuple[str, ...] = MORPHOLOGY
    # Templates left out, or single features (PronType=Art), and crossed ones that hold them.
    without: tuple[str, ...] = ()
    # Number M of most frequent words that have a feature of their own; null: all words seen more
    # than once. The others share one, `@notTop`.
    forms: int | None = 2500
    # Number of most frequent lemmas that have a feature, if `lemma` is a template; training must
    # have them at least twice. Each makes signatures of its unseen forms, and these cost time.
    lemmas: int = 1000
    # An ambiguous word carries the union of its analyses, or each by its share (weighted).
    values: Literal["union", "weighted"] = "union"
    steps: int = 4  # shares are rounded to 1/steps, so that guessed words have signatures in common
    # Vectors of words, such as {source: spacy, dimensions: 64}. Source: spacy, or the path of a
    # .vec file (compressed or not) or of an .npz with the arrays forms and vectors. Dimensions: so
    # many principal components are dense features; 0: the vectors only make classes. Unknown: an
    # unknown word has the mean of its class (mean) or no vector (none). With train.start only a
    # closed vocabulary may add them, to a model that has none.
    vectors: VectorParams | None = None
    # ψ: the templates that are read, `vectors` for the dense features; null: all of them.
    read: tuple[str, ...] | None = None
    # φ: the templates that words are predicted by, in the same way; null: all of them.
    predict: tuple[str, ...] | None = None
    # Keeps how each word is written, for `train.input: letters-…` and outputs that read forms.
    letters: bool = False

    @classmethod
    def layered(cls, values: Mapping[str, Any], layer: Mapping[str, Any]) -> dict[str, Any]:
        """Values overridden by those of a layer; templates that begin with + are added."""
        given = layer.get("templates")
        given = [given] if isinstance(given, str) else [*map(str, given or ())]
        added = [each.removeprefix("+").strip() for each in given if each.startswith("+")]
        if not added:
            return {**values, **layer}
        whole = "a whole list, or a + before each that is added"
        expect("templates", len(added) == len(given), whole, ", ".join(given))
        below = values.get("templates", MORPHOLOGY)
        return {**values, **layer, "templates": tuple(dict.fromkeys([*below, *added]))}

    def __post_init__(self):
        expect_at_least(0, self, "forms", "lemmas")
        expect_at_least(1, self, "steps")


# b(K, x): functions from a recipe, an encoding, Φ and the number of folds to a background.
# `prepare` names what the stage `background` writes for a kind beyond the files of all kinds.
BACKGROUNDS = Registry(
    "background",
    "accord.backgrounds",
    {
        "unigram": Part(
            "accord.pipeline.model.network:unigram",
            "Training counts; words that training lacks share the discounted mass.",
        ),
        "uniform": Part(
            "accord.pipeline.model.network:unigram",
            "Every known word alike, as in a softmax.",
        ),
        "ngram": Part(
            "accord.pipeline.model.network:ngrams",
            "n-grams of the training text; words that it lacks share as in unigram.",
        ),
        "arpa": Part(
            "accord.zoo.parts:of_arpa",
            "The n-grams of the file `arpa`; words that it lacks share the mass of <unk>.",
            {"prepare": "accord.zoo.parts:prepare_arpa", "own words": True},
        ),
        "labelled": Part(
            "accord.zoo.parts:labelled",
            "b(C, x): training counts by the label of the sentence, the first of corpus.labels.",
            {"prepare": "accord.zoo.parts:prepare_topics"},
            weight=Setting(
                float, 0.5, "of the label's own counts beside those of all", least=0, under=1
            ),
            topics=Setting(str | None, None, "a file of likely words: label, tab, word; or null"),
            boost=Setting(float, 10.0, "how many times as heavy words of `topics` are", least=1),
        ),
        "characters": Part(
            "accord.pipeline.model.network:unigram",
            "The weights that an automaton over characters gives to words.",
            {"prepare": "accord.zoo.parts:prepare_characters"},
            automaton=Setting(
                str | None, None, "a file of OpenFst's text form; null: n-grams of training letters"
            ),
            order=Setting(int, 4, "letters of these n-grams", least=1),
        ),
    },
)


@dataclass(frozen=True)
class BackgroundParams:
    kind: Annotated[Choice, BACKGROUNDS] = "unigram"  # Where b comes from
    # Words that training lacks share the freed mass as words, all alike and whatever the lexicon
    # says of them, or within signatures: the lexicon then says how likely they are, before the
    # network does.
    share: Literal["words", "signatures"] = "words"
    arpa: str | None = None  # Path of an ARPA file, as KenLM and SRILM write it; perhaps .gz
    order: int = 5  # of the n-grams: so many words, the predicted one included
    smoothing: Annotated[Choice, SMOOTHINGS] = "kneser-ney"  # Of the n-grams
    history: Annotated[Choice, HISTORIES] = "words"  # The history of the n-grams
    pretraining: bool = False  # n-grams of the text of corpus.pretraining too
    # Words that training lacks share mass equally, or by the frequencies of analyse.frequency.
    unseen: Literal["alike", "frequency"] = "alike"
    # Unknown words are spelled by n-grams of letters, or by a small recurrent network.
    spelling: Literal["ngram", "neural"] = "ngram"
    spelling_order: int = 6  # letters of the spelling model's n-grams

    def __post_init__(self):
        check_parts(self)
        expect_at_least(1, self, "order", "spelling_order")
        if (self.kind == "arpa") != (self.arpa is not None):
            raise AccordError(
                f"arpa: expected the path of a file for kind: arpa, and for no other; "
                f"found {self.arpa} for {self.kind}"
            )

    @property
    def named_files(self) -> list[str]:
        """The files that are read."""
        named = {"arpa": self.arpa} | parted(self.kind)[1]
        return [named[key] for key in ("arpa", "topics", "automaton") if named.get(key)]


@dataclass(frozen=True)
class EncodeParams:
    # Models of subwords predict words by their spelling: in pieces made by this many merges of
    # byte-pair encoding; 0: in letters; null: words are not split.
    merges: int | None = None
    classes: int = 0  # of words, for `train.output: classes`; 0: none
    # By the words beside them (clusters by exchange), by frequency, or evenly: as many words each.
    classes_by: Literal["neighbours", "frequency", "evenly"] = "neighbours"

    def __post_init__(self):
        expect_at_least(0, self, "merges", "classes")


@dataclass(frozen=True)
class EvaluateParams:
    pass


@dataclass(frozen=True)
class ReportParams:
    title: str = "Accord"  # of the page
