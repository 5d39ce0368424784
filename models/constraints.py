r"""Expressions as automata: models constrained over words, the mass of strings over letters.

Each test in an expression is a position. Which positions may come first, last, and after each
other (Glushkov 1961) is an automaton without empty steps; sets of its positions are the states of
a deterministic one.

A character, `.`, `[aeiou]`, `[^a-z]`, `\d`, and `( ) | * + ?` mean what they do in Python's `re`.

A model constrained by an automaton over words, in its state q:

    p(x | C, K) ∝ p(x | K)·exp(β_q(x)/T)

β_q(x) is the weight that q has for the group of x, −inf where it forbids x. Signatures are split
where their words are of different groups, so the sum over all words is one over parts of
signatures. The weight is divided by the temperature T as all scores are.

Priming is an automaton of one state, which forbids nothing. With q = p(C | K), the mass that the
words have unprimed, a primed word is e^β / (1 + (e^β − 1)·q) times as likely (for T = 1).
"""

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from accord.errors import AccordError, NumericalError
from accord.models.common.checks import check_range, expect
from accord.models.data import END, Sentences
from accord.models.inference.interface import InferenceModel, Rows, ScoreTerms, log_sum_exp
from accord.models.ngrams import NGramTables
from accord.models.spelling import ESCAPE, STOP, Alphabet, NGramSpelling

PIECE = r"/(?:\\.|[^/\\\s])+/(?=[\s()|*+?&]|$)|[^\s()|*+?&\"]+"  # /an.*eur/ is one, as km/h is
TOKEN = re.compile(rf'"[^"]*"|[()|*+?]|(?:{PIECE})(?:&(?:{PIECE}))*|(\S)')
REPEAT = ("*", "+", "?")
FORBIDDEN = -1
MOST_STATES, MOST_TESTS, DEEPEST = 10_000, 1_000, 100  # of the automaton; words; brackets
SHOWN = 100  # letters of an expression in an error


class Piece(NamedTuple):
    """A part of an expression: whether it may be empty, its first and its last positions."""

    nullable: bool
    first: frozenset[int]
    last: frozenset[int]


