"""New French sentences from a trained model, and the notation of their constraints.

    2: NOUN Gender=Fem Number=Plur      the second generated word is a feminine plural noun
    DET                                 the next word in turn is a determiner
    *: words=le,la,chat,dort            every word is one of these

Or, for whole sentences, a pattern:

    DET ADJ* NOUN                       a determiner, any number of adjectives, a noun
    le|la NOUN&Number=Sing . "."        a word as it is, several tests of one word, any word, a stop
    NOUN&/an.*eur/                      a noun whose letters match an expression

`*`, `+`, `?`, `|` and brackets are those of all regular expressions; blanks part words. A word that
has such signs, or looks like a part of speech, stands in double quotes. A word has a part of
speech and features if one of its analyses has them all. Spelled words have the analyses of their
class of unknown words; an expression between slashes holds for them too, by the exact mass of all
matching strings.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from accord.corpora.tokenise import detokenise
from accord.errors import AccordError
from accord.lexicon.analysis import UPOS
from accord.models.common.checks import nearest
from accord.models.constraints import (
    FORBIDDEN,
    ConstrainedModel,
    Expression,
    Matching,
    WordAutomaton,
    matches,
)
from accord.models.data import Sentences
from accord.models.inference.generation import Generated, Sampling, beam, sample
from accord.models.inference.interface import expect_words
from accord.models.spelling import Spelling
from accord.pipeline.ask.explain import beginning_words
from accord.pipeline.ask.scorer import Scorer, split_texts, without_gap
from accord.pipeline.base.names import END_ID, UNKNOWN_ID, is_special, is_unknown
from accord.pipeline.model.words import Vocabulary

if TYPE_CHECKING:
    import pandas as pd

EVERY = 0  # the place that stands for all
LONGEST = 50  # words; few sentences are longer, and none that is generated
PLACE = re.compile(r"\s*(?:(\d+|\*)\s*:)?\s*(.*)", re.DOTALL)
ANY = "."
PARTS = re.compile(r"/(?:\\.|[^/\\])+/|[^&]+")  # of a test of one word
AsRead = Callable[[Iterable[str]], Sequence[str]]  # words as the model reads them


class WordTest(NamedTuple):
    """A test of one word: it is listed, and one of its analyses has all features."""

    text: str  # as typed
    upos: str | None
    feats: set[str]
    words: set[str]


def parse(constraints: Sequence[str], as_read: AsRead) -> list[tuple[int, WordTest]]:
    """Parse constraints as typed; those without a place take the positions in turn."""
    parsed: list[tuple[int, WordTest]] = []
    turn = 0
    for text in constraints:
        place, tests = PLACE.fullmatch(text).groups()
        turn += place is None
        number = turn if place is None else EVERY if place == "*" else int(place[:9])
        if place != "*" and not 1 <= number <= LONGEST:
            raise AccordError(
                f"'{text:.100}': expected a place from 1 to {LONGEST}, or *; got {number}"
            )
        upos, feats, words = None, set(), set()
        for part in tests.split():
            name, equals, value = part.partition("=")
            if not equals:
                upos = _known_upos(part)
            elif name == "words":
                words |= {*filter(None, value.split(","))}
            else:
                feats.add(part)
        if not (upos or feats or words):
            raise AccordError(
                f"'{text:.100}': expected a part of speech, Name=Value or words=a,b; got none"
            )
        parsed.append((number, WordTest(text, upos, feats, {*as_read(words)})))
    return parsed


def _known_upos(name: str) -> str:
    if name not in UPOS:
        raise AccordError(f"unknown part of speech '{name:.100}'{nearest(name[:100], UPOS)}")
    return name


class Constrained(NamedTuple):
    """The automaton of a constraint, and the expression of a spelled word in each of its states."""

    automaton: WordAutomaton
    strings: dict[int, Matching]


class Automata:
    """Makes the automata of constraints on the words of a model.

    The `analyses` of all words are needed where there are constraints. Unknown words may come only
    if there is a `spelling` of them.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        analyses: "pd.DataFrame | None",
        as_read: AsRead,
        spelling: Spelling | None = None,
    ):
        self.known, self.forms, self.analyses = vocabulary.known, vocabulary.forms, analyses
        self.as_read, self.spelling = as_read, spelling
        self.unknown = UNKNOWN_ID + np.arange(len(vocabulary.unknown))
        self.strings: dict[str, Matching] = {}  # by expression

    def by_position(self, constraints: Sequence[str], start: int) -> Constrained:
        """Return the automaton of constraints by position after `start` words that may be any.

        It is that of a pattern `1 2 … rest*`, so no sentence ends before its last constrained
        position.
        """
        parsed = parse(constraints, self.as_read)
        tests = [(place, self.passing(test)) for place, test in parsed]
        last = max((place for place, _ in tests), default=0)
        masks = []
        for position in range(1, last + 2):
            here = [mask for place, mask in tests if place in (EVERY, position)]
            mask = np.logical_and.reduce([self._written(ANY), *here])
            mask[END_ID] = False
            if not mask.any():
                raise AccordError(
                    f"constraints: expected words that all allow, word {position} has none"
                )
            masks.append(mask)
        expression = Expression(" ".join([*map(str, range(1, last + 1)), "rest*"]))
        return self._automaton(expression, masks, start)

    def of_pattern(self, pattern: str, start: int) -> Constrained:
        """Return the automaton of a pattern after `start` words that may be any."""
        expression = Expression(pattern)
        masks = [
            self.passing(_word_test(test, self.as_read)) & self._written(test)
            for test in expression.tests
        ]
        return self._automaton(expression, masks, start)

    def passing(self, test: WordTest) -> np.ndarray:
        """Return which known words pass a test."""
        allowed = np.ones(len(self.forms), bool)
        if test.upos or test.feats:
            feats = self.analyses["feats"].cat  # each combination is tested once
            has = np.array([test.feats.issubset(pairs.split("|")) for pairs in feats.categories])
            passes = has[feats.codes]
            if test.upos:
                passes &= (self.analyses["upos"] == test.upos).to_numpy()
            allowed[:] = False
            allowed[self.analyses["word"].to_numpy()[passes]] = True
        if unknown := sorted(test.words - self.known.keys()):
            names = ", ".join(map(repr, unknown))
            fault = f"expected known words, the model does not know {names:.200}"
            raise AccordError(f"'{test.text:.100}': {fault}")
        if test.words:
            listed = [self.known[word] for word in test.words]
            allowed &= np.isin(np.arange(len(allowed)), listed)
        if not allowed.any():
            fault = "no known word passes"
            values = {*"|".join(self.analyses["feats"].cat.categories).split("|")}
            if lacking := sorted(test.feats - values):
                close = nearest(lacking[0][:100], sorted(values - {""}))
                fault = f"no known word has '{lacking[0]:.100}'{close}"
            raise AccordError(f"'{test.text:.100}': {fault}")
        return allowed

    def _written(self, test: str) -> np.ndarray:
        """Return which words a test such as `/an.*eur/` allows, as they are written."""
        expression = self._expression(test)
        allowed = np.ones(len(self.forms), bool)
        if expression is not None:
            is_word = np.array([not is_special(form) for form in self.forms])
            allowed = is_word & matches(expression, self.forms)
        allowed[self.unknown] = self.spelling is not None
        if expression is not None and self.spelling is not None:
            if expression not in self.strings:
                self.strings[expression] = Matching(self.spelling, expression)
            allowed[self.unknown] = np.isfinite(self.strings[expression].log_mass)
        return allowed

    def _automaton(
        self, expression: Expression, masks: Sequence[np.ndarray], start: int
    ) -> Constrained:
        """Return the automaton of an expression whose tests pass these words.

        No sentence is empty.
        """
        is_end = np.arange(len(self.forms)) == END_ID
        # Words that all masks treat alike are a group: its number for each word, its first word.
        group = np.zeros(len(self.forms), np.int64)
        for mask in reversed([is_end, *(mask & ~is_end for mask in masks)]):  # too many for bits
            _, first, group = np.unique(2 * group + mask, return_index=True, return_inverse=True)
        if self.strings:  # matching strings have another mass in each class
            group[self.unknown] = len(first) + np.arange(len(self.unknown))
            first = np.concatenate([first, self.unknown])
        end = int(group[END_ID])
        passed = np.array([mask[first] for mask in masks], bool).reshape(-1, len(first))
        passed[:, end] = False
        follow = expression.automaton(passed, end)
        if not start:
            follow[0, end] = FORBIDDEN
            if (follow[0] == FORBIDDEN).all():
                text = f"'{expression.text:.100}'"
                raise AccordError(f"{text}: expected a pattern that a word matches")
        weight, strings = self._weights(expression, follow, group)
        free = np.repeat(np.arange(1, start + 1)[:, None], len(first), axis=1)
        follow = np.concatenate([free, np.where(follow >= 0, follow + start, follow)])
        weight = np.concatenate([np.zeros(free.shape), weight])
        strings = {state + start: matching for state, matching in strings.items()}
        return Constrained(WordAutomaton(group, follow, weight), strings)

    def _weights(
        self, expression: Expression, follow: np.ndarray, group: np.ndarray
    ) -> tuple[np.ndarray, dict[int, Matching]]:
        """Return log m of each group of words in each state, 0 where any string will do (Q × G)."""
        weight, strings = np.zeros(follow.shape), {}
        for state in range(1, len(follow)) if self.strings else ():
            tests = [expression.tests[at] for at in expression.states[state]]
            written = {self._expression(test) for test in tests}
            if written == {None}:
                continue
            from_states, kinds = np.nonzero(follow[:, group[self.unknown]] == state)
            if len(written) > 1 and len(kinds):
                raise AccordError(
                    f"'{expression.text}': a spelled word could be one of {', '.join(tests)} in "
                    f"the same place; expected one /…/ for it, such as /.*eur|.*euse/"
                )
            strings[state] = self.strings[written.pop()]
            weight[from_states, group[self.unknown[kinds]]] = strings[state].log_mass[kinds]
        return weight, strings

    def _expression(self, test: str) -> str | None:
        expressions = [part[1:-1] for part in PARTS.findall(test) if _is_written(part)]
        if test.startswith('"') or not expressions:
            return None
        if len(expressions) > 1:
            raise AccordError(f"'{test}': expected one /…/ for a word, found {len(expressions)}")
        return self.as_read(expressions)[0]


