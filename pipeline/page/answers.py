"""The questions of the page and their answers, in JSON.

A question names a method of `AskedModel` (`ask`), a model, and the arguments of the method. One
thread computes the answers one after the other: the page is for one person at one machine.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from functools import cache, cached_property, lru_cache
from inspect import signature
from typing import TYPE_CHECKING, Any

from accord.errors import AccordError
from accord.lexicon.analysis import feature_names
from accord.models.common.registry import imported
from accord.models.common.schema import check_keys, checked
from accord.models.inference.interface import InferenceModel
from accord.pipeline.ask.explain import MEANING, Choice, Explainer, beginning_words
from accord.pipeline.ask.generate import ASKED, Generator
from accord.pipeline.ask.provenance import VERSION, citation, weights_of
from accord.pipeline.ask.scorer import BITS, FEATURES, POS, Reader, Scorer, tokens, without_gap
from accord.pipeline.base.artefact import read_json
from accord.pipeline.base.names import CONFIG, END, END_ID, NOT_TOP, is_unknown

if TYPE_CHECKING:
    import pandas as pd

Answer = dict[str, Any]
Names = tuple[str, ...]
LONGEST = 1000  # words of a text: some seconds of the bundled model
MOST_LETTERS = 20_000  # characters of a text
LIKELIEST, SENTENCES = 12, 5  # words and sentences that are shown
MOST_OTHERS = 20  # words that one is compared with
KEPT = 4  # choices of features that are switched off, held ready: each takes 56 MB of French
# Imported for the first check and the first card, which need more than all other answers.
CORRECTIONS = "accord.pipeline.ask.correct:corrections"
DESCRIBE, CARD = "accord.pipeline.model.export:describe", "accord.pipeline.model.export:card"
QUESTIONS = ("read", "expect", "place", "readings", "check", "write", "about", "card")


class Models:
    """The models of the page by name, each loaded at its first question."""

    def __init__(self, load: Mapping[str, Callable[[], Scorer]]):
        self.names = list(load)
        self._model = cache(lambda name: AskedModel(load[name]()))
        self._worker = ThreadPoolExecutor(1)

    def answer(self, question: Any) -> Answer:
        """Return the answer to a question in JSON; an error names its fault."""
        ask, model, arguments = self._checked(question)
        return self._worker.submit(lambda: getattr(self._model(model), ask)(**arguments)).result()

    def load_first(self) -> None:
        """Load the first model, or raise the reason why it cannot be loaded."""
        self.answer({"ask": "read", "model": self.names[0], "text": ""})

    def prepare_first(self) -> None:
        """Read the tables of the first explanation in advance; questions are answered meanwhile."""
        self._model(self.names[0]).prepare()

    def _checked(self, question: Any) -> tuple[str, str, dict[str, Any]]:
        """Return the method, the model and the arguments of a question."""
        keys = dict(question) if isinstance(question, dict) else {}
        ask = keys.pop("ask", None)
        if not isinstance(ask, str) or ask not in QUESTIONS:
            raise AccordError(f"ask: expected one of {', '.join(QUESTIONS)}; got {ask!r:.80}")
        _, *parameters = signature(getattr(AskedModel, ask)).parameters.values()
        kinds = {"model": str} | {p.name: p.annotation for p in parameters}
        required = ["model", *(p.name for p in parameters if p.default is p.empty)]
        check_keys(keys, kinds, ask, "key")
        if lacking := [name for name in required if name not in keys]:
            raise AccordError(f"{ask}: expected {lacking[0]}, found none")
        arguments = {name: checked(kinds[name], keys[name], f"{ask}.{name}") for name in keys}
        model = arguments.pop("model")
        if model not in self.names:
            raise AccordError(
                f"expected one of the models {', '.join(self.names)}; got {model!r:.80}"
            )
        return ask, model, arguments


class AskedModel:
    """Answers about one model. A model that is not log-linear explains nothing.

    `off` names families of features that are switched off; `context` is that of `Scorer.score`, by
    default the one that the model was trained for.
    """

    def __init__(self, scorer: Scorer):
        self.scorer = scorer.for_many()
        self.over_words = isinstance(scorer.model, InferenceModel)
        self.is_sum = self.over_words and scorer.model.is_sum
        self._switched = lru_cache(KEPT)(self._switch_off)

    def prepare(self) -> None:
        """Read the tables for the first unknown word, curves and explanation."""
        if self.over_words and self.scorer.is_open:
            self.scorer.id_of("aaaa")
        if self.over_words:
            _ = self._expectant
        if self.is_sum:
            _ = self._explainer, self.scorer.parts.readings

    def about(self) -> Answer:
        """Return the abilities of this model."""
        return {
            "families": families_of(self._explainer.features.names) if self.is_sum else [],
            "explained": self.is_sum,
            "expects": self.over_words,
            "documents": self.scorer.reads_documents,
        }

    def card(self) -> Answer:
        """Return the model's texts, limits, licence and citation, from its own card."""
        trained = self.scorer.trained
        facts = {
            "version": VERSION,
            "parameters": getattr(self.scorer.model, "parameter_count", lambda: None)(),
            "words": len(self.scorer.vocabulary.known) if self.over_words else None,
            "weights": weights_of(self.scorer),
            "cite": citation(self.scorer),
        }
        if trained and trained.is_exported:
            about, text = read_json(trained.folder / CONFIG), trained.folder / "README.md"
            card = text.read_text(encoding="utf-8") if text.is_file() else ""
        elif trained and "evaluate" in trained.folders:  # of a run: as its export would have
            about = imported(DESCRIBE)(trained, trained.name)
            card = imported(CARD)(about)
        else:
            return facts
        kept = {name: about.get(name, []) for name in ("corpora", "lexicons")}
        return {**facts, **kept, "card": card}

    def read(self, text: str, off: Names = (), context: str = "") -> Answer:
        """Return the surprisal of each word and sentence end, and where the sentences are.

        If the text ends in a gap, or is empty, its last word is the next word.
        """
        beginning = _short_enough(text)
        words = Reader(self._without(off)).read_text(beginning, context or None)
        columns = (words.is_end, words.start, words.end, words.nats, words.spelled)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return {
            "words": [
                {
                    "form": "" if is_end else beginning[start:end],
                    "start": start,
                    "end": end,
                    "bits": finite(nats * BITS),
                    "spelled": spelled,
                }
                for is_end, start, end, nats, spelled in rows
            ],
            "sentences": [
                (int(words.start[at.start]), int(words.end[at.stop - 1]))
                for at in words.by_sentence()
                if at.stop - at.start > 1
            ],
            "gap": beginning != text or len(words.form) == 1,
        }

    def expect(self, text: str, off: Names = (), context: str = "") -> Answer:
        """Return entropy, rank, parts of surprisal and the probabilities of features."""
        if not self.over_words:
            return {}
        reader = self._expectant.by(self._without(off))
        words = reader.read_text(_short_enough(text), context or None)
        expected = words.expected
        values: dict[str, dict[str, list[float]]] = {}
        for name, column in zip(reader.values, expected.means.T, strict=True):
            feature, _, value = name.partition("=")
            values.setdefault(feature, {})[value] = column.tolist()
        return {
            "entropy": [finite(nats * BITS) for nats in expected.entropy],
            "rank": expected.rank.tolist(),
            "parts": (words.parts * BITS).tolist(),
            "values": values,
        }

    def place(
        self, text: str, at: int, others: Names = (), off: Names = (), context: str = ""
    ) -> Answer:
        """Return why the word in a place, and others there, have their probabilities.

        `at` is the number of the word, from 0. A gap has no word of its own.
        """
        self._expect_a_sum()
        if len(others) > MOST_OTHERS:
            raise AccordError(f"expected at most {MOST_OTHERS} other words, got {len(others)}")
        beginning = _short_enough(text)
        words = beginning_words(self.scorer, beginning)
        if not 0 <= at <= len(words):
            raise AccordError(f"expected a place from 0 to {len(words)}, got {at}")
        is_gap = at == len(words) and (beginning != text or not words)
        queried = [] if is_gap else [[*words, END][at]]
        queried = list(dict.fromkeys([*queried, *self.scorer.single_words(others)]))
        explainer = self._explainer.by(self._without(off), context or None)
        place = explainer.explain_next(words[:at], queried, 2 * LIKELIEST)
        known = [choice for choice in place.likeliest if not is_unknown(choice.word)]
        likeliest = (known or place.likeliest)[:LIKELIEST]
        return {
            "asked": [_choice(choice) for choice in place.queried],
            "best": _choice(likeliest[0]),
            "likeliest": [{"word": choice.word, "p": choice.probability} for choice in likeliest],
        }

    def readings(self, words: Names) -> Answer:
        """Return the analyses of words, the likeliest first, each with its share of its word."""
        self._expect_a_sum()
        answers = {}
        for word in words[: MOST_OTHERS + 2]:
            number = self.scorer.id_of(word)
            # No lexicon knows a sentence end, but a guesser guesses.
            readings = [] if number == END_ID else self.scorer.parts.readings.of_word(number)
            total = sum(reading.weight for reading in readings)
            answers[word] = [
                {
                    "lemma": reading.lemma,
                    "upos": reading.upos,
                    "feats": [pair for pair in reading.feats.split("|") if pair],
                    "share": reading.weight / total,
                    "source": reading.source,
                }
                for reading in sorted(readings, key=lambda reading: -reading.weight)
            ]
        return {"readings": answers}

    def check(self, text: str) -> Answer:
        """Return the suspected errors of a sentence."""
        corrections = imported(CORRECTIONS)(self.scorer, _short_enough(text))
        return {
            "suggestions": [
                {
                    "word": correction.wrong,
                    "suggestion": correction.right,
                    "start": correction.start,
                    "end": correction.end,
                    "gain": correction.bits,
                    "reason": correction.reason,
                    "why": correction.reasons,
                }
                for correction in corrections
            ]
        }

    def write(
        self, start: str, constraints: Names = (), seed: int = 1, off: Names = (), context: str = ""
    ) -> Answer:
        """Return new sentences after a text."""
        self._expect_a_sum()
        analyses = self._analyses if constraints else None
        generator = Generator(
            *(self._without(off), _short_enough(start), constraints),
            analyses=analyses,
            context=context or None,
        )
        return {
            "sentences": [
                {
                    "text": new.text,
                    "bits": -new.log_p * BITS,
                    "ended": new.ended,
                    "words": [{"form": word.form, "features": word.features} for word in new.words],
                }
                for new in generator.sample(SENTENCES, seed=seed)
            ]
        }

    @cached_property
    def _expectant(self) -> Reader:
        """Return the reader that follows the features which the page draws."""
        feats = self.scorer.parts.readings.table(["feats"])["feats"].cat.categories
        known = {POS, *feature_names(feats)}
        return Reader(self.scorer, [name for name in FEATURES if name in known], split=True)

    @cached_property
    def _explainer(self) -> Explainer:
        return Explainer(self.scorer)

    @cached_property
    def _analyses(self) -> "pd.DataFrame":
        """Return the analyses of all words, for constraints."""
        return self.scorer.parts.readings.table(ASKED)

    def _without(self, off: Iterable[str]) -> Scorer:
        """Return the scorer without the features of some families in its prediction."""
        return self._switched(frozenset(off)) if off else self.scorer

    def _switch_off(self, off: frozenset[str]) -> Scorer:
        """Return the scorer without these families; reject a family without features."""
        self._expect_a_sum()
        names = self._explainer.features.names
        if unknown := sorted(off.difference(known := families_of(names))):
            raise AccordError(
                f"expected features of {', '.join(known)} to switch off; got {unknown[0]:.80}"
            )
        numbers = [number for number, name in enumerate(names) if families(name) & off]
        scorer = copy(self.scorer)
        scorer.model = scorer.model.switched_off(numbers)
        return scorer

    def _expect_a_sum(self) -> None:
        if not self.is_sum:
            raise AccordError("expected a log-linear model, which has terms of features")


