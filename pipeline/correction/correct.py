"""A checker of agreement and homophones, and how well it does.

    gain = log p(the sentence with the other word) − log p(the sentence as it is)

Candidates are the words that sound the same and the forms of the same word with another gender,
number or person. The best repair is made first and the sentence is asked again, because a wrong
word makes its neighbours look wrong.

Each pair of a suite is two texts: in the wrong one an error is to be repaired, in the right one
nothing is. A text's best suggestion counts if it gains more than the margin: it is right if it
makes the wrong sentence the right one, and a false alarm otherwise.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from accord.corpora.detokenise import spans
from accord.lexicon.dictionaries.lexique import Homophones
from accord.lexicon.paradigm import AGREEING, inflected
from accord.pipeline.artefacts.names import is_special
from accord.pipeline.dataset.vocabulary import Vocabulary
from accord.pipeline.evaluation.suites import Pair, words_of
from accord.pipeline.inference.explain import SPELLED, Choice, Explainer, label
from accord.pipeline.inference.scorer import Scorer, tokens

AGREEMENT = re.compile(rf"(?:^|\|)(?:{'|'.join(AGREEING)})=[^|]*")


class KnownParadigms:
    """The analyses that a model has of its known words, gathered by lemma."""

    COLUMNS = ("word", "lemma", "upos", "feats")

    def __init__(self, vocabulary: Vocabulary, rows: pd.DataFrame):
        """`rows` are the analyses, whose parts of speech and features are categories."""
        self.vocabulary = vocabulary
        rows = inflected(rows[rows["lemma"].astype(str) != ""])  # guesses know none
        # What is left of the features must be the same.
        rest = rows["feats"].cat.categories.map(lambda feats: AGREEMENT.sub("", feats).strip("|"))
        rest = rest.to_numpy()[rows["feats"].cat.codes]
        cell = pd.factorize(rows["lemma"].astype(str) + " " + rows["upos"] + " " + rest)[0]
        word = rows["word"].to_numpy()
        self._by_word = _Groups(word, cell)
        self._by_cell = _Groups(cell, word)

    def others(self, form: str) -> set[str]:
        """The forms that could replace this one if it does not agree."""
        number = self.vocabulary.known.get(form)
        if number is None:
            return set()
        found = {w for cell in self._by_word[number] for w in self._by_cell[cell]} - {number}
        others = (self.vocabulary.forms[word] for word in found)
        is_enclitic = form.startswith("-")  # -il stands where il cannot
        return {o for o in others if not is_special(o) and o.startswith("-") == is_enclitic}


class _Groups:
    """The values of each key."""

    def __init__(self, keys: np.ndarray, values: np.ndarray):
        order = np.argsort(keys, kind="stable")
        self._keys, self._values = keys[order], values[order]

    def __getitem__(self, key: int) -> list[int]:
        first, end = np.searchsorted(self._keys, [key, key + 1])
        return self._values[first:end].tolist()


AT_ONCE = 4000  # sentences that are scored together
HERE, AFTERWARDS = "the word itself", "the words after it"
Reasons = dict[str, float]  # reasons and their nats, which sum to the gain


@dataclass(frozen=True)
class Suggestion:
    """Another word in a place of a sentence, and by how many nats the sentence gains from it."""

    place: int
    word: str
    other: str
    gain: float
    here: float  # the gain of the word itself; the rest is that of the words after it

    def made(self, words: Sequence[str]) -> list[str]:
        """The sentence with the suggestion in it."""
        return replaced(words, self.place, self.other)


class Corrector:
    """Asks a trained model about sentences, which are words in the case of the text."""

    def __init__(self, scorer: Scorer, homophones: Homophones):
        self.scorer = scorer
        self.homophones = homophones
        analyses = scorer.parts.analyses(KnownParadigms.COLUMNS)
        self.paradigms = KnownParadigms(scorer.vocabulary, analyses)

    def candidates(self, word: str) -> list[str]:
        """The words that may have been meant; only words that the model knows."""
        known = (each for each in self.homophones.of(word) if each in self.scorer.vocabulary.known)
        return sorted({*known, *self.paradigms.others(word)})

    def best(self, sentences: Sequence[Sequence[str]]) -> list[Suggestion | None]:
        """For each sentence the suggestion that gains most; none where no word has candidates.

        Words with a capital inside a sentence may be names, and stay.
        """
        asked = [*self._asked(sentences)]
        found: list[Suggestion | None] = [None] * len(sentences)
        for start in range(0, len(asked), AT_ONCE):
            for number, suggestion in self._scored(sentences, asked[start : start + AT_ONCE]):
                best = found[number]
                if best is None or suggestion.gain > best.gain:
                    found[number] = suggestion
        return found

    def _asked(self, sentences: Sequence[Sequence[str]]) -> Iterator[tuple[int, int, str]]:
        for number, words in enumerate(sentences):
            for place, word in enumerate(words):
                if place == 0 or word == word.lower():
                    for other in self.candidates(word.lower()):
                        yield number, place, other.capitalize() if word[:1].isupper() else other

    def _scored(
        self, sentences: Sequence[Sequence[str]], asked: Sequence[tuple[int, int, str]]
    ) -> Iterator[tuple[int, Suggestion]]:
        numbers = list(dict.fromkeys(number for number, _, _ in asked))
        changed = [replaced(sentences[number], place, other) for number, place, other in asked]
        texts = [*(sentences[number] for number in numbers), *changed]
        scored = self.scorer.score_words([*map(self.scorer.cased, texts)])
        log_p = [[word.log_p for word in words] for words in scored]
        before = dict(zip(numbers, log_p, strict=False))
        for (number, place, other), after in zip(asked, log_p[len(numbers) :], strict=True):
            gain = sum(after) - sum(before[number])
            here = after[place] - before[number][place]
            yield number, Suggestion(place, sentences[number][place], other, gain, here)

    def corrections(self, words: Sequence[str], margin: float) -> list[tuple[Suggestion, Reasons]]:
        """Suggestions that gain more than the margin, the best first, each with its reasons.

        No place is changed twice.
        """
        found: list[tuple[Suggestion, Reasons]] = []
        while (best := self.best([words])[0]) and best.gain > margin:
            if best.place in {made.place for made, _ in found}:
                break
            found.append((best, self.reasons(words, best)))
            words = best.made(words)
        return found

    def reasons(self, words: Sequence[str], suggestion: Suggestion) -> Reasons:
        """The gain as a sum, the largest parts first: terms that differ, and the words after it."""
        here = {HERE: suggestion.here}
        if self._explainer:
            before = self.scorer.cased(words[: suggestion.place])
            asked = self.scorer.cased([suggestion.word, suggestion.other])
            here = differences(*self._explainer.after(before, asked, 1).asked)
        parts = {**here, AFTERWARDS: suggestion.gain - suggestion.here}
        return dict(sorted(parts.items(), key=lambda part: -abs(part[1])))

    @cached_property
    def _explainer(self) -> Explainer | None:
        """None for a model whose score is no sum over features."""
        is_sum = getattr(self.scorer.model, "is_sum", False)
        return Explainer(self.scorer) if is_sum else None


def replaced(words: Sequence[str], place: int, other: str) -> list[str]:
    return [*words[:place], other, *words[place + 1 :]]


def differences(word: Choice, other: Choice) -> Reasons:
    """The differences between the terms of another word at the same position and those of a word.

    A feature that the other word has not, `Number=Plur`, counts as `not Number=Plur`.
    """
    terms = [
        {"background": each.background, SPELLED: each.spelling}
        | {label(each, term): term.nats for term in each.terms}
        for each in (word, other)
    ]
    had, has = terms
    lost = {f"not {name}": -nats for name, nats in had.items() if name not in has}
    gains = lost | {name: nats - had.get(name, 0.0) for name, nats in has.items()}
    return {name: gain for name, gain in gains.items() if gain}


def rows(corrector: Corrector, sentence: str, margin: float) -> list[dict[str, Any]]:
    """Each suggestion for JSON: `sentence[start:end]` is the word; reasons sum to the gain."""
    (words,) = tokens([sentence])
    places = spans(sentence, words)
    return [
        {
            "word": each.word,
            "suggestion": each.other,
            "start": places[each.place][0],
            "end": places[each.place][1],
            "gain": each.gain,
            "why": reasons,
        }
        for each, reasons in corrector.corrections(words, margin)
    ]


BETA = 0.5  # a checker's false alarms weigh more than what it misses


@dataclass(frozen=True, eq=False)
class JudgedCorrections:
    """The best suggestion of each text: what it gains (−inf for none), and whether it is right."""

    construction: np.ndarray  # of each pair
    wrong_gain: np.ndarray
    repaired: np.ndarray
    right_gain: np.ndarray

    @classmethod
    def of(cls, pairs: Sequence[Pair], corrector: Corrector) -> "JudgedCorrections":
        bad, good = ([words_of(getattr(each, side)) for each in pairs] for side in ("bad", "good"))
        found = corrector.best([*bad, *good])
        gains = np.array([each.gain if each else -np.inf for each in found])
        repairs = [
            bool(each) and each.made(words) == right
            for words, right, each in zip(bad, good, found[: len(bad)], strict=True)
        ]
        construction = np.array([each.construction for each in pairs])
        wrong, right = np.split(gains, 2)
        return cls(construction, wrong, np.array(repairs), right)

    def figures(self, margin: float, construction: str | None = None) -> dict[str, float]:
        """Precision, recall and F at a margin, of all pairs or of one construction."""
        chosen = self.construction == construction if construction else slice(None)
        wrong, right = self.wrong_gain[chosen] > margin, self.right_gain[chosen] > margin
        found = int((wrong & self.repaired[chosen]).sum())
        said, planted = int(wrong.sum() + right.sum()), len(wrong)
        f = (1 + BETA**2) * found / (said + BETA**2 * planted)
        return {
            "planted": planted,
            "precision": found / said if said else float("nan"),
            "recall": found / planted,
            "F0.5": f,
            "false alarms in right sentences": float(right.mean()),
        }

    def tuned(self) -> float:
        """The margin with the greatest F; it is one of the gains, or nothing."""
        gains = np.concatenate([self.wrong_gain, self.right_gain])
        margins = [0.0, *np.unique(gains[gains > 0])]
        return float(max(margins, key=lambda margin: self.figures(margin)["F0.5"]))

    def table(self, margin: float) -> pd.DataFrame:
        """A row for each construction, and one for all."""
        rows = {name: self.figures(margin, name) for name in np.unique(self.construction)}
        return pd.DataFrame.from_dict(rows | {"all": self.figures(margin)}, orient="index")


def readable(pairs: Sequence[Pair], scorer: Scorer) -> list[Pair]:
    """The pairs whose words a model knows; one of an open vocabulary reads them all."""
    if scorer.is_open:
        return list(pairs)
    knows = scorer.vocabulary.knows
    found = [
        each
        for each in pairs
        if all(knows(scorer.cased(words_of(text))) for text in (each.good, each.bad))
    ]
    if not found:
        raise ValueError("expected pairs of words that the model knows, found none")
    return found