class Expression:
    """A parsed expression: its tests in order, and which of them may follow which."""

    def __init__(self, text: str):
        self.text, self.tests, self.following, self._depth = text, [], [], 0
        tokens = []
        for match in TOKEN.finditer(text):
            if match[1]:
                raise self._wrong('a closing "', text[match.start() :])
            tokens.append(match[0])
        self._tokens = ["", *reversed(tokens)]  # the next one is the last
        self.whole = self._alternatives()
        if self._tokens[-1]:
            raise self._wrong("the end", self._tokens[-1])

    text: str
    tests: list[str]
    following: list[set[int]]
    states: list[frozenset[int] | None]  # the tests that the last word may have passed, by state

    def reversed(self) -> "Expression":
        """Return the same expression, read from its end."""
        places = range(len(self.tests))
        self.following = [{p for p in places if at in self.following[p]} for at in places]
        self.whole = self.whole._replace(first=self.whole.last, last=self.whole.first)
        return self

    def automaton(self, obeys: np.ndarray, end: int) -> np.ndarray:
        """Return `follow` (Q × G) of an automaton that accepts the matching sentences.

        `obeys` (P × G) says which groups of words pass each test; the group `end` closes a
        sentence. States from which no sentence can be completed are forbidden.
        """
        # Groups that pass the same tests lead to the same states: each kind is followed once.
        obeys, kind = np.unique(obeys, axis=1, return_inverse=True)
        number: dict[frozenset[int] | None, int] = {None: 0}  # None: nothing has been read
        self.states, rows, accepting = [None], [], []
        for state in self.states:  # which grows meanwhile
            if state is None:
                read, is_whole = {*self.whole.first}, self.whole.nullable
            else:
                read = set().union(*(self.following[place] for place in state))
                is_whole = bool(self.whole.last & state)
            row = np.full(obeys.shape[1], FORBIDDEN)
            for group in np.flatnonzero(obeys[sorted(read)].any(axis=0)):
                reached = frozenset(place for place in read if obeys[place, group])
                if reached not in number:
                    number[reached] = len(number)
                    self.states.append(reached)
                row[group] = number[reached]
            if len(number) > MOST_STATES:
                raise self._fault(f"at most {MOST_STATES:,} states")
            rows.append(row)
            accepting.append(is_whole)
        follow, accepts = np.array(rows)[:, kind.reshape(-1)], np.array(accepting)
        alive = accepts.copy()
        while (more := ~alive & (alive[follow] & (follow >= 0)).any(axis=1)).any():
            alive |= more
        if not alive[0]:
            raise AccordError(f"'{self.text:.{SHOWN}}': no sentence of known words matches")
        follow[~alive[follow]] = FORBIDDEN
        follow[:, end] = np.where(accepts, np.arange(len(follow)), FORBIDDEN)
        return follow

    def _alternatives(self) -> Piece:
        part = self._sequence()
        while self._tokens[-1] == "|":
            self._tokens.pop()
            nullable, first, last = self._sequence()
            part = Piece(part.nullable or nullable, part.first | first, part.last | last)
        return part

    def _sequence(self) -> Piece:
        part = Piece(True, frozenset(), frozenset())
        while self._tokens[-1] not in ("", "|", ")"):
            nullable, first, last = self._repeated()
            self._link(part.last, first)
            part = Piece(
                part.nullable and nullable,
                part.first | first if part.nullable else part.first,
                part.last | last if nullable else last,
            )
        return part

    def _repeated(self) -> Piece:
        part = self._single()
        while self._tokens[-1] in REPEAT:
            sign = self._tokens.pop()
            if sign != "?":
                self._link(part.last, part.first)
            part = part._replace(nullable=part.nullable or sign != "+")
        return part

    def _single(self) -> Piece:
        token = self._tokens.pop()
        if token in REPEAT:
            raise self._wrong("a test or a bracket", token)
        if token == "(":
            self._depth += 1
            if self._depth > DEEPEST:  # they are parsed by recursion
                raise self._fault(f"brackets at most {DEEPEST} deep")
            part = self._alternatives()
            self._depth -= 1
            if (closing := self._tokens.pop()) != ")":
                raise self._wrong(")", closing)
            return part
        if len(self.tests) == MOST_TESTS:  # they fill a table
            raise self._fault(f"at most {MOST_TESTS:,} words")
        self.tests.append(token)
        self.following.append(set())
        place = frozenset({len(self.tests) - 1})
        return Piece(False, place, place)

    def _link(self, last: frozenset[int], first: frozenset[int]) -> None:
        for place in last:
            self.following[place] |= first

    def _wrong(self, expected: str, token: str) -> AccordError:
        return self._fault(f"{expected}, found '{token or 'the end':.{SHOWN}}'")

    def _fault(self, expected: str) -> AccordError:
        return AccordError(f"'{self.text:.{SHOWN}}': expected {expected}")


UNIT = re.compile(r"\\(.)|\[(\^?)((?:\\.|[^\]\\])+)\]|([()|*+?])|([][{}^$\\])|(.)", re.DOTALL)
RANGE = re.compile(r"\\?(.)(?:-\\?(.))?", re.DOTALL)
KNOWN_ESCAPE = re.compile(r"\W|d")  # of all others it is not said what they mean
OTHER = "\N{NULL}"  # stands for every character that neither alphabet nor expression has

DIGITS = "0123456789"
WIDEST = 10_000  # characters from one to another

Test = tuple[set[str], bool]  # characters, and whether it is passed by all others instead


