"""From text to scores: sentences as people type them become columns, an entry for each word.

Texts are split into sentences and tokenised, their words are scored in batches, and every word
keeps its place in the text. A reader can also follow the expectations of the model: the entropy of
the next word, the rank of the word that came, and the probability of features:

    P(f = v | K) = Σ_x p(x | K)·share(x, v),    share(x, v) = Σ weights of x's analyses with v / all

A word of several analyses counts for each by its weight, so the values of a feature sum to one;
`none` is the value of analyses without it. An unknown word has the analyses of its class. A
sentence end, and a word that no lexicon knows, has none.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from accord.corpora.detokenise import spans
from accord.errors import AccordError
from accord.lexicon.analysis import feature_names
from accord.models.common.checks import check_finite, nearest
from accord.models.data import Sentences
from accord.models.inference.interface import InferenceModel
from accord.models.inference.next_word import Expected, NextWord, WordValues, distributions
from accord.models.spelling.spelling import WrittenText, spelled_text
from accord.pipeline.ask.scorer import Scorer
from accord.pipeline.ask.split import PARTS, Split
from accord.pipeline.ask.texts import Word, pieces, split_texts, tokens, without_gap
from accord.pipeline.base.names import END, END_ID, UNKNOWN_ID

if TYPE_CHECKING:
    import pandas as pd

BITS = 1 / math.log(2)  # in a nat
AT_ONCE = 1000  # sentences read together


@dataclass(frozen=True)
class ReadWords:
    """Columns of one length: the words of some sentences, each sentence with its end."""

    sentence: np.ndarray  # the number of the word's sentence, from 0
    form: list[str]  # as the model reads it; </s> of an end
    start: np.ndarray  # where the word begins in the text
    end: np.ndarray
    is_end: np.ndarray  # whether it is the end of its sentence
    nats: np.ndarray  # −log p
    spelled: np.ndarray  # whether the character model spelled it
    expected: Expected | None  # the expectations before each word, if the reader follows them
    parts: np.ndarray | None  # of `nats`, by PARTS, if the reader splits it: (N × 5)

    def by_sentence(self) -> Iterator[slice]:
        """Yield the places of each sentence, its end included."""
        yield from map(slice, *self._bounds())

    def words(self) -> Iterator[list[Word]]:
        """Yield the words of each sentence with their log p, its end included."""
        columns = zip(self.form, (-self.nats).tolist(), self.spelled.tolist(), strict=True)
        words = [Word(*row) for row in columns]
        return (words[place] for place in self.by_sentence())

    def _bounds(self) -> tuple[list[int], list[int]]:
        ends = (np.flatnonzero(self.is_end) + 1).tolist()
        return [0, *ends[:-1]], ends


class Reader:
    """Reads sentences by one model and keeps the place of every word.

    With `features`, perhaps none, it also follows expectations before each word: entropy, rank and
    the probabilities of these features, in the columns `values`. A model of subwords lists
    no words, so it has only log p. With `split` it also splits the surprisal of each word.
    """

    def __init__(self, scorer: Scorer, features: Sequence[str] | None = None, split: bool = False):
        self.scorer, self.split = scorer, Split(scorer) if split else None
        self.values: list[str] = []
        self.next_word: NextWord | None = None
        if features is not None and isinstance(scorer.model, InferenceModel):
            vocabulary = scorer.vocabulary
            followed = FeatureValues(scorer.parts.analyses, len(vocabulary.forms), features)
            unknown = range(UNKNOWN_ID, UNKNOWN_ID + len(vocabulary.unknown))
            self.values = followed.names
            self.next_word = NextWord(scorer.model, followed.shares, unknown)
        elif features:
            raise AccordError(f"expected a model over words, got a {type(scorer.model).__name__}")

    def by(self, scorer: Scorer) -> "Reader":
        """Return the same reader by a model that differs in its weights alone."""
        other = copy(self)
        other.scorer = scorer
        if self.split:
            other.split = self.split.by(scorer)
        if self.next_word:
            other.next_word = copy(self.next_word)
            other.next_word.model = scorer.model
        return other

    def expect_ranks(self) -> None:
        """Reject a model that cannot rank words."""
        if self.next_word is None:
            raise AccordError(
                "expected a model of words, got one of subwords: it lists no words, and cannot "
                "say which is the likeliest"
            )

    def read(
        self,
        sentences: Sequence[str],
        documents: Sequence[int] | None = None,
        starts: Sequence[int] | None = None,
    ) -> Iterator[ReadWords]:
        """Yield the words of the sentences, about AT_ONCE sentences at a time.

        Neighbours with the same number in `documents` are read as one text. `starts` has the place
        of each sentence in its text, by default 0.
        """
        for piece in pieces(documents, len(sentences), AT_ONCE):
            of_piece = documents[piece] if documents is not None else None
            words = self._read(sentences[piece], of_piece, piece.start)
            yield words if starts is None else moved(words, starts)

    def read_text(self, text: str, context: str | None = None) -> ReadWords:
        """Read one text, which may have several sentences, at once.

        `context` is that of `Scorer.score`.
        """
        split = split_texts([text])
        documents = split.text if self.scorer.in_context(context) and split.text else None
        words = self._read(split.sentences or [""], documents, 0)
        return moved(words, split.start or [0])

    def _read(
        self, sentences: Sequence[str], documents: Sequence[int] | None, first: int
    ) -> ReadWords:
        texts = list(tokens(sentences))
        cased = [self.scorer.cased(words) for words in texts]
        self._expect_known(cased, first)
        batch, text = self.scorer.encoded(cased, documents)
        log_p, spelled, expected, parts = self._scored(batch, text)
        places = [
            place
            for sentence, words in zip(sentences, texts, strict=True)
            for place in (*spans(sentence, words), (len(sentence), len(sentence)))
        ]
        start, end = np.array(places).T
        return ReadWords(
            np.repeat(np.arange(first, first + len(texts)), batch.lengths),
            [text.forms[at] if at >= 0 else END for at in text.positions.tolist()],
            start,
            end,
            text.positions < 0,
            -log_p,
            spelled,
            expected,
            parts,
        )

    def _scored(
        self, batch: Sentences, text: WrittenText
    ) -> tuple[np.ndarray, np.ndarray, Expected | None, np.ndarray | None]:
        """Return log p of words, which were spelled, the expectations, and parts of surprisal."""
        if self.next_word is None and self.split is None:
            return *self.scorer.score_encoded(batch, text), None, None
        spelling = self.scorer.spelling
        letters = spelling and spelled_text(spelling, text)
        terms = np.zeros((len(batch.ids), 1 + len(PARTS)))

        def observe(positions: np.ndarray, log_p: np.ndarray) -> None:
            if self.split:
                of_words = None if letters is None else letters[positions]
                terms[positions] = self.split.terms(log_p, batch.ids[positions], of_words)

        expected = None
        if self.next_word:
            expected = self.next_word.ask(batch, letters, observe)
        else:
            for positions, log_p in distributions(self.scorer.model, batch):
                observe(positions, log_p)
        log_p = expected.log_p if expected else -terms[:, 0]
        check_finite("log p", log_p)
        first = UNKNOWN_ID + len(self.scorer.vocabulary.unknown)
        is_spelled = (batch.ids >= UNKNOWN_ID) & (batch.ids < first) & (spelling is not None)
        return log_p, is_spelled, expected, terms[:, 1:] if self.split else None

    def _expect_known(self, texts: Sequence[Sequence[str]], first: int) -> None:
        """Reject words that a closed vocabulary lacks; name each with its sentence."""
        if self.scorer.is_open:
            return
        known = self.scorer.vocabulary.known
        lacking = [
            f"{word!r} in sentence {number}"
            for number, words in enumerate(texts, start=first + 1)
            for word in dict.fromkeys(words)
            if word not in known
        ]
        if lacking:
            raise AccordError(
                f"expected words of this closed vocabulary; it does not know {', '.join(lacking)}"
            )


def moved(words: ReadWords, starts: Sequence[int]) -> ReadWords:
    """Return the words with their places in the text instead of those in their sentence."""
    offset = np.asarray(starts)[words.sentence]
    return replace(words, start=words.start + offset, end=words.end + offset)


POS = "pos"
NONE = "none"
AnalysesOf = Callable[[Sequence[str]], "pd.DataFrame"]
_Shares = tuple[np.ndarray, np.ndarray, np.ndarray]  # a word, a column, the share of each entry


class FeatureValues:
    """Columns such as `Number=Plur` and `Number=none`, and the share that each word has of each.

    The feature `Number` has a column for each value; `Number=Plur` has this one.
    """

    def __init__(self, analyses_of: AnalysesOf, words: int, features: Sequence[str]):
        """`analyses_of` returns columns of the table of analyses, if any are needed."""
        for name, following in pairwise(sorted(features)):
            if name == following:
                raise AccordError(f"features: expected each once, got '{name}' again")
        self.names: list[str] = []
        parts: list[_Shares] = [(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))]
        if features:
            analyses = _Analyses(analyses_of, words)
            parts += [self._add(name, analyses) for name in features]
        word, column, share = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        self.shares = WordValues(word, column, share, words, len(self.names))

    def _add(self, name: str, analyses: "_Analyses") -> _Shares:
        feature, _, value = name.partition("=")
        values, code = analyses.values(feature)
        if value and value not in values:
            raise AccordError(f"unknown value '{value}' of {feature}{nearest(value, values)}")
        chosen = [value] if value else values
        column = np.full(len(values), -1)
        column[[values.index(value) for value in chosen]] = len(self.names) + np.arange(len(chosen))
        self.names += [f"{feature}={value}" for value in chosen]
        kept = column[code] >= 0
        return analyses.word[kept], column[code[kept]], analyses.share[kept]


class _Analyses:
    """The analyses of all words, each with its share of its word; an empty one for the others."""

    def __init__(self, analyses_of: AnalysesOf, words: int):
        table = analyses_of(["word", "upos", "feats", "weight"])
        table = table[table["word"] != END_ID]  # a guesser guesses at everything, the end too
        word, weight = table["word"].to_numpy(), table["weight"].to_numpy(float)
        total = np.bincount(word, weight, minlength=words)
        without = np.flatnonzero(total == 0)
        some = total[word] > 0
        self.word = np.concatenate([word[some], without])
        self.share = np.concatenate([weight[some] / total[word[some]], np.ones(len(without))])
        self.upos, self.feats = table["upos"][some].cat, table["feats"][some].cat
        self.empty = len(without)

    def values(self, feature: str) -> tuple[list[str], np.ndarray]:
        """Return the values of a feature, `none` last, and the number of each analysis's value."""
        column = self.upos if feature == POS else self.feats
        of_category = column.categories.astype(str).tolist()
        if feature != POS:
            of_category = _values_in(feature, of_category)
        values = [*sorted({*of_category} - {NONE}), NONE]
        number = np.array([values.index(value) for value in of_category], dtype=np.int64)
        code = number[column.codes.to_numpy()]
        return values, np.concatenate([code, np.full(self.empty, len(values) - 1)])


