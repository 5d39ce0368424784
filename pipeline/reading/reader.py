"""A trained model reads sentences: a row for each word, and one for what may follow the last."""

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass

import numpy as np
import pandas as pd

from accord.corpora.detokenise import spans
from accord.models.network.next_word import Expected, NextWord
from accord.models.spelling.subwords import SubwordModel
from accord.pipeline.evaluation.measure import score
from accord.pipeline.inference.scorer import Scorer, tokens
from accord.pipeline.prepared.special_words import UNKNOWN_ID
from accord.pipeline.reading.feature_values import FeatureValues

AT_ONCE = 1000  # sentences read together


@dataclass(frozen=True)
class Words:
    """The words of some sentences and, after each sentence, its end, as columns of one length."""

    sentence: np.ndarray  # which of the sentences, from 0
    form: list[str]  # as the model reads it
    start: np.ndarray  # where it begins in the sentence as written
    end: np.ndarray
    is_end: np.ndarray
    nats: np.ndarray  # −log p
    spelled: np.ndarray
    expected: Expected | None  # nothing of a model of subwords, which lists no words


class Reader:
    """Reads sentences as a person types them and keeps where each word stood.

    `features` are followed: what `Expected.means` has columns for, named by `values`.
    """

    def __init__(self, scorer: Scorer, features: Sequence[str] = ()):
        self.scorer = scorer
        words = len(scorer.vocabulary.forms)
        self.features = FeatureValues(scorer.parts.analyses, words, features)
        unknown = range(UNKNOWN_ID, UNKNOWN_ID + len(scorer.vocabulary.unknown))
        self.next_word = None
        if features or not isinstance(scorer.model, SubwordModel):
            self.next_word = NextWord(scorer.model, self.features.shares, unknown)

    def of(self, scorer: Scorer) -> "Reader":
        """The same, of a model that differs in its weights alone."""
        other = copy(self)
        other.scorer = scorer
        if self.next_word:
            other.next_word = copy(self.next_word)
            other.next_word.model = scorer.model
        return other

    def of_surprisal(self) -> "Reader":
        """The same without what was expected, which costs most of the time of a long text."""
        other = copy(self)
        other.next_word = None
        return other

    def expect_ranks(self) -> None:
        """Refuse a model that cannot say which word is the likeliest."""
        if self.next_word is None:
            raise ValueError(
                "expected a model of words, got one of subwords: it lists no words, and cannot "
                "say which is the likeliest"
            )

    def read(self, sentences: Sequence[str]) -> Iterator[Words]:
        """All words of the sentences, so many sentences at a time."""
        for first in range(0, len(sentences), AT_ONCE):
            yield self._read(sentences[first : first + AT_ONCE], first)

    def _read(self, sentences: Sequence[str], first: int) -> Words:
        texts = list(tokens(sentences))
        cased = [self.scorer.cased(words) for words in texts]
        self._expect_known(cased, first)
        batch, text = self.scorer.encoded(cased)
        log_p, spelled = score(self.scorer.model, self.scorer.spelling, batch, text)
        places = [
            place
            for sentence, words in zip(sentences, texts, strict=True)
            for place in (*spans(sentence, words), (len(sentence), len(sentence)))
        ]
        start, end = np.array(places).T
        return Words(
            np.repeat(np.arange(first, first + len(texts)), batch.lengths),
            [text.forms[at] if at >= 0 else "" for at in text.positions],
            start,
            end,
            text.positions < 0,
            -log_p,
            spelled,
            self.next_word.ask(batch, log_p) if self.next_word else None,
        )

    def _expect_known(self, texts: Sequence[Sequence[str]], first: int) -> None:
        """Every word that a closed vocabulary lacks is named, with its sentence."""
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
            raise ValueError(
                f"expected words of this closed vocabulary; it does not know {', '.join(lacking)}"
            )


def probabilities(reader: Reader, words: Words) -> pd.DataFrame:
    """A column for each value of the features that are followed, none where none are."""
    means = words.expected.means if words.expected else np.zeros((len(words.form), 0))
    return pd.DataFrame(means, columns=reader.features.names)