class Letters(NamedTuple):
    """A deterministic automaton that reads a word from its end, as spelling models write it."""

    follow: np.ndarray  # (Q × D), the state after a character, −1 where no match can come any more
    accepts: np.ndarray  # (Q), whether a word may be over
    characters: list[str]  # the D that it tells apart, OTHER among them
    symbol: np.ndarray  # that a spelling model has for each (D)
    share: np.ndarray  # of each character among those of its symbol (D)


def letters(expression: str, alphabet: Alphabet) -> Letters:
    """Return the automaton of all words that an expression matches as a whole."""
    tests, named, parsed = _parsed(expression)
    outside = sorted(c for c in named | {*DIGITS} if c not in alphabet.symbol)
    characters = [*alphabet.symbol, *outside, OTHER]
    follow = parsed.reversed().automaton(_obeys(tests, characters), len(characters))
    rest = alphabet.others
    inside = [1 / 10 if alphabet.has_digits and c in DIGITS else 1.0 for c in alphabet.symbol]
    return Letters(
        follow[:, :-1],
        follow[:, -1] >= 0,
        characters,
        np.array([alphabet.symbol.get(c, ESCAPE) for c in characters]),
        np.array([*inside, *[1 / rest] * len(outside), (rest - len(outside)) / rest]),
    )


def matches(expression: str, words: Iterable[str]) -> list[bool]:
    """Return whether an expression matches each word as a whole, in linear time.

    Python's `re` tries one way after the other, and `(.|.)*z` has more ways than atoms.
    """
    tests, named, parsed = _parsed(expression)
    words = list(words)
    characters = [*sorted(named.union(*words)), OTHER]
    follow = parsed.automaton(_obeys(tests, characters), len(characters))
    number = {character: at for at, character in enumerate(characters)}
    rows = follow.tolist()

    def is_match(word: str) -> bool:
        state = 0
        for character in word:
            state = rows[state][number[character]]
            if state == FORBIDDEN:
                return False
        return rows[state][-1] != FORBIDDEN

    return [is_match(word) for word in words]


def _obeys(tests: Sequence[Test], characters: Sequence[str]) -> np.ndarray:
    """Return which characters pass each test; the end of a word, the last column, passes none."""
    obeys = np.array(
        [[(c in some) != negated for c in characters] for some, negated in tests], bool
    )
    return np.pad(obeys.reshape(len(tests), len(characters)), ((0, 0), (0, 1)))


def _parsed(expression: str) -> tuple[list[Test], set[str], Expression]:
    """Return the tests of single characters, the characters they name, and the expression."""
    tests: list[Test] = []
    named: set[str] = set()
    text, where = [], f"/{expression:.{SHOWN}}/"
    for unit in UNIT.finditer(expression):
        escaped, negated, inside, sign, unknown, plain = unit.groups()
        if unknown == "[":
            raise AccordError(f"{where}: expected an expression, but unterminated [")
        if unknown:
            raise AccordError(f"{where}: expected \\{unknown} for the sign itself, found {unknown}")
        if sign:
            text.append(sign)
            continue
        if escaped and not KNOWN_ESCAPE.fullmatch(escaped):
            raise AccordError(f"{where}: expected \\d or an escaped sign, found \\{escaped}")
        text.append(f'"{len(tests)}"')
        members: set[str] = set()  # `.` is none of these
        if escaped == "d":
            members = {*DIGITS}
        elif plain != ".":
            members = _members(inside or escaped or plain)
        named |= members
        tests.append((members, bool(negated) or plain == "."))
    try:
        parsed = Expression(" ".join(text))
    except ValueError as error:  # it names tests by their numbers
        _, _, fault = str(error).partition("': ")
        raise AccordError(f"{where}: {fault}") from None
    parsed.text = f"/{expression}/"  # as later errors have it
    return tests, named, parsed


