"""Beam search for the sentence that was meant.

    score(meant) = log p(meant) + log channel(text | meant)

The text is read from left to right. At each word a beginning goes on with the word as it is, or
with a change; the best beginnings are kept, and always the text as it is. So the result never
scores below the text.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from accord.errors import AccordError
from accord.models.inference.generation import Beam
from accord.models.inference.interface import InferenceModel
from accord.pipeline.ask.scorer import Scorer
from accord.pipeline.base.names import END, UNKNOWN_ID
from accord.pipeline.correct.candidates import Change, Prior

WIDTH = 12  # beginnings that are kept at each word
BEHIND = 14.0  # nats behind the best, by which a beginning is given up


class Meant(NamedTuple):
    """A sentence that may be meant: its changes, log p, and log p with the prior."""

    changes: tuple[Change, ...]
    log_p: float
    score: float


class Step(NamedTuple):
    """One word that a beginning goes on with, and what that costs."""

    end: int  # of the words of the text that it stands for
    words: tuple[str, ...]  # as the model reads them
    change: Change | None
    cost: float


@dataclass
class Beginnings:
    """Beginnings that are read side by side, up to one word of the text."""

    beam: Beam
    changes: list[tuple[Change, ...]]
    score: np.ndarray  # log p and prior

    def only(self, rows: Sequence[int]) -> "Beginnings":
        chosen = np.array(rows, np.int64)
        return Beginnings(
            self.beam.only(chosen), [self.changes[row] for row in rows], self.score[chosen]
        )


class Going(NamedTuple):
    """A beginning and the step by which it goes on."""

    score: float
    log_p: float  # of the next word
    of: int  # which beginnings
    row: int
    step: Step

    @property
    def order(self) -> tuple[float, int, int, tuple[str, ...]]:
        """The best first; equals in an order that does not depend on rounding of others."""
        return -self.score, self.of, self.row, self.step.words


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
                Step(place + 1, (word,), None, 0.0),
                *(self._step(change, prior) for change in changes[place]),
            ]
            for place, word in enumerate(words)
        ]
        forms = {END: None} | {w: None for of in self.steps for s in of for w in s.words}
        self.ids = dict(zip(forms, map(scorer.id_of, forms), strict=True))
        self.letters = self._spelled([*forms])

    def _step(self, change: Change, prior: Prior) -> Step:
        words = tuple(self.scorer.cased(change.words))
        return Step(change.end, words, change, prior.cost(change))

    def _spelled(self, forms: list[str]) -> dict[str, np.ndarray]:
        """log spell(x | s) of each form by each class of unknown words; of an end −inf."""
        spelling = self.scorer.spelling
        if spelling is None:
            return {form: np.zeros(0) for form in forms}
        rows = spelling.log_prob(forms[1:]) if forms[1:] else []
        return {END: np.full(spelling.classes, -np.inf), **dict(zip(forms[1:], rows, strict=True))}

    def best(self) -> list[Meant]:
        """The sentences that are found, the best first; the text itself is one of them."""
        reached: list[list[Beginnings]] = [[] for _ in range(len(self.steps) + 1)]
        beam = Beam.of(self.model, [], 1)
        reached[0] = [Beginnings(beam, [()], np.zeros(1))]
        for place, steps in enumerate(self.steps):
            groups = self._kept(reached[place])
            reached[place] = []
            for going in self._chosen(groups, steps):
                for end, beginnings in self._read(groups, going):
                    reached[end].append(beginnings)
        return self._ended(reached[-1])

    def _kept(self, groups: list[Beginnings]) -> list[Beginnings]:
        """The best beginnings at a word, however they came there, and the text as it is."""
        every = [
            (-float(score), number, row)
            for number, group in enumerate(groups)
            for row, score in enumerate(group.score)
        ]
        best = min(every)[0]
        kept = {each for each in sorted(every)[: self.width] if each[0] - best <= BEHIND}
        kept |= {each for each in every if not groups[each[1]].changes[each[2]]}
        rows = [[row for _, n, row in sorted(kept) if n == number] for number in range(len(groups))]
        return [group.only(of) for group, of in zip(groups, rows, strict=True) if of]

    def _chosen(self, groups: list[Beginnings], steps: Sequence[Step]) -> Iterator[list[Going]]:
        """How the beginnings go on: those by one word for one, by two for one, by one for two.

        Their scores compare only among themselves, as they have read different parts of the text.
        """
        kinds: dict[tuple[int, int], list[Going]] = {}
        for number, group in enumerate(groups):
            log_p = self._log_p(group.beam, [step.words[0] for step in steps])
            for at, step in enumerate(steps):
                kind = kinds.setdefault((step.end, len(step.words)), [])
                for row, nats in enumerate(log_p[:, at].tolist()):
                    score = float(group.score[row]) + nats - step.cost
                    kind.append(Going(score, nats, number, row, step))
        for going in kinds.values():
            best = max(each.score for each in going)
            kept = sorted((e for e in going if e.score >= best - BEHIND), key=lambda e: e.order)
            unchanged = [e for e in going if not (e.step.change or groups[e.of].changes[e.row])]
            yield list(dict.fromkeys([*kept[: self.width], *unchanged]))

    def _log_p(self, beam: Beam, words: Sequence[str]) -> np.ndarray:
        """log p of words after each beginning, spelling included: (B × W)."""
        classes = range(UNKNOWN_ID, UNKNOWN_ID + len(self.letters[END]))
        ids = [*(self.ids[word] for word in words), *classes]
        asked = np.broadcast_to(np.array(ids), (len(beam.text), len(ids)))
        log_p, of_class = np.split(
            self.model.log_prob_of(beam.h, asked, beam.context), [len(words)], axis=1
        )
        if not len(classes):
            return log_p
        is_unknown = np.isin(ids[: len(words)], classes)
        letters = np.array([self.letters[word] for word in words])
        spelled = np.logaddexp.reduce(of_class[:, None] + letters, axis=2)
        return np.logaddexp(np.where(is_unknown, -np.inf, log_p), spelled)

    def _read(
        self, groups: list[Beginnings], going: Sequence[Going]
    ) -> Iterator[tuple[int, Beginnings]]:
        """The beginnings after their steps, by the word of the text that they have come to."""
        for number, group in enumerate(groups):
            own = [each for each in going if each.of == number]
            if not own:
                continue
            rows = np.array([each.row for each in own])
            first = np.array([self.ids[each.step.words[0]] for each in own])
            beam = group.beam.after(rows, first, np.array([each.log_p for each in own]))
            score = np.array([each.score for each in own])
            if len(own[0].step.words) == 2:
                second = [each.step.words[1] for each in own]
                each_row = np.arange(len(own))
                log_p = self._log_p(beam, second)[each_row, each_row]
                beam = beam.after(each_row, np.array([self.ids[w] for w in second]), log_p)
                score = score + log_p
            changes = [
                group.changes[each.row] + ((each.step.change,) if each.step.change else ())
                for each in own
            ]
            yield own[0].step.end, Beginnings(beam, changes, score)

    def _ended(self, groups: list[Beginnings]) -> list[Meant]:
        found = []
        for group in self._kept(groups):
            of_end = self._log_p(group.beam, [END])[:, 0]
            log_p = group.beam.log_p.sum(axis=1) + of_end
            rows = zip(group.changes, log_p.tolist(), (group.score + of_end).tolist(), strict=True)
            found += [Meant(*row) for row in rows]
        return sorted(found, key=lambda each: (-each.score, len(each.changes), each.changes))
