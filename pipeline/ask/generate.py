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
speech and features if one of its analyses has them all. Words that are spelled have the classes of
unknown words for analyses; what is between slashes holds for them too, by the exact mass of all
strings that match.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from accord.corpora.detokenise import detokenise
from accord.errors import AccordError
from accord.lexicon.analysis import UPOS
from accord.models.common.checks import nearest
from accord.models.constraints.automata import Expression, WordAutomaton, matches
from accord.models.constraints.matching import Matching
from accord.models.data import Sentences
from accord.models.inference.generation import Generated, Sampling, beam, sample
from accord.models.inference.interface import expect_words
from accord.models.spelling.spelling import Spelling
from accord.pipeline.ask.explain import beginning_words
from accord.pipeline.ask.scorer import Scorer
from accord.pipeline.ask.texts import split_texts, without_gap
from accord.pipeline.base.names import END_ID, UNKNOWN_ID, is_special, is_unknown
from accord.pipeline.data.vocabulary import Vocabulary

if TYPE_CHECKING:
    import pandas as pd

EVERY = 0  # the place that stands for all
LONGEST = 50  # words; few sentences are longer, and none that is generated
PLACE = re.compile(r"\s*(?:(\d+|\*)\s*:)?\s*(.*)", re.DOTALL)
FORBIDDEN = -1


@dataclass(frozen=True)
class Constraint:
    place: int  # of a generated word, the first being 1; or EVERY
    upos: str | None = None
    feats: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()

    def allowed(self, vocabulary: Vocabulary, analyses: "pd.DataFrame") -> np.ndarray:
        """Tell of each known word whether it obeys."""
        allowed = np.ones(len(vocabulary.forms), bool)
        if self.upos or self.feats:
            feats = analyses["feats"].cat  # each combination is asked once, not each analysis
            has = np.array([self.feats.issubset(pairs.split("|")) for pairs in feats.categories])
            fits = has[feats.codes]
            if self.upos:
                fits &= (analyses["upos"] == self.upos).to_numpy()
            allowed = np.zeros(len(allowed), bool)
            allowed[analyses["word"].to_numpy()[fits]] = True
        if self.words:
            is_named = np.zeros(len(allowed), bool)
            is_named[self._ids(vocabulary)] = True
            allowed &= is_named
        if not allowed.any():
            raise AccordError(
                f"constraint on place {self.place or '*'}: {self._why_none(analyses)}"
            )
        return allowed

    def _ids(self, vocabulary: Vocabulary) -> list[int]:
        if unknown := sorted(self.words - vocabulary.known.keys()):
            raise AccordError(
                f"constraint on place {self.place or '*'}: expected known words, the model does "
                f"not know {', '.join(map(repr, unknown)):.200}"
            )
        return [vocabulary.known[word] for word in self.words]

    def _why_none(self, analyses: "pd.DataFrame") -> str:
        """Return why no known word obeys: a value that none has, or their combination."""
        there_are = set("|".join(analyses["feats"].cat.categories).split("|"))
        for feature in sorted(self.feats - there_are):
            close = nearest(feature[:100], sorted(there_are - {""}))
            return f"no known word has '{feature:.100}'{close}"
        return "no known word obeys it"


def parse(constraints: Sequence[str]) -> list[Constraint]:
    """Parse constraints as typed; those without a place take the positions in turn."""
    parsed: list[Constraint] = []
    turn = 0
    for text in constraints:
        place, what = PLACE.fullmatch(text).groups()
        turn += place is None
        number = turn if place is None else EVERY if place == "*" else int(place[:9])
        if place != "*" and not 1 <= number <= LONGEST:
            raise AccordError(
                f"'{text:.100}': expected a place from 1 to {LONGEST}, or *; got {number}"
            )
        parsed.append(_parse(number, what, text))
    return parsed


