"""A checker of agreement and homophones.

    meant = argmax over sentences of log p(sentence) + log channel(text | sentence)

A beam search reads the text from left to right. At each word a hypothesis goes on with the word as
it is, or with a change; the best hypotheses are kept, and always the text as it is. So the result
never scores below the text.

All errors of a sentence are repaired together, because a wrong word makes its neighbours look
wrong. Then every change is taken back by itself; it stays if the sentence scores less without it.
So the reported changes are the fewest that the score asks for.

    bits of a change = log₂ p(sentence) − log₂ p(sentence with this word as it was)
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from accord.corpora.detokenise import spans
from accord.errors import AccordError
from accord.lexicon.homophones import Homophones
from accord.models.inference.generation import Beam
from accord.models.inference.interface import InferenceModel
from accord.pipeline.ask.explain import SPELLED, Choice, Explainer, label
from accord.pipeline.ask.scorer import Scorer
from accord.pipeline.ask.texts import split_texts, tokens
from accord.pipeline.base.names import END
from accord.pipeline.correct.candidates import Candidates, Change, Prior, changed

WIDTH = 12  # hypotheses that are kept at each word
BEHIND = 14.0  # nats behind the best, by which a hypothesis is given up
Changes = tuple[Change, ...]


class Meant(NamedTuple):
    """A sentence that may be meant: its changes, log p, and log p with the prior."""

    changes: Changes
    log_p: float
    score: float


class Step(NamedTuple):
    """A word of the text as it is, or a change of it, and the cost of that."""

    end: int  # of the words of the text that it stands for
    words: tuple[str, ...]  # as the model reads them
    change: Change | None
    cost: float


@dataclass
class Hypotheses:
    """Hypotheses of the same length in words, up to one word of the text."""

    beam: Beam
    changes: list[Changes]
    score: np.ndarray  # log p and prior

    def only(self, rows: Sequence[int]) -> "Hypotheses":
        chosen = np.array(rows, np.int64)
        return Hypotheses(
            self.beam.only(chosen), [self.changes[row] for row in rows], self.score[chosen]
        )


class Extension(NamedTuple):
    """A hypothesis and the step by which it goes on."""

    score: float
    log_p: float  # of the next word
    group: int
    row: int
    step: Step

    @property
    def order(self) -> tuple[float, int, int, tuple[str, ...]]:
        """Return a key that sorts the best first; ties do not depend on rounding."""
        return -self.score, self.group, self.row, self.step.words


class Search:
    """Searches one sentence: its words as the model reads them, and the changes at each."""

    def __init__(
        self,
        scorer: Scorer,
        words: Sequence[str],
        changes: Sequence[Sequence[Change]],
        prior: Prior,
        width: int = WIDTH,
    ):
        if not isinstance(scorer.model, InferenceModel):
            raise AccordError("expected a model of words, got one of subwords or n-grams of a file")
        self.scorer, self.model, self.width = scorer, scorer.model, width
        self.steps = [
            [
                Step(position + 1, (word,), None, 0.0),
                *(
                    Step(c.end, tuple(scorer.cased(c.words)), c, prior.cost(c))
                    for c in changes[position]
                ),
            ]
            for position, word in enumerate(words)
        ]
        forms = [*dict.fromkeys(w for steps in self.steps for s in steps for w in s.words)]
        self.ids = {form: scorer.id_of(form) for form in (END, *forms)}
        self.letters = dict(zip((END, *forms), scorer.letters([END, *forms]), strict=True))

    def best(self) -> list[Meant]:
        """Return the best sentences in order; the text itself is one of them."""
        reached: list[list[Hypotheses]] = [[] for _ in range(len(self.steps) + 1)]
        reached[0] = [Hypotheses(Beam.begin(self.model, [], 1), [()], np.zeros(1))]
        for position, steps in enumerate(self.steps):
            groups = self._kept(reached[position])
            reached[position] = []
            for extensions in self._extensions(groups, steps):
                for end, hypotheses in self._extended(groups, extensions):
                    reached[end].append(hypotheses)
        return self._ended(reached[-1])

    def _kept(self, groups: list[Hypotheses]) -> list[Hypotheses]:
        """Keep the best hypotheses at a word, of all groups, and the text as it is."""
        every = [
            (-float(score), number, row)
            for number, group in enumerate(groups)
            for row, score in enumerate(group.score)
        ]
        best = min(every)[0]
        kept = {key for key in sorted(every)[: self.width] if key[0] - best <= BEHIND}
        kept |= {key for key in every if not groups[key[1]].changes[key[2]]}
        rows = [[row for _, n, row in sorted(kept) if n == number] for number in range(len(groups))]
        return [group.only(of) for group, of in zip(groups, rows, strict=True) if of]

    def _extensions(
        self, groups: list[Hypotheses], steps: Sequence[Step]
    ) -> Iterator[list[Extension]]:
        """Yield the best extensions by one word for one, by two for one, by one for two.

        Their scores compare only among themselves, as they have read different parts of the text.
        """
        kinds: dict[tuple[int, int], list[Extension]] = {}
        for number, group in enumerate(groups):
            log_p = self._log_p(group.beam, [step.words[0] for step in steps])
            for column, step in enumerate(steps):
                kind = kinds.setdefault((step.end, len(step.words)), [])
                for row, nats in enumerate(log_p[:, column].tolist()):
                    score = float(group.score[row]) + nats - step.cost
                    kind.append(Extension(score, nats, number, row, step))
        for extensions in kinds.values():
            best = max(e.score for e in extensions)
            near = (e for e in extensions if e.score >= best - BEHIND)
            kept = sorted(near, key=lambda extension: extension.order)
            unchanged = [
                e for e in extensions if not (e.step.change or groups[e.group].changes[e.row])
            ]
            yield list(dict.fromkeys([*kept[: self.width], *unchanged]))

    def _log_p(self, beam: Beam, words: Sequence[str]) -> np.ndarray:
        """Return log p of words after each hypothesis, spelling included: (B × W)."""
        letters = np.array([self.letters[word] for word in words])
        ids = [self.ids[word] for word in words]
        return self.scorer.log_p_of_next(beam.h, beam.context, ids, letters)[0]

    def _extended(
        self, groups: list[Hypotheses], extensions: Sequence[Extension]
    ) -> Iterator[tuple[int, Hypotheses]]:
        """Yield the extended hypotheses with the word of the text that they have reached."""
        for number, group in enumerate(groups):
            chosen = [extension for extension in extensions if extension.group == number]
            if not chosen:
                continue
            score, nats, _, rows, steps = zip(*chosen, strict=True)
            first = np.array([self.ids[step.words[0]] for step in steps])
            beam = group.beam.extended(np.array(rows), first, np.array(nats))
            if len(steps[0].words) == 2:
                second = [step.words[1] for step in steps]
                every = np.arange(len(steps))
                log_p = self._log_p(beam, second)[every, every]
                beam = beam.extended(every, np.array([self.ids[w] for w in second]), log_p)
                score = np.array(score) + log_p
            changes = [
                group.changes[row] + ((step.change,) if step.change else ())
                for row, step in zip(rows, steps, strict=True)
            ]
            yield steps[0].end, Hypotheses(beam, changes, np.array(score))

    def _ended(self, groups: list[Hypotheses]) -> list[Meant]:
        """Return whole sentences, the best first."""
        sentences = []
        for group in self._kept(groups):
            of_end = self._log_p(group.beam, [END])[:, 0]
            log_p = group.beam.log_p.sum(axis=1) + of_end
            rows = zip(group.changes, log_p.tolist(), (group.score + of_end).tolist(), strict=True)
            sentences += [Meant(*row) for row in rows]
        return sorted(sentences, key=lambda s: (-s.score, len(s.changes), s.changes))


AFTERWARDS, WHOLE = "the words after it", "the word itself"
GRAMMAR = re.compile(r"(?:not )?[A-Z]\w*=\w+")  # Number=Plur, not Gender=Masc
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
    reason: str  # the feature that the form gets, else the largest reason
    reasons: Reasons  # the largest first

    @property
    def odds(self) -> float:
        """Return how many times likelier the corrected sentence is."""
        return 2.0 ** min(self.bits, 1000.0)


def corrections(
    model: Scorer, text: str, prior: Prior | None = None, backward: Scorer | None = None
) -> list[Correction]:
    """Return the suspected errors of a text in order, each with its suggestion and reasons.

    Each sentence of the text is read by itself. With a model that reads sentences backwards, log p
    is the mean of both models.
    """
    return _corrector(model, backward).of_text(text, prior or Prior())


@lru_cache(maxsize=4)
def _corrector(model: Scorer, backward: Scorer | None) -> "Corrector":
    """Return the corrector of a model, which remembers the words that it has looked up."""
    return Corrector(model, backward=backward)


def corrected(text: str, suggestions: Sequence[Correction]) -> str:
    """Return the text with all suggestions in it."""
    for correction in sorted(suggestions, key=lambda correction: -correction.start):
        text = text[: correction.start] + correction.right + text[correction.end :]
    return text


class Kept(NamedTuple):
    """A change that stays, and how many nats of log p the sentence gains from it."""

    change: Change
    gain: float


class Corrector:
    """Asks a trained model about sentences.

    With a backward model, log p of a sentence is the mean of both models. The search goes from left
    to right by the forward one; the backward one ranks its results.
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
        """Return the fewest changes to a sentence, its words in the case of the text."""
        changes_at = self.candidates.at_each(words)
        results = Search(self.scorer, self.scorer.cased(words), changes_at, prior).best()
        log_p = {meant.changes: meant.log_p for meant in results}
        changes = results[0].changes
        if self.backward is not None:
            texts = [self.scorer.cased(changed(words, meant.changes)) for meant in results]
            log_p = dict(zip(log_p, self.log_p(texts), strict=True))
            changes = max(log_p, key=lambda made: log_p[made] - sum(map(prior.cost, made)))
        while True:
            kept = self.gains(words, changes, log_p)
            # A change that adds nothing to the score goes, the worst first.
            adds = {change: gain - prior.cost(change) for change, gain in kept}
            worst = min(changes, key=adds.__getitem__, default=None)
            if worst is None or adds[worst] > 0:
                return kept
            changes = without(changes, worst)

    def result(self, words: Sequence[str], prior: Prior) -> list[str]:
        """Return a sentence with its errors repaired."""
        return changed(words, [kept.change for kept in self.meant(words, prior)])

    def gains(
        self, words: Sequence[str], changes: Changes, log_p: dict[Changes, float]
    ) -> list[Kept]:
        """Return the gain of each change; `log_p` has the sentences that were scored already."""
        needed = [changes, *(without(changes, change) for change in changes)]
        new = [subset for subset in needed if subset not in log_p]
        texts = [self.scorer.cased(changed(words, subset)) for subset in new]
        log_p |= zip(new, self.log_p(texts), strict=True)
        return [Kept(c, log_p[changes] - log_p[without(changes, c)]) for c in changes]

    def log_p(self, texts: Sequence[Sequence[str]]) -> list[float]:
        """Return log p of sentences in nats, the mean of both models."""
        models = [self.scorer] if self.backward is None else [self.scorer, self.backward]
        return np.mean([model.log_p(texts) for model in models], axis=0).tolist()

    def of_text(self, text: str, prior: Prior) -> list[Correction]:
        """Return the corrections of a text in order, each sentence by itself."""
        split = split_texts([text])
        return [
            correction
            for sentence, start in zip(split.sentences, split.start, strict=True)
            for correction in self.corrections(sentence, prior, start)
        ]

    def corrections(self, sentence: str, prior: Prior, offset: int = 0) -> list[Correction]:
        """Return the corrections of one sentence; `offset` is its start in the text."""
        (words,) = tokens([sentence])
        kept, places = self.meant(words, prior), spans(sentence, words)
        changes, suggestions = [change for change, _ in kept], []
        for change, gain in kept:
            start, end = places[change.start][0], places[change.end - 1][1]
            right = "".join(w if w.endswith("'") else f"{w} " for w in change.words).rstrip()
            reasons = self.reasons(words, changes, Kept(change, gain))
            suggestions.append(
                Correction(
                    *(start + offset, end + offset, sentence[start:end], right),
                    sum(reasons.values()),
                    change.feature or main_reason(reasons),
                    reasons,
                )
            )
        return suggestions

    def reasons(self, words: Sequence[str], changes: Sequence[Change], kept: Kept) -> Reasons:
        """Return the bits of a change as a sum, the largest parts first.

        Its parts are the terms that differ between the two words after the same beginning, and
        the gain of the words after them. `changes` are all changes of the sentence.
        """
        change, parts = kept.change, {WHOLE: kept.gain}
        if self._explainer and len(change.words) == change.end - change.start == 1:
            earlier = [other for other in changes if other.start < change.start]
            longer = sum(len(other.words) - (other.end - other.start) for other in earlier)
            prefix = changed(words, earlier)[: change.start + longer]
            queried = self.scorer.cased([words[change.start], *change.words])
            here = differences(
                *self._explainer.explain_next(self.scorer.cased(prefix), queried, 0).queried
            )
            parts = {**here, AFTERWARDS: kept.gain - sum(here.values())}
        in_bits = {name: nats * IN_A_NAT for name, nats in parts.items()}
        return dict(sorted(in_bits.items(), key=lambda part: -abs(part[1])))

    @cached_property
    def _explainer(self) -> Explainer | None:
        """Return None for a model whose score is no sum over features."""
        is_sum = getattr(self.scorer.model, "is_sum", False)
        return Explainer(self.scorer, "none") if is_sum else None


def main_reason(reasons: Reasons) -> str:
    """Return the feature of grammar that speaks most for a change, else the largest reason."""
    positive = [name for name, bits in reasons.items() if bits > 0]
    return next(iter([*filter(GRAMMAR.fullmatch, positive), *positive]), AFTERWARDS)


def without(changes: Changes, removed: Change) -> Changes:
    """Return the other changes."""
    return tuple(change for change in changes if change != removed)


def differences(word: Choice, other: Choice) -> Reasons:
    """Return how the terms of another word differ from those of a word at the same position.

    A feature that the other word lacks, `Number=Plur`, counts as `not Number=Plur`.
    """
    had, has = (
        {"background": choice.background, SPELLED: choice.spelling}
        | {label(choice, term): term.nats for term in choice.terms}
        for choice in (word, other)
    )
    lost = {f"not {name}": -nats for name, nats in had.items() if name not in has}
    gains = lost | {name: nats - had.get(name, 0.0) for name, nats in has.items()}
    return {name: gain for name, gain in gains.items() if gain}
