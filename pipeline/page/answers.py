"""The page's view of a model: readings, families of features."""

import math
import re
import threading
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import pandas as pd

from accord.pipeline.artefacts.names import END, END_ID, NOT_TOP
from accord.pipeline.inference.context import split_texts
from accord.pipeline.inference.expectations import FEATURES, POS, ReadWords, SentenceReader
from accord.pipeline.inference.explain import Choice, Explainer, beginning_words, without_gap
from accord.pipeline.inference.generate import Generator
from accord.pipeline.inference.scorer import Scorer

CROSSED = re.compile(r"×(?=[A-Za-z]+=)")  # no word's own ×
MEANING = "meaning"  # the dimensions of a vector


def families(feature: str) -> set[str]:
    """The families of a feature: several of one that is crossed."""
    if feature == NOT_TOP:
        return {"form"}
    if feature.startswith("vector["):
        return {MEANING}
    return {part.partition("=")[0] for part in CROSSED.split(feature)}


def members(names: Sequence[str], off: Iterable[str]) -> list[int]:
    """The numbers of all features of some families; a family that no feature has is refused."""
    off = set(off)
    known = all_families(names)
    if unknown := sorted(off.difference(known)):
        raise ValueError(
            f"expected features of {', '.join(known)} to switch off; got {unknown[0]:.80}"
        )
    return [number for number, name in enumerate(names) if families(name) & off]


def all_families(names: Iterable[str]) -> list[str]:
    """Every family, in the order in which features name them."""
    return list(dict.fromkeys(each for name in names for each in sorted(families(name))))


COLUMNS = ["word", "lemma", "upos", "feats", "weight", "source"]


@dataclass(frozen=True)
class WordReading:
    lemma: str
    upos: str
    feats: tuple[str, ...]
    share: float  # of the word's readings
    source: str  # the lexicon

    def has(self, feature: str) -> bool:
        """Whether this reading gives the word a feature, all parts of it if it is crossed."""
        own = {f"pos={self.upos}", f"lemma={self.lemma}", f"source={self.source}", *self.feats}
        return own.issuperset(CROSSED.split(feature))


class WordReadings:
    """The analyses of every known word, and of each class of unknown words."""

    def __init__(self, read: Callable[[Sequence[str]], pd.DataFrame]):
        """`read` gives columns of the analyses, by rising words."""
        self.read = read
        self._one_at_a_time = threading.Lock()

    def table(self) -> pd.DataFrame:
        """All analyses, read at the first call, which takes seconds; other calls wait."""
        with self._one_at_a_time:
            return self._table

    @cached_property
    def _table(self) -> pd.DataFrame:
        table = self.read(COLUMNS)
        return table[table["word"] != END_ID]  # which no lexicon knows, whatever is guessed

    @cached_property
    def words(self) -> np.ndarray:
        return self.table()["word"].to_numpy()  # ascending

    def of(self, word: int) -> Sequence[WordReading]:
        """Those of a word, the likeliest first."""
        first, end = np.searchsorted(self.words, [word, word + 1])
        rows = self.table().iloc[first:end].sort_values("weight", ascending=False, kind="stable")
        total = rows["weight"].sum()
        return [
            WordReading(row.lemma, row.upos, _parts(row.feats), row.weight / total, row.source)
            for row in rows.itertuples()
        ]

    def has(self, feature: str) -> bool:
        """Whether any reading has a value of a feature such as `Gender`."""
        return any(
            part.startswith(f"{feature}=") for feats in self._distinct for part in _parts(feats)
        )

    @cached_property
    def _distinct(self) -> list[str]:
        """Every combination of features; read alone, before any reading is asked for."""
        return self.read(["feats"])["feats"].cat.categories.tolist()


def _parts(feats: str) -> tuple[str, ...]:
    return tuple(part for part in feats.split("|") if part)


BITS = 1 / math.log(2)  # in a nat
LIKELIEST, SENTENCES = 12, 5  # so many words and sentences are shown
FOLLOWED = 1000  # words of a text along which curves and entropy are shown, while one types
LONGEST = 20_000  # words of a text that is read at all
MOST_OTHERS = 20  # words that one is compared with
KEPT = 8  # choices of features that are switched off, held ready
Answer = dict[str, Any]