def _parse(place: int, what: str, text: str) -> Constraint:
    upos, feats, words = None, set(), set()
    for part in what.split():
        name, equals, value = part.partition("=")
        if not equals:
            upos = known_upos(part)
        elif name == "words":
            words |= {*filter(None, value.split(","))}
        else:
            feats.add(part)
    if not (upos or feats or words):
        raise AccordError(
            f"'{text:.100}': expected a part of speech, Name=Value or words=a,b; got none"
        )
    return Constraint(place, upos, frozenset(feats), frozenset(words))


def known_upos(name: str) -> str:
    if name not in UPOS:
        raise AccordError(f"unknown part of speech '{name:.100}'{nearest(name[:100], UPOS)}")
    return name


def automaton(
    constraints: Sequence[Constraint],
    start: int,
    vocabulary: Vocabulary,
    analyses: "pd.DataFrame | None",
    spelled: bool = False,
) -> WordAutomaton:
    """Return an automaton that counts positions: `start` words, which may be any, then constraints.

    `analyses` of the known words are needed where there are constraints.

    No sentence is empty or ends before its last constrained place. Words that are not known may
    come only if they are `spelled`.
    """
    masks = [written(vocabulary, spelled)]
    masks += [constraint.allowed(vocabulary, analyses) for constraint in constraints]
    for mask, constraint in zip(masks[1:], constraints, strict=True):
        mask[END_ID] = constraint.place == EVERY
    is_end = np.arange(len(vocabulary.forms)) == END_ID
    group, first = groups_of([is_end, *masks])
    ends, *obeys = [mask[first] for mask in (is_end, *masks)]
    positions = max((constraint.place for constraint in constraints), default=0)
    follow = np.full((start + max(positions, 1) + 1, len(first)), FORBIDDEN)
    for state in range(len(follow)):
        place = state - start + 1
        allowed = obeys[0] & ~(ends & (place <= positions or state == 0))
        for constraint, obeyed in zip(constraints, obeys[1:], strict=True):
            if constraint.place in (EVERY, place):
                allowed &= obeyed
        if not allowed.any():
            raise AccordError(f"constraints: expected words that all allow, word {place} has none")
        allowed |= place < 1
        follow[state, allowed] = min(state + 1, len(follow) - 1)
    return WordAutomaton(group, follow)


def written(vocabulary: Vocabulary, spelled: bool) -> np.ndarray:
    """Tell of each word whether it may occur: an unknown one only if it may be spelled."""
    can = np.ones(len(vocabulary.forms), bool)
    can[UNKNOWN_ID : UNKNOWN_ID + len(vocabulary.unknown)] = spelled
    return can