def _members(inside: str) -> set[str]:
    """Return the characters between the brackets of a class, or the single character."""
    if len(inside) == 1:
        return {inside}
    members = set()
    for first, last in RANGE.findall(inside):
        between = range(ord(first), ord(last or first) + 1)
        if not 0 < len(between) <= WIDEST:
            raise AccordError(f"[{inside}]: expected up to {WIDEST:,} characters in rising order")
        members |= set(map(chr, between))
    return members


class WordAutomaton:
    """Reads words by groups, and forbids some groups in each state.

    `group` (V) is the group of each word; `follow` (Q × G) the state after a word of a group, −1
    where the state forbids it; `log_weight` (Q × G), if not all are alike, by how many nats the
    state makes a word of a group likelier. It starts in state 0.
    """

    def __init__(self, group: np.ndarray, follow: np.ndarray, log_weight: np.ndarray | None = None):
        self.group, self.follow = np.asarray(group, np.int64), np.asarray(follow, np.int64)
        states, groups = self.follow.shape
        check_range("group", "groups", self.group, 0, groups)
        check_range("follow", "states", self.follow, -1, states)
        weight = 0.0 if log_weight is None else log_weight
        self.log_weight = np.where(self.follow >= 0, weight, -np.inf)

    def states(self, sentences: Sentences) -> np.ndarray:
        """Return the state before each word of each sentence: (N).

        A forbidden word leaves the state as it was: its text has the probability zero already.
        """
        states = np.zeros(len(sentences.ids), np.int64)
        starts, current = sentences.starts, np.zeros(len(sentences.lengths), np.int64)
        for step in range(sentences.lengths.max(initial=0)):
            longer = np.flatnonzero(sentences.lengths > step)
            positions = starts[longer] + step
            states[positions] = current[longer]
            following = self.follow[current[longer], self.group[sentences.ids[positions]]]
            current[longer] = np.where(following >= 0, following, current[longer])
        return states


# Queries that a constraint leaves as they are
UNCONSTRAINED = (
    *("initial_state", "advance", "columns", "as_read", "adaptor", "vectors", "parameter_count"),
)