def _values_in(feature: str, combinations: Sequence[str]) -> list[str]:
    """Return the value of a feature in each combination: `Gender=Fem|Number=Plur`."""
    known = sorted(feature_names(combinations))
    if feature not in known:
        raise AccordError(f"unknown feature '{feature}'{nearest(feature, [POS, *known])}")
    pattern = re.compile(rf"(?:^|\|){re.escape(feature)}=([^|]+)")
    return [m[1] if (m := pattern.search(feats)) else NONE for feats in combinations]


FEATURES = ("Number", "Gender", POS)
NEXT = "…"


def expect(
    text: str,
    models: Scorer | Mapping[str, Scorer],
    features: Sequence[str] = FEATURES,
    context: str | None = None,
) -> "pd.DataFrame":
    """Return the probability of features, such as P(Number=Plur | K), before each word of a text.

    A feature such as `Number` has a column for each value; with `none` they sum to one.
    `Number=Plur` has one column. The last row is the next word if the text ends in ` …`, else the
    sentence end. If `models` maps names to models, each model has its own rows. `context` is that
    of `Scorer.score`.
    """
    import pandas as pd  # here, as words are scored without tables

    beginning = without_gap(text)
    parts = []
    for name, scorer in by_name(models).items():
        reader = Reader(scorer, features)
        words = reader.read_text(beginning, context)
        places = zip(words.start, words.end, strict=True)
        written = [beginning[start:end] or END for start, end in places]
        if beginning != text:
            written[-1] = NEXT
        rows = pd.DataFrame({"before": written, "start": words.start, "end": words.end})
        parts.append(rows.join(probabilities(reader, words)).assign(model=name))
    table = pd.concat(parts, ignore_index=True)
    name = table.pop("model")
    if isinstance(models, Mapping):
        table.insert(0, "model", name)
    return table


def probabilities(reader: Reader, words: ReadWords) -> "pd.DataFrame":
    """Return a column for each value of the followed features."""
    import pandas as pd

    means = words.expected.means if words.expected else np.zeros((len(words.form), 0))
    return pd.DataFrame(means, columns=reader.values)


def by_name(models: Scorer | Mapping[str, Scorer]) -> Mapping[str, Scorer]:
    """Return the models by name; a single one has none."""
    return models if isinstance(models, Mapping) else {"": models}