def groups_of(masks: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Group the words that all masks treat alike: the group of each word, and its first word."""
    group = np.zeros(len(masks[0]), np.int64)
    for mask in reversed(masks):  # one after the other, as the bits of a number hold only so many
        _, first, group = np.unique(2 * group + mask, return_index=True, return_inverse=True)
    return group, first


ANY = "."
PARTS = re.compile(r"/(?:\\.|[^/\\])+/|[^&]+")  # of a test of one word


class Held(NamedTuple):
    """The automaton that constrains sentences, and what a spelled word must match in each state."""

    automaton: WordAutomaton
    strings: dict[int, Matching]


def pattern_automaton(
    pattern: str,
    start: int,
    vocabulary: Vocabulary,
    analyses: "pd.DataFrame",
    as_read: Callable[[Iterable[str]], Sequence[str]],
    spelling: Spelling | None = None,
) -> Held:
    """Return the automaton of a pattern after `start` words that may be any. No sentence is empty.

    Words are looked up `as_read` by the model. Those that are not known may come only if there is
    a `spelling` of them.
    """
    expression = Expression(pattern)
    unknown = UNKNOWN_ID + np.arange(len(vocabulary.unknown))
    written = _Written(vocabulary.forms, unknown, as_read, spelling)
    masks = [
        _constraint(test, as_read).allowed(vocabulary, analyses) & written.allowed(test)
        for test in expression.tests
    ]
    for mask in masks:
        mask[END_ID] = False
    is_end = np.arange(len(vocabulary.forms)) == END_ID
    group, first = groups_of([is_end, *masks])
    if written.strings:  # what matches has another mass in each class
        group[unknown] = len(first) + np.arange(len(unknown))
        first = np.concatenate([first, unknown])
    end = int(group[END_ID])
    obeys = np.array([mask[first] for mask in masks], bool).reshape(-1, len(first))
    follow = expression.automaton(obeys, end)
    if not start:
        follow[0, end] = FORBIDDEN
        if (follow[0] == FORBIDDEN).all():
            raise AccordError(f"'{pattern:.100}': expected a pattern that a word matches")
    weight, strings = written.weights(expression, follow, group)
    free = np.repeat(np.arange(1, start + 1)[:, None], len(first), axis=1)
    follow = np.concatenate([free, np.where(follow >= 0, follow + start, follow)])
    weight = np.concatenate([np.zeros(free.shape), weight])
    return Held(
        WordAutomaton(group, follow, weight),
        {state + start: matching for state, matching in strings.items()},
    )


class _Written:
    """How words have to be written by each test: `/an.*eur/`, known ones and spelled ones alike."""

    def __init__(
        self,
        forms: Sequence[str],
        unknown: np.ndarray,
        as_read: Callable[[Iterable[str]], Sequence[str]],
        spelling: Spelling | None,
    ):
        self.forms, self.unknown, self.as_read, self.spelling = forms, unknown, as_read, spelling
        self.strings: dict[str, Matching] = {}  # by expression

    def allowed(self, test: str) -> np.ndarray:
        """Tell of each word whether it may be written so."""
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

    def weights(
        self, expression: Expression, follow: np.ndarray, group: np.ndarray
    ) -> tuple[np.ndarray, dict[int, Matching]]:
        """Return log m of each group of words in each state, 0 where any string will do (Q × G)."""
        weight, strings = np.zeros(follow.shape), {}
        for state in range(1, len(follow)):
            tests = [expression.tests[at] for at in expression.states[state]]
            written = {self._expression(test) for test in tests}
            if written == {None} or not self.strings:
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


def _constraint(test: str, as_read: Callable[[Iterable[str]], Sequence[str]]) -> Constraint:
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
            upos = known_upos(part)
        elif part != ANY:
            words.add(part)
    return Constraint(EVERY, upos, frozenset(feats), frozenset(as_read(words)))


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
    words: tuple[NewWord, ...]  # those that were generated
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
        """With `spelled`, words that are not known may come too, written letter by letter.

        A `pattern` stands in the place of constraints. The
        `analyses` of all words, of which these ask the columns ASKED, are read unless given. A
        sentence goes on from the last one of `start`; `context`, that of `Scorer.score`, says
        whether the sentences before it are read too.
        """
        if pattern is not None and constraints:
            raise AccordError("expected a pattern of whole sentences or constraints, found both")
        expect_words(scorer.model)
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
                replace(constraint, words=frozenset(scorer.as_read(constraint.words)))
                for constraint in parse(constraints)
            ]
            held = Held(automaton(parsed, len(words), known, analyses, spelled), {})
        self.held = held
        self.model = scorer.model.constrained(held.automaton)

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
        strings = map(self.held.strings.get, self._states_after(generated.words))
        *words, end = (self._word(*row, letters) for row in zip(*generated, strings, strict=True))
        ended = generated.words[-1] == END_ID
        shown = tuple(words if ended else [*words, end])
        text = self.before + detokenise([*self.start, *(word.form for word in shown)])
        return NewSentence(text, shown, sum(word.log_p for word in (*words, end)), ended)

    def _states_after(self, words: Sequence[int]) -> list[int]:
        """Return the states of the automaton after each of some generated words."""
        ids = np.array([*self.start_ids, *words, END_ID])
        states = self.held.automaton.states(Sentences(ids, np.array([len(ids)])))
        return states[len(self.start_ids) + 1 :].tolist()

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
