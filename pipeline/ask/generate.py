"""New French sentences from a trained model, with the features of each word beside it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from accord.corpora.detokenise import detokenise
from accord.errors import AccordError
from accord.models.constraints.matching import Matching
from accord.models.data import Sentences
from accord.models.inference.generation import Generated, Sampling, beam, sample
from accord.models.inference.interface import expect_sum
from accord.pipeline.ask.constraints import LONGEST, Held, automaton, parse, pattern_automaton
from accord.pipeline.ask.explain import beginning_words
from accord.pipeline.ask.scorer import Scorer
from accord.pipeline.ask.texts import split_texts, without_gap
from accord.pipeline.base.names import END_ID, UNKNOWN_ID, is_unknown

if TYPE_CHECKING:
    import pandas as pd

AS_IT_IS = Sampling()
ASKED = ["word", "upos", "feats"]
SEEDS = 1 << 64  # so many there are


@dataclass(frozen=True)
class NewWord:
    """A generated word, its log p in nats, and the part of speech and features that φ gives it.

    Of a spelled word: log p of its class of unknown words and of these letters in that class.
    """

    form: str
    log_p: float
    features: tuple[str, ...]


@dataclass(frozen=True)
class NewSentence:
    text: str  # with its start, as French is written
    words: tuple[NewWord, ...]  # those that were generated
    log_p: float  # of these and of the end
    ended: bool  # or cut because it was too long


class Generator:
    """Generates with one model under one set of constraints (accord.pipeline.ask.held)."""

    def __init__(
        self,
        scorer: Scorer,
        start: str = "",
        constraints: Sequence[str] = (),
        spelled: bool = False,
        pattern: str | None = None,
        analyses: "pd.DataFrame | None" = None,
        context: str | None = None,
    ):
        """With `spelled`, words that are not known may come too, written letter by letter.

        A `pattern` (accord.pipeline.ask.constraints) stands in the place of constraints. The
        `analyses` of all words, of which these ask the columns ASKED, are read unless given. A
        sentence goes on from the last one of `start`; `context`, that of `Scorer.score`, says
        whether the sentences before it are read too.
        """
        if pattern is not None and constraints:
            raise AccordError("expected a pattern of whole sentences or constraints, found both")
        expect_sum(scorer.model)
        if spelled and not scorer.is_open:
            raise AccordError("expected a model that spells words; this one's vocabulary is closed")
        self.spelling = scorer.spelling
        start = without_gap(start)
        last = max(split_texts([start]).start, default=len(start))  # where the last sentence begins
        self.before, self.start = start[:last].lstrip(), scorer.words(start[last:])
        words = beginning_words(scorer, start) if scorer.in_context(context) else self.start
        self.start_ids = [scorer.id_of(word) for word in words]
        self.forms = scorer.vocabulary.forms
        self.features, known = scorer.parts.features, scorer.vocabulary
        if analyses is None and (constraints or pattern is not None):
            analyses = scorer.parts.analyses(ASKED)
        if pattern is not None:
            spelling = scorer.spelling if spelled else None
            held = pattern_automaton(pattern, len(words), known, analyses, scorer.as_read, spelling)
        else:
            parsed = [
                replace(each, words=frozenset(scorer.as_read(each.words)))
                for each in parse(constraints)
            ]
            held = Held(automaton(parsed, len(words), known, analyses, spelled), {})
        self.held = held
        self.model = scorer.model.constrained(held.automaton)

    def sample(
        self, count: int = 10, sampling: Sampling = AS_IT_IS, seed: int = 1
    ) -> list[NewSentence]:
        """Sentences drawn by chance."""
        if not 0 <= seed < SEEDS:
            raise AccordError(f"seed: expected a number from 0 to {SEEDS - 1}, got {seed}")
        generator, letters = np.random.default_rng(seed).spawn(2)
        drawn = sample(self.model, self.start_ids, count, sampling, generator, LONGEST)
        return [self._sentence(each, letters) for each in drawn]

    def likeliest(self, count: int = 10, width: int = 10) -> list[NewSentence]:
        """The likeliest sentences for their length that a beam of that width finds, in order."""
        found = beam(self.model, self.start_ids, width, LONGEST)
        return [self._sentence(each, np.random.default_rng(0)) for each in found[:count]]

    def _sentence(self, generated: Generated, letters: np.random.Generator) -> NewSentence:
        strings = map(self.held.strings.get, self._states_after(generated.words))
        *words, end = (self._word(*each, letters) for each in zip(*generated, strings, strict=True))
        ended = generated.words[-1] == END_ID
        shown = tuple(words if ended else [*words, end])
        text = self.before + detokenise([*self.start, *(word.form for word in shown)])
        return NewSentence(text, shown, sum(word.log_p for word in (*words, end)), ended)

    def _states_after(self, words: Sequence[int]) -> list[int]:
        """The states of the automaton after each of some generated words."""
        ids = np.array([*self.start_ids, *words, END_ID])
        states = self.held.automaton.states(Sentences(ids, np.array([len(ids)])))
        return states[len(self.start_ids) + 1 :].tolist()

    def _word(
        self, word: int, log_p: float, strings: Matching | None, letters: np.random.Generator
    ) -> NewWord:
        """A known word, or an unknown one that is spelled to match the constraint."""
        form = self.forms[word]
        if is_unknown(form):
            kind = word - UNKNOWN_ID
            if strings is None:
                (form,) = self.spelling.draw([kind], letters)
            else:
                form = strings.draw(kind, letters)
                log_p -= float(strings.log_mass[kind])
            log_p += float(self.spelling.log_prob([form])[0, kind])
        return NewWord(form, log_p, tuple(self.features.grammar(word)))


def generate(
    model: Scorer,
    start: str = "",
    count: int = 10,
    *,
    temperature: float = 1,
    top_k: int | None = None,
    top_p: float | None = None,
    beam: int | None = None,
    constraints: Sequence[str] = (),
    pattern: str | None = None,
    spelled: bool = False,
    seed: int = 1,
) -> list[NewSentence]:
    """New sentences drawn by chance; with `beam`, the likeliest for their length.

    `constraints` and `pattern` are written as for `accord generate`. `spelled` allows words that
    the model does not know.
    """
    sampling = Sampling(temperature, top_k, top_p)
    if beam and sampling != AS_IT_IS:
        raise AccordError(
            "--beam searches and draws nothing: expected no temperature, top-k, top-p"
        )
    generator = Generator(model, start, constraints, spelled, pattern)
    return generator.likeliest(count, beam) if beam else generator.sample(count, sampling, seed)
