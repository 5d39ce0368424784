"""A checker of agreement and homophones.

    meant = argmax over sentences of log p(sentence) + log channel(text | sentence)

All errors of a sentence are repaired together, because a wrong word makes its neighbours look
wrong. Then every change is taken back by itself; it stays if the sentence scores less without it.
So the changes that are reported are the fewest that the score asks for.

    bits of a change = log₂ p(sentence) − log₂ p(sentence with this word as it was)
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

from accord.corpora.detokenise import spans
from accord.lexicon.dictionaries.homophones import Homophones
from accord.pipeline.correction.candidates import Candidates, Change, Prior, changed
from accord.pipeline.correction.search import Search
from accord.pipeline.inference.context import split_texts
from accord.pipeline.inference.explain import SPELLED, Choice, Explainer, label
from accord.pipeline.inference.scorer import Scorer, tokens

HERE, AFTERWARDS = "the word itself", "the words after it"
IN_A_NAT = 1 / math.log(2)  # bits
Reasons = dict[str, float]  # reasons and their bits, which sum to those of the correction


@dataclass(frozen=True)
class Correction:
    """A suggestion: `text[start:end]` is wrong, and the sentence is likelier with another word."""

    start: int
    end: int
    wrong: str
    right: str
    bits: float  # the corrected sentence is 2^bits times likelier than with the wrong word in it
    reason: str  # what speaks most for it: a feature, or the words after it
    reasons: Reasons  # all of them, the largest first

    @property
    def odds(self) -> float:
        """How many times likelier the corrected sentence is."""
        return 2.0 ** min(self.bits, 1000.0)


def corrections(model: Scorer, text: str, prior: Prior | None = None) -> list[Correction]:
    """The suspected errors of a text in their order, each with its suggestion and reasons.

    The text may have several sentences; each is read by itself.
    """
    corrector = _corrector(model)
    split = split_texts([text])
    return [
        found
        for sentence, start in zip(split.sentences, split.start, strict=True)
        for found in corrector.corrections(sentence, prior or Prior(), start)
    ]


@lru_cache(maxsize=4)
def _corrector(model: Scorer) -> "Corrector":
    """The corrector of a model, which remembers the words that it has looked up."""
    return Corrector(model)


def corrected(text: str, found: Sequence[Correction]) -> str:
    """The text with all suggestions in it."""
    for each in sorted(found, key=lambda each: -each.start):
        text = text[: each.start] + each.right + text[each.end :]
    return text


class Kept(NamedTuple):
    """A change that stays, and log p of each word with it and without it."""

    change: Change
    log_p: list[float]
    without: list[float]


class Corrector:
    """Asks a trained model about sentences."""

    def __init__(self, scorer: Scorer, homophones: Homophones | None = None):
        self.scorer = scorer
        self.candidates = Candidates(scorer, homophones)

    def meant(self, words: Sequence[str], prior: Prior) -> list[Kept]:
        """The fewest changes to a sentence, its words in the case of the text."""
        search = Search(self.scorer, self.scorer.cased(words), self.candidates.of(words), prior)
        changes = list(search.best()[0].changes)
        while True:
            kept = self._kept(words, changes)
            # What each change adds to the score; one that adds nothing goes, the worst first.
            gains = {
                each.change: sum(each.log_p) - sum(each.without) - prior.cost(each.change)
                for each in kept
            }
            worst = min(changes, key=gains.__getitem__, default=None)
            if worst is None or gains[worst] > 0:
                return kept
            changes.remove(worst)

    def result(self, words: Sequence[str], prior: Prior) -> list[str]:
        """A sentence with its errors repaired."""
        return changed(words, [each.change for each in self.meant(words, prior)])

    def _kept(self, words: Sequence[str], changes: Sequence[Change]) -> list[Kept]:
        without = [[each for each in changes if each != one] for one in changes]
        texts = [changed(words, each) for each in (changes, *without)]
        scored = self.scorer.score_words([*map(self.scorer.cased, texts)]) if changes else [[]]
        whole, *others = ([word.log_p for word in sentence] for sentence in scored)
        return [Kept(each, whole, log_p) for each, log_p in zip(changes, others, strict=True)]

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
                    next((name for name, bits in reasons.items() if bits > 0), AFTERWARDS),
                    reasons,
                )
            )
        return found

    def reasons(self, words: Sequence[str], changes: Sequence[Change], kept: Kept) -> Reasons:
        """The bits of a change as a sum, the largest parts first.

        Its parts are the terms that differ between the two words after the same beginning, and
        what the words after them gain.
        """
        change = kept.change
        earlier = [each for each in changes if each.start < change.start]
        before = changed(words, earlier)[: change.start + _longer(earlier)]
        gain = sum(kept.log_p) - sum(kept.without)
        at = len(before)
        is_one_word = len(change.words) == change.end - change.start == 1
        here = {}
        if is_one_word:
            here = {HERE: kept.log_p[at] - kept.without[at]}
            if self._explainer:
                asked = self.scorer.cased([words[change.start], *change.words])
                here = differences(
                    *self._explainer.after(self.scorer.cased(before), asked, 0).asked
                )
        parts = {**here, AFTERWARDS: gain - sum(here.values())}
        if not here:
            parts = {HERE: gain}
        in_bits = {name: nats * IN_A_NAT for name, nats in parts.items()}
        return dict(sorted(in_bits.items(), key=lambda part: -abs(part[1])))

    @cached_property
    def _explainer(self) -> Explainer | None:
        """None for a model whose score is no sum over features."""
        is_sum = getattr(self.scorer.model, "is_sum", False)
        return Explainer(self.scorer, "none") if is_sum else None


def _longer(changes: Sequence[Change]) -> int:
    """How many words a sentence gains by changes."""
    return sum(len(each.words) - (each.end - each.start) for each in changes)


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
