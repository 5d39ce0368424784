"""P(Number=Plur | K) along a sentence.

    P(f = v | K) = Σ_x p(x | K)·share(x, v),    share(x, v) = Σ weights of x's analyses with v / all

A word of several analyses counts for each by its weight, so the values of a feature, `none` for
analyses without it among them, sum to one. An unknown word has the analyses of its class; a
sentence's end, and a word of which no lexicon says anything, has none.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from accord.corpora.detokenise import spans
from accord.errors import AccordError
from accord.lexicon.analysis import feature_names
from accord.models.common.checks import check_finite, nearest
from accord.models.data import Sentences
from accord.models.inference.interface import InferenceModel
from accord.models.inference.next_word import Expected, NextWord, WordValues
from accord.models.spelling.spelling import WrittenText, spelled_text
from accord.pipeline.ask.context import pieces, split_texts
from accord.pipeline.ask.explain import without_gap
from accord.pipeline.ask.scorer import Scorer, tokens
from accord.pipeline.base.names import END, END_ID, UNKNOWN_ID
from accord.pipeline.data.templates import values_of

POS = "pos"
NONE = "none"
AnalysesOf = Callable[[Sequence[str]], pd.DataFrame]
_Shares = tuple[np.ndarray, np.ndarray, np.ndarray]  # a word, a column, the share of each entry


class FeatureValues:
    """Columns such as `Number=Plur` and `Number=none`, and the share that each word has of each.

    Asked for `Number`, there is a column for each value; for `Number=Plur`, this one.
    """

    def __init__(self, analyses_of: AnalysesOf, words: int, asked: Sequence[str]):
        """`analyses_of` returns columns of the table of analyses, if any are needed."""
        if repeated := [name for name in asked if asked.count(name) > 1]:
            raise AccordError(f"features: expected each once, got '{repeated[0]}' again")
        self.names: list[str] = []
        parts: list[_Shares] = [(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))]
        if asked:
            analyses = _Analyses(analyses_of, words)
            parts += [self._add(name, analyses) for name in asked]
        word, column, share = (np.concatenate(each) for each in zip(*parts, strict=True))
        self.shares = WordValues(word, column, share, words, len(self.names))

    def _add(self, asked: str, analyses: "_Analyses") -> _Shares:
        feature, _, value = asked.partition("=")
        values, code = analyses.values(feature)
        if value and value not in values:
            raise AccordError(f"unknown value '{value}' of {feature}{nearest(value, values)}")
        chosen = [value] if value else values
        column = np.full(len(values), -1)
        column[[values.index(each) for each in chosen]] = len(self.names) + np.arange(len(chosen))
        self.names += [f"{feature}={each}" for each in chosen]
        kept = column[code] >= 0
        return analyses.word[kept], column[code[kept]], analyses.share[kept]


class _Analyses:
    """The analyses of all words, each with its share of its word.

    A word without any has one that says nothing.
    """

    def __init__(self, analyses_of: AnalysesOf, words: int):
        table = analyses_of(["word", "upos", "feats", "weight"])
        table = table[table["word"] != END_ID]  # a guesser guesses at what it is shown, that too
        word, weight = table["word"].to_numpy(), table["weight"].to_numpy(float)
        total = np.bincount(word, weight, minlength=words)
        without = np.flatnonzero(total == 0)
        some = total[word] > 0
        self.word = np.concatenate([word[some], without])
        self.share = np.concatenate([weight[some] / total[word[some]], np.ones(len(without))])
        self.upos, self.feats = table["upos"][some].cat, table["feats"][some].cat
        self.nothing = len(without)

    def values(self, feature: str) -> tuple[list[str], np.ndarray]:
        """The values of a feature, `none` the last, and which of them each analysis has."""
        of_analysis = self.upos if feature == POS else self.feats
        own = of_analysis.categories.astype(str)
        if feature != POS:
            own = self._of_feats(feature, own)
        values = [*sorted({*own} - {NONE}), NONE]
        number = np.array([values.index(each) for each in own], dtype=np.int64)
        code = number[of_analysis.codes.to_numpy()]
        return values, np.concatenate([code, np.full(self.nothing, len(values) - 1)])

    def _of_feats(self, feature: str, distinct: pd.Index) -> list[str]:
        known = sorted(feature_names(distinct))
        if feature not in known:
            raise AccordError(f"unknown feature '{feature}'{nearest(feature, [POS, *known])}")
        return values_of(distinct.to_series(), feature).fillna(NONE).tolist()


AT_ONCE = 1000  # sentences read together


@dataclass(frozen=True)
class ReadWords:
    """The words of some sentences and, after each sentence, its end, as columns of one length."""

    sentence: np.ndarray  # which of the sentences, from 0
    form: list[str]  # as the model reads it
    start: np.ndarray  # where it begins in the sentence as written
    end: np.ndarray
    is_end: np.ndarray
    nats: np.ndarray  # −log p
    spelled: np.ndarray
    expected: Expected | None  # nothing of a model of subwords, which lists no words


class SentenceReader:
    """Reads sentences as a person types them and keeps where each word stood.

    `features` are followed: what `Expected.means` has columns for, named by `values`.
    """

    def __init__(self, scorer: Scorer, features: Sequence[str] = ()):
        self.scorer = scorer
        words = len(scorer.vocabulary.forms)
        self.features = FeatureValues(scorer.parts.analyses, words, features)
        unknown = range(UNKNOWN_ID, UNKNOWN_ID + len(scorer.vocabulary.unknown))
        self.next_word = None
        if isinstance(scorer.model, InferenceModel):
            self.next_word = NextWord(scorer.model, self.features.shares, unknown)
        elif features:
            raise AccordError(
                f"expected a model over words, which can all be asked for; got a "
                f"{type(scorer.model).__name__}"
            )

    def of(self, scorer: Scorer) -> "SentenceReader":
        """The same, of a model that differs in its weights alone."""
        other = copy(self)
        other.scorer = scorer
        if self.next_word and isinstance(scorer.model, InferenceModel):
            other.next_word = copy(self.next_word)
            other.next_word.model = scorer.model
        return other

    def of_surprisal(self) -> "SentenceReader":
        """The same without what was expected, which costs most of the time of a long text."""
        other = copy(self)
        other.next_word = None
        return other

    def expect_ranks(self) -> None:
        """Reject a model that cannot rank words."""
        if self.next_word is None:
            raise AccordError(
                "expected a model of words, got one of subwords: it lists no words, and cannot "
                "say which is the likeliest"
            )

    def read(
        self, sentences: Sequence[str], documents: Sequence[int] | None = None
    ) -> Iterator[ReadWords]:
        """All words of the sentences, so many sentences at a time.

        Neighbours with the same number in `documents` are read as one text.
        """
        for piece in pieces(documents, len(sentences), AT_ONCE):
            of_piece = documents[piece] if documents is not None else None
            yield self._read(sentences[piece], of_piece, piece.start)

    def read_text(self, text: str, context: str | None = None) -> ReadWords:
        """The words of one text and the ends of its sentences, where they stand in the text.

        `context` is that of `Scorer.score`.
        """
        split = split_texts([text])
        documents = split.text if self.scorer.in_context(context) and split.text else None
        words = self._read(split.sentences or [""], documents, 0)
        offset = np.array(split.start or [0])[words.sentence]
        return replace(words, start=words.start + offset, end=words.end + offset)

    def _read(
        self, sentences: Sequence[str], documents: Sequence[int] | None, first: int
    ) -> ReadWords:
        texts = list(tokens(sentences))
        cased = [self.scorer.cased(words) for words in texts]
        self._expect_known(cased, first)
        batch, text = self.scorer.encoded(cased, documents)
        log_p, spelled, expected = self._scored(batch, text)
        places = [
            place
            for sentence, words in zip(sentences, texts, strict=True)
            for place in (*spans(sentence, words), (len(sentence), len(sentence)))
        ]
        start, end = np.array(places).T
        return ReadWords(
            np.repeat(np.arange(first, first + len(texts)), batch.lengths),
            [text.forms[at] if at >= 0 else "" for at in text.positions],
            start,
            end,
            text.positions < 0,
            -log_p,
            spelled,
            expected,
        )

    def _scored(
        self, batch: Sentences, text: WrittenText
    ) -> tuple[np.ndarray, np.ndarray, Expected | None]:
        """log p of every word, which words were spelled, and what was expected: read once."""
        if self.next_word is None:
            return *self.scorer.score_encoded(batch, text), None
        spelling = self.scorer.spelling
        if spelling is None:
            expected = self.next_word.ask(batch)
            is_spelled = np.zeros(len(batch.ids), bool)
        else:
            expected = self.next_word.ask(batch, spelled_text(spelling, text))
            is_spelled = np.isin(batch.ids, self.next_word.unknown)
        check_finite("log p", expected.log_p)
        return expected.log_p, is_spelled, expected

    def _expect_known(self, texts: Sequence[Sequence[str]], first: int) -> None:
        """Reject words that a closed vocabulary lacks; the error names each with its sentence."""
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


def probabilities(reader: SentenceReader, words: ReadWords) -> pd.DataFrame:
    """A column for each value of the requested features, if there are any."""
    means = words.expected.means if words.expected else np.zeros((len(words.form), 0))
    return pd.DataFrame(means, columns=reader.features.names)


FEATURES = ("Number", "Gender", "pos")
NEXT = "…"


def expect(
    text: str,
    models: Scorer | Mapping[str, Scorer],
    features: Sequence[str] = FEATURES,
    context: str | None = None,
) -> pd.DataFrame:
    """The probability of features, such as P(Number=Plur | K), before each word of a text.

    A feature such as `Number` has a column for each value; with `none` they sum to one.
    `Number=Plur` has one column. The last row is the next word if the text ends in `…`, else the
    sentence end. If `models` maps names to models, each model has its own rows. `context` is that
    of `Scorer.score`.
    """
    beginning = without_gap(text)
    parts = []
    for name, scorer in by_name(models).items():
        reader = SentenceReader(scorer, features)
        words = reader.read_text(beginning, context)
        places = zip(words.start, words.end, strict=True)
        written = [beginning[start:end] or END for start, end in places]
        if beginning != text:
            written[-1] = NEXT
        rows = pd.DataFrame({"before": written, "start": words.start, "end": words.end})
        parts.append(rows.join(probabilities(reader, words)).assign(model=name))
    table = pd.concat(parts, ignore_index=True)
    name = table.pop("model")
    if not isinstance(models, Scorer):
        table.insert(0, "model", name)
    return table


def by_name(models: Scorer | Mapping[str, Scorer]) -> Mapping[str, Scorer]:
    return {"": models} if isinstance(models, Scorer) else models