def _short_enough(text: str) -> str:
    """Return a text without its gap; reject one that takes too long."""
    if len(text) > MOST_LETTERS:
        raise AccordError(f"expected at most {MOST_LETTERS:,} characters, got {len(text):,}")
    beginning = without_gap(text)
    (words,) = tokens([beginning])
    if len(words) > LONGEST:
        raise AccordError(f"expected at most {LONGEST:,} words, got {len(words):,}")
    return beginning


CROSSED = re.compile(r"×(?=[A-Za-z]+=)")  # no word's own ×


@cache  # as thousands of features are looked up whenever a family is switched off
def families(feature: str) -> frozenset[str]:
    """Return the families of a feature: several of a crossed one."""
    if feature == NOT_TOP:
        return frozenset(["form"])
    if feature.startswith("vector["):
        return frozenset([MEANING])
    return frozenset(part.partition("=")[0] for part in CROSSED.split(feature))


def families_of(names: Iterable[str]) -> list[str]:
    """Return every family, in the order in which features name them."""
    return list(dict.fromkeys(family for name in names for family in sorted(families(name))))


def _choice(choice: Choice) -> Answer:
    """Return a word with its terms in bits: log2_p = background + Σ terms − log2_z + spelling."""
    return {
        "word": choice.word,
        "p": choice.probability,
        "log2_p": finite(choice.log_p * BITS),
        "background": finite(choice.background * BITS),
        "terms": [
            {"feature": name, "families": sorted(families(name)), "bits": nats * BITS}
            for name, nats in ((term.feature, term.nats) for term in choice.terms)
        ],
        "spelling": finite(choice.spelling * BITS),
        "log2_z": choice.log_z * BITS,
        "spelled": not choice.is_known,
    }


def finite(number: float) -> float | None:
    """Return a number for JSON; None if it is infinite."""
    return float(number) if math.isfinite(number) else None
