"""What the page asks of a model beside its surprisal: expectations, reasons, errors, its card."""

import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import asdict, dataclass
from functools import cache, cached_property, lru_cache

import pandas as pd

from accord.errors import AccordError
from accord.lexicon.analysis import feature_names
from accord.models.common.registry import imported
from accord.models.inference.interface import InferenceModel
from accord.models.inference.next_word import NextWord
from accord.pipeline.ask.expectations import FEATURES, POS, FeatureValues
from accord.pipeline.ask.explain import Choice, Explainer
from accord.pipeline.ask.generate import ASKED, Generator
from accord.pipeline.ask.provenance import VERSION, citation, weights_of
from accord.pipeline.ask.scorer import Scorer
from accord.pipeline.base.artefact import read_json
from accord.pipeline.base.names import CONFIG, END, END_ID, NOT_TOP, UNKNOWN_ID, is_unknown
from accord.pipeline.model.readings import Reading
from accord.pipeline.page.reading import (
    BITS,
    Answer,
    ContinuedModel,
    TextReader,
    beginning_of,
    finite,
    read_up_to,
    sentences_of,
    words_before,
)

CROSSED = re.compile(r"×(?=[A-Za-z]+=)")  # no word's own ×
MEANING = "meaning"  # the dimensions of a vector


@cache  # some ten thousand features are asked for at each family that is switched off
def families(feature: str) -> frozenset[str]:
    """The families of a feature: several of one that is crossed."""
    if feature == NOT_TOP:
        return frozenset(["form"])
    if feature.startswith("vector["):
        return frozenset([MEANING])
    return frozenset(part.partition("=")[0] for part in CROSSED.split(feature))


def members(names: Sequence[str], off: Iterable[str]) -> list[int]:
    """The numbers of all features of some families; a family that no feature has is refused."""
    off = set(off)
    known = all_families(names)
    if unknown := sorted(off.difference(known)):
        raise AccordError(
            f"expected features of {', '.join(known)} to switch off; got {unknown[0]:.80}"
        )
    return [number for number, name in enumerate(names) if families(name) & off]


def all_families(names: Iterable[str]) -> list[str]:
    """Every family, in the order in which features name them."""
    return list(dict.fromkeys(each for name in names for each in sorted(families(name))))


@dataclass(frozen=True)
class WordReading:
    """An analysis of a word, as the page shows it."""

    lemma: str
    upos: str
    feats: tuple[str, ...]
    share: float  # of the word's readings
    source: str  # the lexicon


def shown(readings: Sequence[Reading]) -> list[WordReading]:
    """The likeliest reading first, each with its share of all."""
    whole = sum(each.weight for each in readings)
    return [
        WordReading(
            each.lemma,
            each.upos,
            tuple(part for part in each.feats.split("|") if part),
            each.weight / whole,
            each.source,
        )
        for each in sorted(readings, key=lambda each: -each.weight)
    ]


LIKELIEST, SENTENCES = 12, 5  # so many words and sentences are shown
FOLLOWED = 1000  # words of a text along which curves and entropy are shown, while one types
MOST_OTHERS = 20  # words that one is compared with
CHECKED = 1000  # words of a text that are searched for errors
KEPT = 4  # choices of features that are switched off, held ready: each takes 56 MB of French
# Imported for the first check and the first card, which need more than all other answers.
CORRECTIONS = "accord.pipeline.correct.correct:corrections"
DESCRIBE, CARD = "accord.pipeline.model.export:describe", "accord.pipeline.model.card:card"


