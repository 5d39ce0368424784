"""A checker of agreement and homophones.

    meant = argmax over sentences of log p(sentence) + log channel(text | sentence)

All errors of a sentence are repaired together, because a wrong word makes its neighbours look
wrong. Then every change is taken back by itself; it stays if the sentence scores less without it.
So the changes that are reported are the fewest that the score asks for.

    bits of a change = log₂ p(sentence) − log₂ p(sentence with this word as it was)
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

from accord.corpora.detokenise import spans
from accord.lexicon.homophones import Homophones
from accord.pipeline.ask.context import split_texts
from accord.pipeline.ask.explain import SPELLED, Choice, Explainer, label
from accord.pipeline.ask.scorer import Scorer, tokens
from accord.pipeline.correct.candidates import Candidates, Change, Prior, changed
from accord.pipeline.correct.search import Search

AFTERWARDS, WHOLE = "the words after it", "the word itself"
GRAMMAR = re.compile(r"(?:not )?[A-Z]\w*=\w+")  # Number=Plur, not Gender=Masc
IN_A_NAT = 1 / math.log(2)  # bits
Reasons = dict[str, float]  # reasons and their bits, which sum to those of the correction
Changes = tuple[Change, ...]


@dataclass(frozen=True)
class Correction:
    """A suggestion: `text[start:end]` is wrong, and the sentence is likelier with another word."""

    start: int
    end: int
    wrong: str
    right: str
    bits: float  # the corrected sentence is 2^bits times likelier than with the wrong word in it
    reason: str  # the feature that the form gets, else what speaks most for another word
    reasons: Reasons  # all of them, the largest first

    @property
    def odds(self) -> float:
        """How many times likelier the corrected sentence is."""
        return 2.0 ** min(self.bits, 1000.0)


def corrections(
    model: Scorer, text: str, prior: Prior | None = None, backward: Scorer | None = None
) -> list[Correction]:
    """The suspected errors of a text in their order, each with its suggestion and reasons.

    The text may have several sentences; each is read by itself. A `backward` model reads them from
    their last word and has half of the say.
    """
    corrector = _corrector(model, backward)
    split = split_texts([text])
    return [
        found
        for sentence, start in zip(split.sentences, split.start, strict=True)
        for found in corrector.corrections(sentence, prior or Prior(), start)
    ]


@lru_cache(maxsize=4)
def _corrector(model: Scorer, backward: Scorer | None) -> "Corrector":
    """The corrector of a model, which remembers the words that it has looked up."""
    return Corrector(model, backward=backward)


def corrected(text: str, found: Sequence[Correction]) -> str:
    """The text with all suggestions in it."""
    for each in sorted(found, key=lambda each: -each.start):
        text = text[: each.start] + each.right + text[each.end :]
    return text


class Kept(NamedTuple):
    """A change that stays, and how many nats of log p the sentence gains from it."""

    change: Change
    gain: float


class Corrector:
    """Asks a trained model about sentences.

    With a backward model, log p of a sentence is the mean of both models. The search goes from left
    to right by the forward one; the backward one ranks what it finds.
    """

    def __init__(
        self,
        scorer: Scorer,
        homophones: Homophones | None = None,
        backward: Scorer | None = None,
    ):
        self.scorer, self.backward = scorer.for_many(), backward
        self.candidates = Candidates(scorer, homophones)

    def meant(self, words: Sequence[str], prior: Prior) -> list[Kept]:
        """The fewest changes to a sentence, its words in the case of the text."""
        search = Search(self.scorer, self.scorer.cased(words), self.candidates.of(words), prior)
        found = search.best()
        log_p = {each.changes: each.log_p for each in found}
        changes = found[0].changes
        if self.backward is not None:
            changed_to = [self.scorer.cased(changed(words, each.changes)) for each in found]
            log_p = dict(zip(log_p, self.log_p(changed_to), strict=True))
            costs = {each: sum(map(prior.cost, each)) for each in log_p}
            changes = max(log_p, key=lambda each: log_p[each] - costs[each])
        while True:
            kept = self.gains(words, changes, log_p)
            # A change that adds nothing to the score goes, the worst first.
            adds = {each.change: each.gain - prior.cost(each.change) for each in kept}
            worst = min(changes, key=adds.__getitem__, default=None)
            if worst is None or adds[worst] > 0:
                return kept
            changes = without(changes, worst)

    def result(self, words: Sequence[str], prior: Prior) -> list[str]:
        """A sentence with its errors repaired."""
        return changed(words, [each.change for each in self.meant(words, prior)])

    def gains(
        self, words: Sequence[str], changes: Changes, log_p: dict[Changes, float]
    ) -> list[Kept]:
        """What each change adds to the others. `log_p` has sentences that were scored already."""
        needed = [changes, *(without(changes, each) for each in changes)]
        new = [each for each in needed if each not in log_p]
        texts = [self.scorer.cased(changed(words, each)) for each in new]
        log_p |= zip(new, self.log_p(texts), strict=True)
        return [Kept(each, log_p[changes] - log_p[without(changes, each)]) for each in changes]

    def log_p(self, texts: Sequence[Sequence[str]]) -> list[float]:
        """log p of sentences, in nats; of both models, their mean."""
        models = [self.scorer] if self.backward is None else [self.scorer, self.backward]
        of_models = [
            [sum(word.log_p for word in words) for words in model.score_words(texts)]
            for model in models
        ]
        return [sum(each) / len(models) for each in zip(*of_models, strict=True)]

    def corrections(self, sentence: str, prior: Prior, offset: int = 0) -> list[Correction]:
        """The corrections of one sentence; `offset` is where it begins in its text."""
        (words,) = tokens([sentence])
        kept, places = self.meant(words, prior), spans(sentence, words)
        found = []
        for each in kept:
            change = each.change
            start, end = places[change.start][0], places[change.end - 1][1]
            reasons = self.reasons(words, [other.change for other in kept], each)
            found.append(
                Correction(
                    start + offset,
                    end + offset,
                    sentence[start:end],
                    "".join(w if w.endswith("'") else f"{w} " for w in change.words).rstrip(),
                    sum(reasons.values()),
                    change.feature or main_reason(reasons),
                    reasons,
                )
            )
        return found

    def reasons(self, words: Sequence[str], changes: Sequence[Change], kept: Kept) -> Reasons:
        """The bits of a change as a sum, the largest parts first.

        Its parts are the terms that differ between the two words after the same beginning, and
        what the words after them gain. `changes` are all changes of the sentence.
        """
        change, parts = kept.change, {WHOLE: kept.gain}
        if self._explainer and len(change.words) == change.end - change.start == 1:
            earlier = [each for each in changes if each.start < change.start]
            longer = sum(len(each.words) - (each.end - each.start) for each in earlier)
            before = changed(words, earlier)[: change.start + longer]
            asked = self.scorer.cased([words[change.start], *change.words])
            here = differences(*self._explainer.after(self.scorer.cased(before), asked, 0).asked)
            parts = {**here, AFTERWARDS: kept.gain - sum(here.values())}
        in_bits = {name: nats * IN_A_NAT for name, nats in parts.items()}
        return dict(sorted(in_bits.items(), key=lambda part: -abs(part[1])))

    @cached_property
    def _explainer(self) -> Explainer | None:
        """None for a model whose score is no sum over features."""
        is_sum = getattr(self.scorer.model, "is_sum", False)
        return Explainer(self.scorer, "none") if is_sum else None


def main_reason(reasons: Reasons) -> str:
    """The feature of grammar that speaks most for a change, else whatever does."""
    speak = [name for name, bits in reasons.items() if bits > 0]
    return next(iter([*filter(GRAMMAR.fullmatch, speak), *speak]), AFTERWARDS)


def without(changes: Changes, one: Change) -> Changes:
    return tuple(each for each in changes if each != one)


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