class AskedModel:
    """Answers for JSON. A model that is not log-linear answers only `read`."""

    def __init__(self, scorer: Scorer):
        self.scorer = scorer
        self.readings = WordReadings(scorer.parts.analyses)
        self.over_words = scorer.speller is None
        followed = [each for each in FEATURES if each == POS or self.readings.has(each)]
        self.reader = SentenceReader(scorer, followed if self.over_words else ())
        is_sum = self.over_words and scorer.model.is_sum
        self.explainer = Explainer(scorer) if is_sum else None
        self.without = lru_cache(KEPT)(self._without)

    @cached_property
    def families(self) -> list[str]:
        """The families of features that can be switched off."""
        return all_families(self.explainer.features.names) if self.explainer else []

    def read(self, text: str, context: str | None = None) -> Answer:
        """Each word and sentence end of a text, with the expectations before it."""
        beginning, written = without_gap(text), self._words(text)
        is_long = len(written) > FOLLOWED
        reader = self.reader.of_surprisal() if is_long else self.reader
        words = reader.read_text(beginning, context)
        return {
            "words": [_word(words, place, beginning) for place in range(len(words.form))],
            "values": self._values(words) if words.expected else {},
            "gap": beginning != text or not written,  # what comes first is asked for then
            "followed": FOLLOWED if is_long and self.over_words else None,
        }

    def place(
        self, text: str, at: int, others: Sequence[str], context: str | None = None
    ) -> Answer:
        """Why the word in a place of a text, and others there, have their probabilities."""
        self._expect_a_sum()
        if len(others) > MOST_OTHERS:
            raise ValueError(f"expected at most {MOST_OTHERS} words beside it, got {len(others)}")
        words = self._words(text)
        if not 0 <= at <= len(words):
            raise ValueError(f"expected a place from 0 to {len(words)}, got {at}")
        asked = list(dict.fromkeys([[*words, END][at], *self.scorer.each_a_word(others)]))
        place = self.explainer.reading(context).after(words[:at], asked, LIKELIEST)
        return {
            "asked": [self._choice(each) for each in place.asked],
            "likeliest": [{"word": each.word, "p": each.probability} for each in place.likeliest],
        }

    def write(self, start: str, constraints: Sequence[str], seed: int) -> Answer:
        """New sentences after a text; the model knows only the last sentence of it."""
        self._expect_a_sum()
        self._words(start)  # or too many
        first = (split_texts([start]).start or [0])[-1]
        before, last = start[:first], start[first:]
        generator = Generator(self.scorer, last, constraints, analyses=self.readings.table())
        sentences = generator.sample(SENTENCES, seed=seed)
        return {
            "sentences": [
                {
                    "text": before + each.text,
                    "bits": -each.log_p * BITS,
                    "ended": each.ended,
                    "words": [
                        {"form": word.form, "features": word.features} for word in each.words
                    ],
                }
                for each in sentences
            ]
        }

    def _without(self, off: frozenset[str]) -> "AskedModel":
        """The same model without the features of some families in its prediction."""
        if not off:
            return self
        self._expect_a_sum()
        scorer, other = copy(self.scorer), copy(self)
        scorer.model = scorer.model.switched_off(members(self.explainer.features.names, off))
        other.scorer, other.reader = scorer, self.reader.of(scorer)
        other.explainer = Explainer(scorer)
        return other

    def _expect_a_sum(self) -> None:
        if not self.explainer:
            raise ValueError(
                "expected a model whose score is a sum over features; this one has no such terms"
            )

    def _words(self, text: str) -> list[str]:
        """The words of a text, which may end in a gap, and the ends between its sentences.

        Too many are refused.
        """
        words = beginning_words(self.scorer, text)
        if len(words) > LONGEST:
            raise ValueError(f"expected at most {LONGEST:,} words, got {len(words):,}")
        return words

    def _values(self, words: ReadWords) -> dict[str, dict[str, list[float]]]:
        """The probability of each value of the features that are followed, before each word."""
        found: dict[str, dict[str, list[float]]] = {}
        for column, name in enumerate(self.reader.features.names):
            feature, _, value = name.partition("=")
            found.setdefault(feature, {})[value] = words.expected.means[:, column].tolist()
        return found

    def _choice(self, choice: Choice) -> Answer:
        readings = self.readings.of(self.scorer.id_of(choice.word))
        terms = [
            {
                **asdict(term),
                "nats": term.nats,
                "readings": [n for n, each in enumerate(readings) if each.has(term.feature)],
            }
            for term in choice.terms
        ]
        return {
            "word": choice.word,
            "p": choice.probability,
            "log_p": finite(choice.log_p),
            "background": finite(choice.background),
            "terms": terms,
            "spelling": finite(choice.spelling),
            "log_z": choice.log_z,
            "spelled": not choice.is_known,
            "readings": [asdict(each) for each in readings],
        }


def _word(words: ReadWords, place: int, text: str) -> Answer:
    start, end = int(words.start[place]), int(words.end[place])
    found = {
        "form": "" if words.is_end[place] else text[start:end],
        "start": start,
        "end": end,
        "bits": finite(words.nats[place] * BITS),
        "spelled": bool(words.spelled[place]),
    }
    if words.expected:
        found["rank"] = int(words.expected.rank[place])
        found["entropy"] = finite(words.expected.entropy[place] * BITS)
    return found


def finite(number: float) -> float | None:
    """A number for JSON; None if it is infinite."""
    return float(number) if math.isfinite(number) else None