class AskedModel:
    """Answers for JSON, in parts. A model that is not log-linear explains nothing."""

    def __init__(self, scorer: Scorer):
        self.scorer = scorer
        self.over_words = isinstance(scorer.model, InferenceModel)
        self.reader = TextReader(scorer)
        is_sum = isinstance(scorer.model, InferenceModel) and scorer.model.is_sum
        self.explainer = Explainer(scorer) if is_sum else None
        self.without = lru_cache(KEPT)(self._without)
        self._whole = self  # with all features, which copies without some share their tables with
        self._one_at_a_time = threading.Lock()

    def prepare(self) -> None:
        """Read in advance what the first unknown word, curves and explanation need."""
        if self.over_words and self.scorer.is_open:
            self.scorer.id_of("aaaa")
        if self.over_words:
            _ = self.expectations
        if self.explainer:
            _ = self.scorer.parts.encoding.readings

    @property
    def expectations(self) -> tuple[list[str], NextWord]:
        """The values of features that are followed, and what asks the model about them."""
        with self._one_at_a_time:
            return self._whole._expectations

    @cached_property
    def _expectations(self) -> tuple[list[str], NextWord]:
        analyses, vocabulary = self.scorer.parts.analyses, self.scorer.vocabulary
        known = {POS, *feature_names(analyses(["feats"])["feats"].cat.categories)}
        followed = [each for each in FEATURES if each in known]
        features = FeatureValues(analyses, len(vocabulary.forms), followed)
        unknown = range(UNKNOWN_ID, UNKNOWN_ID + len(vocabulary.unknown))
        return features.names, NextWord(self.scorer.model, features.shares, unknown)

    @cached_property
    def _analyses(self) -> pd.DataFrame:
        """Those of all words, which constraints ask for."""
        return self.scorer.parts.analyses(ASKED)

    def about(self) -> Answer:
        """What the page offers of this model."""
        families = all_families(self.explainer.features.names) if self.explainer else []
        return {
            "families": families,
            "explained": self.explainer is not None,
            "expects": self.over_words,
            "documents": self.scorer.reads_documents,
        }

    def card(self) -> Answer:
        """What the model has read, its limits, its licence, how to cite it; from its own card."""
        found = self.scorer.trained
        facts = {
            "version": VERSION,
            "parameters": getattr(self.scorer.model, "parameter_count", lambda: None)(),
            "words": len(self.scorer.vocabulary.known) if self.over_words else None,
            "weights": weights_of(self.scorer),
            "cite": citation(self.scorer),
        }
        if found is None:
            return facts
        if found.is_in_one_folder:
            about, text = read_json(found.place / CONFIG), found.place / "README.md"
            card = text.read_text(encoding="utf-8") if text.is_file() else ""
        elif "evaluate" in found.folders:  # a model of a run: the card that an export would have
            about = imported(DESCRIBE)(found.folders, found.name)
            card = imported(CARD)(about)
        else:
            return facts
        kept = {name: about.get(name, []) for name in ("corpora", "lexicons")}
        return {**facts, **kept, "card": card}

    def expect(self, text: str, context: str | None = None) -> Iterator[Answer | None]:
        """What was expected before each word of a text that is not too long."""
        beginning = beginning_of(text)
        sentences = sentences_of(beginning)
        count = sum(len(each.words) + 1 for each in sentences)
        if not self.over_words or count > FOLLOWED + 1:
            yield {"followed": FOLLOWED if self.over_words else None}
            return
        names, next_word = self.expectations
        for part in self.reader.expect(sentences, context, next_word):
            values: dict[str, dict[str, list[float]]] = {}
            for name, column in zip(names, part.means.T, strict=True):
                feature, _, value = name.partition("=")
                values.setdefault(feature, {})[value] = column.tolist()
            yield {
                "entropy": [finite(nats * BITS) for nats in part.entropy],
                "rank": part.rank.tolist(),
                "values": values,
            }
            count -= len(part.rank)
            if count:
                yield None

    def place(
        self, text: str, at: int, others: Sequence[str], context: str | None = None
    ) -> Iterator[Answer | None]:
        """Why the word in a place of a text, and others there, have their probabilities.

        A gap has no word of its own.
        """
        explainer = self._expect_a_sum()
        if len(others) > MOST_OTHERS:
            raise AccordError(f"expected at most {MOST_OTHERS} words beside it, got {len(others)}")
        beginning = beginning_of(text)
        words = words_before(self.scorer, beginning)
        if not 0 <= at <= len(words):
            raise AccordError(f"expected a place from 0 to {len(words)}, got {at}")
        is_gap = at == len(words) and (beginning != text or not words)
        own = [] if is_gap else [[*words, END][at]]
        asked = list(dict.fromkeys([*own, *self.scorer.each_a_word(others)]))
        explainer = explainer.reading(context)
        bookmark, left = yield from read_up_to(self.scorer, words[:at], explainer.in_context)
        explainer.model = ContinuedModel(self.scorer.model, bookmark)
        place = explainer.after(left, asked, 2 * LIKELIEST)
        words_alone = [each for each in place.likeliest if not is_unknown(each.word)]
        likeliest = (words_alone or place.likeliest)[:LIKELIEST]
        yield {
            "asked": [_choice(each) for each in place.asked],
            "best": _choice(likeliest[0]),
            "likeliest": [{"word": each.word, "p": each.probability} for each in likeliest],
        }

    def readings_of(self, words: Sequence[str]) -> Answer:
        """What the lexicon says that words can be."""
        self._expect_a_sum()
        found = {}
        for word in words[: MOST_OTHERS + 2]:
            number = self.scorer.id_of(word)
            # No lexicon knows a sentence's end, whatever is guessed.
            of_word = (
                [] if number == END_ID else self.scorer.parts.encoding.readings.of_word(number)
            )
            found[word] = [asdict(each) for each in shown(of_word)]
        return {"readings": found}

    def check(self, text: str) -> Iterator[Answer | None]:
        """Suspected errors of a text, sentence by sentence."""
        count = 0
        for words, start, written in sentences_of(beginning_of(text)):
            if count:
                yield None
            count += len(words)
            if count > CHECKED:
                yield {"checked": CHECKED}
                return
            found = imported(CORRECTIONS)(self.scorer, written) if written else []
            yield {
                "read": start + len(written),
                "suggestions": [
                    {
                        "word": each.wrong,
                        "suggestion": each.right,
                        "start": start + each.start,
                        "end": start + each.end,
                        "gain": each.bits,
                        "reason": each.reason,
                        "why": each.reasons,
                    }
                    for each in found
                ],
            }

    def write(
        self, start: str, constraints: Sequence[str], seed: int, context: str | None = None
    ) -> Iterator[Answer | None]:
        """New sentences after a text. The sentences before the last are read in context or not."""
        self._expect_a_sum()
        *before, (_, first, last) = sentences_of(start)
        words = [word for each, _, _ in before for word in (*self.scorer.cased(each), END)]
        scorer = copy(self.scorer)
        if self.scorer.in_context(context) and words:
            bookmark, _ = yield from read_up_to(self.scorer, words, True, keep=0)
            scorer.model = ContinuedModel(self.scorer.model, bookmark)
        analyses = self._whole._analyses if constraints else None
        generator = Generator(scorer, last, constraints, analyses=analyses)
        yield {
            "sentences": [
                {
                    "text": start[:first] + each.text,
                    "bits": -each.log_p * BITS,
                    "ended": each.ended,
                    "words": [
                        {"form": word.form, "features": word.features} for word in each.words
                    ],
                }
                for each in generator.sample(SENTENCES, seed=seed)
            ]
        }

    def _without(self, off: frozenset[str]) -> "AskedModel":
        """The same model without the features of some families in its prediction."""
        if not off:
            return self
        explainer = self._expect_a_sum()
        scorer, other = copy(self.scorer), copy(self)
        scorer.model = scorer.model.switched_off(members(explainer.features.names, off))
        other.scorer = scorer
        other.reader = TextReader(scorer)
        other.explainer = Explainer(scorer)
        return other

    def _expect_a_sum(self) -> Explainer:
        if not self.explainer:
            raise AccordError(
                "expected a model whose score is a sum over features; this one has no such terms"
            )
        return self.explainer


def _choice(choice: Choice) -> Answer:
    """A word at a place, all terms in bits: log2_p = background + Σ terms − log2_z + spelling."""
    return {
        "word": choice.word,
        "p": choice.probability,
        "log2_p": finite(choice.log_p * BITS),
        "background": finite(choice.background * BITS),
        "terms": [
            {
                "feature": term.feature,
                "families": sorted(families(term.feature)),
                "bits": term.nats * BITS,
            }
            for term in choice.terms
        ],
        "spelling": finite(choice.spelling * BITS),
        "log2_z": choice.log_z * BITS,
        "spelled": not choice.is_known,
    }
