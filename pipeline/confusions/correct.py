"""A checker of agreement and homophones: which other word would make a sentence likelier?

    gain = log p(the sentence with the other word) − log p(the sentence as it is)

Candidates are the words that sound the same and the forms of the same word with another gender,
number or person. The best repair is made first and the sentence is asked again, because a wrong
word makes its neighbours look wrong.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from accord.lexicon.dictionaries.lexique import Homophones
from accord.models.outputs.log_linear import LogLinear
from accord.pipeline.confusions.paradigms import KnownParadigms
from accord.pipeline.inference.explain import Choice, Explainer, label
from accord.pipeline.inference.scorer import Scorer

AT_ONCE = 4000  # sentences that are scored together
HERE, AFTERWARDS = "the word itself", "the words after it"
Reasons = dict[str, float]  # what gave how many nats; they sum to the gain


@dataclass(frozen=True)
class Suggestion:
    """Another word in a place of a sentence, and by how many nats the sentence gains from it."""

    place: int
    word: str
    other: str
    gain: float
    here: float  # what the word itself gains; the rest is that of the words after it

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
        """What a word may have been meant to be; only words that the model knows."""
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
        rest = suggestion.gain - sum(here.values())
        parts = {**here, AFTERWARDS: rest}
        return dict(sorted(parts.items(), key=lambda part: -abs(part[1])))

    @cached_property
    def _explainer(self) -> Explainer | None:
        """None for a model whose score is no sum over features."""
        output = getattr(self.scorer.model, "output", None)
        is_sum = isinstance(output, LogLinear) and self.scorer.speller is None
        return Explainer(self.scorer) if is_sum else None


def replaced(words: Sequence[str], place: int, other: str) -> list[str]:
    return [*words[:place], other, *words[place + 1 :]]


def differences(word: Choice, other: Choice) -> Reasons:
    """What the terms of another word in the same place give more than those of a word.

    A feature that the other word has not, `Number=Plur`, counts as `not Number=Plur`.
    """
    terms = [
        {"background": each.background, "spelling": each.spelling}
        | {label(each, term): term.nats for term in each.terms}
        for each in (word, other)
    ]
    had, has = terms
    lost = {f"not {name}": -nats for name, nats in had.items() if name not in has}
    gains = lost | {name: nats - had.get(name, 0.0) for name, nats in has.items()}
    return {name: gain for name, gain in gains.items() if gain}