class ConstrainedModel(InferenceModel):
    """Another model, constrained by an automaton; its earlier constraints still hold."""

    def __init__(self, whole: InferenceModel, automaton: WordAutomaton):
        self.whole, self.automaton = whole, automaton
        self.is_sum, self.sharpness = whole.is_sum, whole.sharpness
        for name in UNCONSTRAINED:
            setattr(self, name, getattr(whole, name))
        groups = int(automaton.group.max()) + 1
        pairs = whole.signature * groups + automaton.group
        parts, self.signature = np.unique(pairs, return_inverse=True)
        self.above, group = np.divmod(parts, groups)  # the signature and the group of each part
        mass = np.bincount(self.signature, np.exp(whole.log_share), minlength=len(parts))
        with np.errstate(divide="ignore", invalid="ignore"):
            self.part_share = np.log(mass)  # of each part in its signature
            share = whole.log_share - self.part_share[self.signature]
        self.log_share = np.nan_to_num(share, nan=-np.inf, neginf=-np.inf)
        self.weight = automaton.log_weight[:, group] * self.sharpness  # (Q × parts)

    def contexts(self, sentences: Sentences) -> np.ndarray:
        """Return the whole model's contexts, each followed by the state of the automaton."""
        whole = self.whole.contexts(sentences)
        return np.column_stack([whole, self.automaton.states(sentences).astype(whole.dtype)])

    def signature_log_prob(self, h: Rows, context: np.ndarray) -> np.ndarray:
        log_p, total = self._weighed(h, context)
        return log_p - total[:, None]

    def _weighed(self, h: Rows, context: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return log p·exp(β/T) of every part of a signature (N × S), and log of its sum (N)."""
        log_p = self.whole.signature_log_prob(h, context[:, :-1]).astype(np.float64)
        state = context[:, -1].astype(np.int64)
        log_p = log_p[:, self.above] + self.part_share + self.weight[state]
        total = log_sum_exp(log_p)
        if len(stuck := state[np.isneginf(total)]):
            expected = "a word with mass in every state"
            raise AccordError(f"automaton: expected {expected}, state {stuck[0]} allows none")
        return log_p, total

    def terms(self, h: Rows, words: np.ndarray, context: np.ndarray) -> ScoreTerms:
        terms = self.whole.terms(h, words, context[:, :-1])
        weight = self.weight[context[:, -1:].astype(np.int64), self.signature[words]]
        total = self._weighed(h, context)[1]
        return terms._replace(background=terms.background + weight, log_z=terms.log_z + total)

    def switched_off(self, features: Sequence[int]) -> "ConstrainedModel":
        return ConstrainedModel(self.whole.switched_off(features), self.automaton)


ENOUGH = 1e-6  # the weight is tuned until it moves by less
ROUNDS = 100  # of Newton's method, at most
LONGEST_STEP, LARGEST = 2.0, 20.0  # of the weight, in nats


def primed(model: InferenceModel, words: np.ndarray, weight: float) -> InferenceModel:
    """Return a model under which some words are likelier by a weight in nats."""
    group = np.zeros(len(model.signature), np.int64)
    group[words] = 1
    weights = np.array([[0.0, weight]])
    return ConstrainedModel(model, WordAutomaton(group, np.zeros((1, 2)), weights))


def likeliest_weight(model: InferenceModel, words: np.ndarray, sentences: Sentences) -> float:
    """Return the β that makes sentences likeliest.

    Newton's method finds it: Σ_t β·[x_t ∈ C] − log(1 + (e^β − 1)·q_t) is concave in β.
    """
    is_primed = np.isin(sentences.ids, words)
    expected = "a text to tune on that has some of the words"
    expect("priming", bool(is_primed.any()), expected, "none")
    # q before each word of the text; of a signature all words are primed, or none
    split, q = primed(model, words, 0.0), np.zeros(len(sentences.ids))
    signatures = np.unique(split.signature[words])
    for read in split.states(sentences):
        log_p = split.signature_log_prob(read.h, read.context)[:, signatures]
        q[read.positions] = np.exp(log_p.astype(np.float64)).sum(axis=1)
    weight = 0.0
    for _ in range(ROUNDS):
        now = np.exp(weight) * q / (1 + np.expm1(weight) * q)  # q as it is with this weight
        slope, curvature = (is_primed - now).sum(), (now * (1 - now)).sum()
        step = np.clip(slope / max(curvature, 1e-12), -LONGEST_STEP, LONGEST_STEP)
        weight = float(np.clip(weight + step, -LARGEST, LARGEST))
        if abs(step) < ENOUGH:
            break
    return weight / model.sharpness


SETTLED = 1e-14  # rounds go on until no mass moves by more
SUM_ROUNDS = 100_000


class NGramAutomaton:
    """An n-gram model as an automaton, and the mass of all strings that match an expression.

        V(h, q) = p(STOP | h)·[q accepts] + Σ_c p(c | h)·V(hc, δ(q, c))

    is the mass of all ways to go on that match, h being what was written and q the automaton's
    state after it. By p(c | h) = γ(h)·p(c | h′) for all c that are not listed after h, V(h) differs
    from γ(h)·V(h′) by the listed c alone; so a round costs the n-grams and not all contexts times
    all letters. Rounds go on until nothing moves any more.

    Nodes of all lengths are numbered consecutively, level by level, and so are arcs.
    """

    def __init__(self, ngrams: NGramTables):
        self.tables = ngrams.tables
        self.symbols = ngrams.words
        self.nodes = np.cumsum([0, *(len(table.contexts) for table in self.tables)])
        self.first = np.cumsum([0, *(len(table.keys) for table in self.tables)])
        self.symbol = np.concatenate([table.keys % self.symbols for table in self.tables])
        self.of_arc = np.concatenate([table.p for table in self.tables])
        self.backoff = np.concatenate([table.backoff for table in self.tables])
        self.shorter = np.zeros(self.nodes[-1], np.int64)  # the node that a failure leads to
        self.source = np.zeros(self.first[-1], np.int64)  # the node that an arc leaves
        self.next = np.zeros(self.first[-1], np.int64)  # the node that it leads to
        contexts = ngrams.context_words()
        for level, table in enumerate(self.tables):
            nodes, arcs = self._slices(level)
            node = table.keys // self.symbols
            self.source[arcs] = nodes.start + node
            longer = np.column_stack([contexts[level][node], self.symbol[arcs]])
            self.next[arcs] = self._longest(ngrams, longer)
            if level:
                self.shorter[nodes] = self.nodes[level - 1] + table.contexts // self.symbols
        self.start = int(self._longest(ngrams, np.full((1, 1), END))[0])

    def _longest(self, ngrams: NGramTables, context: np.ndarray) -> np.ndarray:
        """Return the node of the longest suffix of each context that has one."""
        longest = np.zeros(len(context), np.int64)
        for first, node in zip(self.nodes, ngrams.nodes(context), strict=False):
            longest = np.where(node >= 0, first + node, longest)
        return longest

    def ends(self) -> np.ndarray:
        """Return p of END after each context."""
        p, is_end = np.zeros(self.nodes[-1]), self.symbol == END
        for level in range(len(self.tables)):
            nodes, arcs = self._slices(level)
            if level:
                p[nodes] = self.backoff[nodes] * p[self.shorter[nodes]]
            listed = np.flatnonzero(is_end[arcs]) + arcs.start
            p[self.source[listed]] = self.of_arc[listed]
        return p

    def _slices(self, level: int) -> tuple[slice, slice]:
        """Return the nodes and the arcs of contexts of one length."""
        nodes, arcs = (starts[level : level + 2].tolist() for starts in (self.nodes, self.first))
        return slice(*nodes), slice(*arcs)

    def _listed(self, node: int) -> slice:
        """Return the arcs that leave a node."""
        level = int(self.nodes.searchsorted(node, side="right")) - 1
        keys = self.tables[level].keys
        local = node - self.nodes[level]
        begin, end = keys.searchsorted([local * self.symbols, (local + 1) * self.symbols])
        return slice(self.first[level] + begin, self.first[level] + end)

    def p(self, node: int) -> np.ndarray:
        """Return p of every symbol after a context."""
        arcs = self._listed(node)
        p = self.backoff[node] * self.p(int(self.shorter[node])) if node else np.zeros(self.symbols)
        p[self.symbol[arcs]] = self.of_arc[arcs]
        return p

    def step(self, node: int, symbol: int) -> int:
        """Return the node after a symbol."""
        arcs = self._listed(node)
        at = arcs.start + int(self.symbol[arcs].searchsorted(symbol))
        if at < arcs.stop and self.symbol[at] == symbol:
            return int(self.next[at])
        return self.step(int(self.shorter[node]), symbol)

    def mass(self, steps: np.ndarray, accepts: np.ndarray) -> np.ndarray:
        """Return V of every node and state; `steps` moves the automaton's state by each symbol."""
        mass = np.zeros((self.nodes[-1], len(accepts)))
        lower = np.zeros(self.first[-1], np.int64)  # the arc of the symbol in the shorter context
        for level, table in enumerate(self.tables[1:], start=1):
            shorter = (table.contexts // self.symbols)[table.keys // self.symbols]
            key = shorter * self.symbols + table.keys % self.symbols
            below = self.tables[level - 1].keys.searchsorted(key)
            lower[self._slices(level)[1]] = self.first[level - 1] + below
        by_symbol = [np.flatnonzero(self.symbol == symbol) for symbol in range(self.symbols)]
        reached = np.tile(accepts, (len(self.symbol), 1))  # by END; the others follow
        for _ in range(SUM_ROUNDS):
            previous = mass.copy()
            for symbol, arcs_of_symbol in enumerate(by_symbol):
                if symbol != END:
                    reached[arcs_of_symbol] = mass[self.next[arcs_of_symbol]] @ steps[symbol].T
            weighed = self.of_arc[:, None] * reached
            for level, table in enumerate(self.tables):
                nodes, arcs = self._slices(level)
                starts = table.keys.searchsorted(np.arange(len(table.contexts)) * self.symbols)
                mass[nodes] = np.add.reduceat(weighed[arcs], starts)
                if level:
                    listed_there = np.add.reduceat(weighed[lower[arcs]], starts)
                    left = mass[self.shorter[nodes]] - listed_there
                    mass[nodes] += self.backoff[nodes][:, None] * left
            if np.abs(mass - previous).max() < SETTLED:
                return mass
        raise NumericalError("the mass of what matches did not settle")


History = tuple[int, ...]  # the symbols of a word so far, its last one first


class Matching:
    """spell(u | s) / m_s for the strings that match; m_s is their total mass."""

    def __init__(self, spelling: NGramSpelling, expression: str):
        if not isinstance(spelling, NGramSpelling):
            raise AccordError(
                "expected a model that spells by n-grams (background.spelling: ngram), as of no "
                "other the mass of all strings that match can be computed"
            )
        self.spelling, self.dfa = spelling, letters(expression, spelling.alphabet)
        self.arcs = NGramAutomaton(spelling.ngrams)
        states, symbols = len(self.dfa.follow), len(spelling.alphabet)
        steps = np.zeros((symbols, states, states))  # by each symbol, from state to state
        for at, symbol in enumerate(self.dfa.symbol):
            alive = np.flatnonzero(self.dfa.follow[:, at] >= 0)
            steps[symbol, alive, self.dfa.follow[alive, at]] += self.dfa.share[at]
        self.steps, self.shared = steps, self.arcs.mass(steps, self.dfa.accepts.astype(float))
        self.begun: dict[tuple[int, History, int], float] = {}
        self.nodes: dict[History, int] = {(): 0}  # where a word so far stands among the beginnings

    @cached_property
    def log_mass(self) -> np.ndarray:
        """Return log m_s of each class, in nats."""
        spelling, start = self.spelling, self.arcs.start
        written = np.array([self._mass(s, (), start, 0) for s in range(spelling.classes)])
        empty = -np.expm1(spelling.not_empty) * self.dfa.accepts[0]  # which is never written
        of_letters = np.maximum(written - empty, 0) / np.exp(spelling.not_empty)
        with np.errstate(divide="ignore"):
            return np.log((1 - spelling.numbers) * of_letters + spelling.numbers * self._numbers[0])

    def draw(self, kind: int, generator: np.random.Generator) -> str:
        """Draw a string of a class from those that match."""
        number = np.log(self.spelling.numbers[kind] * self._numbers[0] or 1e-300)
        if generator.random() < np.exp(number - self.log_mass[kind]):
            return self._draw_number(generator)
        written: list[str] = []
        history: History = ()
        node, state = self.arcs.start, 0
        while True:
            chances = self._chances(kind, history, node, state)
            choice = int(generator.choice(len(chances), p=chances / chances.sum()))
            if choice == len(self.dfa.characters):
                return "".join(reversed(written))
            character, symbol = self.dfa.characters[choice], int(self.dfa.symbol[choice])
            written.append(self._other(generator) if character == OTHER else character)
            history, node = (*history, symbol), self.arcs.step(node, symbol)
            state = int(self.dfa.follow[state, choice])

    def _mass(self, kind: int, history: History, node: int, state: int) -> float:
        """Return V for a class: its own beginnings, and those that all classes share."""
        seen = self._seen(history, kind)
        if seen is None:
            return float(self.shared[node, state])
        key = kind, history, state
        if key not in self.begun:
            of_all = self.arcs.p(node)
            of_class, kept = self._of_class(seen, of_all)
            mass = kept * self.shared[node, state]
            mass += (of_class - kept * of_all)[STOP] * self.dfa.accepts[state]
            for symbol in {*np.flatnonzero(seen).tolist()} - {STOP}:
                then, follows = self.arcs.step(node, symbol), self.steps[symbol, state]
                for to in np.flatnonzero(follows).tolist():
                    of_own = of_class[symbol] * self._mass(kind, (*history, symbol), then, to)
                    mass += follows[to] * (of_own - kept * of_all[symbol] * self.shared[then, to])
            self.begun[key] = mass
        return self.begun[key]

    def _seen(self, history: History, kind: int) -> np.ndarray | None:
        """Return how often each symbol followed in words of a class; None if none did."""
        if history not in self.nodes:
            shorter = self.nodes[history[:-1]]
            (node,) = self.spelling.begun.child(np.array([shorter]), np.array(history[-1:]))
            self.nodes[history] = int(node)
        return self.spelling.begun.counts_after(self.nodes[history], kind)

    def _of_class(self, seen: np.ndarray, of_all: np.ndarray) -> tuple[np.ndarray, float]:
        """Return p of each symbol in a class, and the part of it that all classes share."""
        counted, of_class = (seen.sum(), np.count_nonzero(seen)), self.spelling.of_class
        return of_class(seen, *counted, of_all), of_class(0, *counted, 1.0)

    def _chances(self, kind: int, history: History, node: int, state: int) -> np.ndarray:
        """Return p of each character and, last, of the end, times the mass that then matches."""
        p = self.arcs.p(node)
        seen = self._seen(history, kind)
        if seen is not None:
            p, _ = self._of_class(seen, p)
        chances = np.zeros(len(self.dfa.characters) + 1)
        for character in np.flatnonzero(self.dfa.follow[state] >= 0).tolist():
            symbol, to = int(self.dfa.symbol[character]), int(self.dfa.follow[state, character])
            mass = self._mass(kind, (*history, symbol), self.arcs.step(node, symbol), to)
            chances[character] = p[symbol] * self.dfa.share[character] * mass
        chances[-1] = p[STOP] * self.dfa.accepts[state] if history else 0.0
        return chances

    @cached_property
    def _numbers(self) -> tuple[float, np.ndarray]:
        """Return the mass of matching numbers, and that which matches after a digit, by state."""
        stop, steps = 1 / self.spelling.length, np.zeros((len(self.dfa.follow),) * 2)
        for follow in self.dfa.follow[:, self._digits].T:
            steps[follow >= 0, follow[follow >= 0]] += 1 / len(DIGITS)
        following = np.linalg.solve(
            np.eye(len(steps)) - (1 - stop) * steps, stop * self.dfa.accepts
        )
        return float(steps[0] @ following), following

    @property
    def _digits(self) -> list[int]:
        return [self.dfa.characters.index(digit) for digit in DIGITS]

    def _draw_number(self, generator: np.random.Generator) -> str:
        written: list[str] = []
        state, stop = 0, 1 / self.spelling.length
        while True:
            follow = self.dfa.follow[state, self._digits]
            chances = np.where(follow >= 0, self._numbers[1][follow], 0) / len(DIGITS)
            over = stop * self.dfa.accepts[state] if written else 0.0
            chances = np.append(chances * (1 - stop if written else 1.0), over)
            choice = int(generator.choice(len(chances), p=chances / chances.sum()))
            if choice == len(DIGITS):
                return "".join(reversed(written))
            written.append(DIGITS[choice])
            state = follow[choice]

    def _other(self, generator: np.random.Generator) -> str:
        while (character := self.spelling.alphabet.other(generator)) in self.dfa.characters:
            pass
        return character