def _is_written(part: str) -> bool:
    return len(part) > 2 and part.startswith("/") and part.endswith("/")


def _word_test(test: str, as_read: AsRead) -> WordTest:
    """Parse a test of one word, or several joined by `&`."""
    upos, feats, words = None, set(), set()
    for part in [test] if test.startswith('"') else PARTS.findall(test):
        if part.startswith('"'):
            words.add(part[1:-1])
        elif _is_written(part):
            continue
        elif "=" in part:
            feats.add(part)
        elif part.isupper():
            upos = _known_upos(part)
        elif part != ANY:
            words.add(part)
    return WordTest(test, upos, feats, {*as_read(words)})


AS_IT_IS = Sampling()
ASKED = ["word", "upos", "feats"]
SEEDS = 1 << 64  # seeds that there are


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
    words: tuple[NewWord, ...]  # the generated ones
    log_p: float  # of these and of the end
    ended: bool  # or cut because it was too long


class Generator:
    """Generates with one model under one set of constraints."""

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
        """With `spelled`, unknown words may come too, written letter by letter.

        The `analyses` of all words (columns ASKED) are read unless they are passed. A sentence
        continues the last one of `start`; `context`, that of `Scorer.score`, says whether the
        sentences before it are read too.
        """
        if pattern is not None and constraints:
            raise AccordError("expected a pattern of whole sentences or constraints, found both")
        expect_words(scorer.model)
        if spelled and not scorer.is_open:
            raise AccordError("expected a model that spells words; this one's vocabulary is closed")
        self.spelling, self.features = scorer.spelling, scorer.parts.features
        self.forms = scorer.vocabulary.forms
        start = without_gap(start)
        last = max(split_texts([start]).start, default=len(start))  # where the last sentence begins
        self.preceding, self.start = start[:last].lstrip(), scorer.words(start[last:])
        words = beginning_words(scorer, start) if scorer.in_context(context) else self.start
        self.start_ids = [scorer.id_of(word) for word in words]
        if analyses is None and (constraints or pattern is not None):
            analyses = scorer.parts.readings.table(ASKED)
        spelling = self.spelling if spelled else None
        automata = Automata(scorer.vocabulary, analyses, scorer.as_read, spelling)
        if pattern is None:
            self.constrained = automata.by_position(constraints, len(words))
        else:
            self.constrained = automata.of_pattern(pattern, len(words))
        self.model = ConstrainedModel(scorer.model, self.constrained.automaton)

    def sample(
        self, count: int = 10, sampling: Sampling = AS_IT_IS, seed: int = 1
    ) -> list[NewSentence]:
        """Return sentences drawn by chance."""
        if not 0 <= seed < SEEDS:
            raise AccordError(f"seed: expected a number from 0 to {SEEDS - 1}, got {seed}")
        generator, letters = np.random.default_rng(seed).spawn(2)
        drawn = sample(self.model, self.start_ids, count, sampling, generator, LONGEST)
        return [self._sentence(generated, letters) for generated in drawn]

    def likeliest(self, count: int = 10, width: int = 10) -> list[NewSentence]:
        """Return the likeliest sentences for their length, in order, by a beam of this width."""
        drawn = beam(self.model, self.start_ids, width, LONGEST)[:count]
        return [self._sentence(generated, np.random.default_rng(0)) for generated in drawn]

    def _sentence(self, generated: Generated, letters: np.random.Generator) -> NewSentence:
        ids = np.array([*self.start_ids, *generated.words, END_ID])
        states = self.constrained.automaton.states(Sentences(ids, np.array([len(ids)])))
        states_after = states[len(self.start_ids) + 1 :].tolist()  # each of the generated words
        strings = map(self.constrained.strings.get, states_after)
        *words, end = (self._word(*row, letters) for row in zip(*generated, strings, strict=True))
        ended = generated.words[-1] == END_ID
        shown = tuple(words if ended else [*words, end])
        text = self.preceding + detokenise([*self.start, *(word.form for word in shown)])
        return NewSentence(text, shown, sum(word.log_p for word in (*words, end)), ended)

    def _word(
        self, word: int, log_p: float, strings: Matching | None, letters: np.random.Generator
    ) -> NewWord:
        """Return a known word, or an unknown one that is spelled to match the constraint."""
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
    """Return new sentences drawn by chance; with `beam`, the likeliest for their length.

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
