"""φ(K, x) and ψ(K) as functions of the whole prefix (Dymetman & Xiao 2016, §2.3).

A feature is a function of Python, `features(prefix, word)`. It returns numbers by name, and the
network chooses a weight for each name at every step:

    p(x | K) = b(K, x)·exp(a_t·φ(x) + a'_t·φ(K, x)) / Z(K),    a'_t = W'·h_t + c'

`features.remember(prefix)`, if it has one, says on which part of the prefix the features depend.
The function is then called once for each such state and signature, and the numbers are kept.
`features.read(prefix)`, if it has one, is ψ(K): numbers that the adaptor reads beside h_t,
a_t = W·h_t + U·ψ(K) + c.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from torch import Tensor, nn

from accord.errors import AccordError
from accord.models.background import Background, ClassTerms, Unigram, split_terms
from accord.models.common.registry import Choice, Registry, about, parted
from accord.models.data import Sentences
from accord.models.log_linear import (
    Described,
    Gate,
    LogLinear,
    OutputContext,
    ScoredSignatures,
    SignatureTerms,
    Temperature,
)
from accord.models.phi import Features
from accord.zoo.expert import ExpertBackground

KEPT = 1 << 25  # numbers, of the states that were met last
NOTHING: frozenset[str] = frozenset()

# Functions φ(K, x) of a prefix and a word. A file of your own is `FILE.py:FUNCTION`.
PREFIX_FEATURES = Registry("feature of the prefix", "accord.prefix_features")


@dataclass(frozen=True, eq=False)
class WordSeen:
    """A word as a feature sees it: `word["Gender"]` is the set of its genders, {"Fem", "Masc"}.

    A candidate that stands for several words of one signature has no form: "".
    """

    form: str
    values: dict[str, frozenset[str]] = field(default_factory=dict)

    def __getitem__(self, name: str) -> frozenset[str]:
        return self.values.get(name, NOTHING)


Numbers = dict[str, float]


class PrefixStates:
    """The states of prefixes by number, and the features of all signatures in each of them."""

    def __init__(self, features: Features, described: Described, function: Callable):
        self.features, self.described = features, described
        self.function = function
        self.remember: Callable[[Sequence[WordSeen]], Hashable] = (
            _beside(function, "remember") or tuple
        )
        self.read: Callable[[Sequence[WordSeen]], Numbers] = _beside(function, "read") or (
            lambda prefix: {}
        )
        self.word = lru_cache(maxsize=None)(self._word)
        members, ends = features.members
        single = {int(s): int(members[ends[s]]) for s in np.flatnonzero(np.diff(ends) == 1)}
        self.candidates = [
            WordSeen(described.forms[single[s]] if s in single else "", self._values(s))
            for s in range(features.signature_count)
        ]
        self.names = [*self.function([], self.candidates[0])]
        self.read_names = [*self.read([])]
        self.numbers: dict[Hashable, int] = {}
        self.prefixes: list[tuple[WordSeen, ...]] = []  # the first that led to each state
        self.others: dict[int, tuple[WordSeen, ...]] = {}  # a second one, if there is one
        of_state = len(self.candidates) * len(self.names)
        self.table = lru_cache(maxsize=max(1, KEPT // of_state))(self._table)
        self.psi = lru_cache(maxsize=None)(self._psi)

    def contexts(self, sentences: Sentences) -> np.ndarray:
        """The number of the state before each word: (N × 1)."""
        found, ids = [], sentences.ids.tolist()
        for start, length in zip(sentences.starts, sentences.lengths, strict=True):
            prefix: list[WordSeen] = []
            for position in range(start, start + length):
                found.append(self._number(prefix))
                prefix.append(self.word(ids[position]))
        return np.array(found, np.int64).reshape(-1, 1)

    def named(self, kept: Tensor) -> tuple[Tensor, Tensor]:
        """No word is set apart from its signature."""
        return kept[:, :0], kept[:, :0].float()

    def _number(self, prefix: list[WordSeen]) -> int:
        state = self.remember(prefix)
        number = self.numbers.setdefault(state, len(self.numbers))
        if number == len(self.prefixes):
            self.prefixes.append(tuple(prefix))
        elif number not in self.others and tuple(prefix) != self.prefixes[number]:
            self.others[number] = tuple(prefix)
        return number

    def _table(self, number: int) -> np.ndarray:
        """φ(K, ·) in a state: (S × F'). Two prefixes that led to the state must agree on it."""
        table = self._numbers_after(self.prefixes[number])
        if number in self.others and not np.array_equal(
            table, self._numbers_after(self.others[number])
        ):
            shown = [
                " ".join(word.form for word in prefix) or "(nothing)"
                for prefix in (self.prefixes[number], self.others[number])
            ]
            raise AccordError(
                f"remember: expected equal features in equal states; they differ after "
                f"'{shown[0]}' and '{shown[1]}', which are one state"
            )
        return table

    def _numbers_after(self, prefix: tuple[WordSeen, ...]) -> np.ndarray:
        rows = [
            _in_order(self.function(prefix, word), self.names, "features")
            for word in self.candidates
        ]
        return np.array(rows, np.float32).reshape(len(self.candidates), len(self.names))

    def _psi(self, number: int) -> list[float]:
        return _in_order(self.read(self.prefixes[number]), self.read_names, "read")

    def _word(self, word: int) -> WordSeen:
        return WordSeen(
            self.described.forms[word], self._values(int(self.features.signature[word]))
        )

    def _values(self, signature: int) -> dict[str, frozenset[str]]:
        """What Φ says of a signature: `Gender=Fem` and `Gender=Masc` are two values of Gender."""
        start, end = self.features.indptr[signature : signature + 2]
        found: dict[str, set[str]] = {}
        for feature in self.features.indices[start:end].tolist():
            name, _, value = self.described.names[feature].partition("=")
            if value and "×" not in value:
                found.setdefault(name, set()).add(value)
        return {name: frozenset(values) for name, values in found.items()}


def _beside(function: Callable, name: str) -> Callable | None:
    """What a function of features brings along, with the same settings."""
    if not isinstance(function, partial):
        return getattr(function, name, None)
    found = getattr(function.func, name, None)
    return found and partial(found, **function.keywords)


def _in_order(numbers: Any, names: Sequence[str], where: str) -> list[float]:
    if not isinstance(numbers, dict) or numbers.keys() != {*names}:
        raise AccordError(
            f"{where}: expected a number for each of {', '.join(names)}, as before the first "
            f"word; found {numbers!r:.200}"
        )
    return [float(numbers[name]) for name in names]


class PrefixLogLinear(LogLinear):
    """A log-linear layer with features φ(K, x), each with a weight that the network chooses."""

    background: ExpertBackground

    def __init__(
        self,
        features: Features,
        background: Background,
        size: int,
        *,
        prefixes: PrefixStates,
        **settings: Any,
    ):
        super().__init__(
            features, ExpertBackground(features, background, prefixes), size, **settings
        )
        self.prefixes = prefixes
        self.prefix_weight = nn.Parameter(torch.zeros(len(prefixes.names), self.width))
        self.prefix_bias = nn.Parameter(torch.zeros(len(prefixes.names)))
        self.read_weight = nn.Parameter(
            torch.zeros(features.feature_count, len(prefixes.read_names))
        )

    def score_signatures(
        self, h: Tensor, context: Tensor | None, terms: SignatureTerms | None = None
    ) -> ScoredSignatures:
        """Score the signatures with a'_t·φ(K, s)."""
        scored = super().score_signatures(h, context, terms)
        return replace(scored, logits=scored.logits + self.prefix_scores(h, context))

    def prefix_scores(self, h: Tensor, context: Tensor | None) -> Tensor:
        """a'_t·φ(K, s) + φ_s·U·ψ(K) of every signature: (N × S). States that are equal share φ."""
        numbers, at = self.background.kept(context).squeeze(1).unique(return_inverse=True)
        a = self.scaled(nn.functional.linear(h, self.prefix_weight, self.prefix_bias))
        order = at.argsort()
        rows = a[order].split(at.bincount(minlength=len(numbers)).tolist())
        scores = [
            of_state @ torch.from_numpy(self.prefixes.table(number)).to(a).T
            for of_state, number in zip(rows, numbers.tolist(), strict=True)
        ]
        found = torch.cat(scores)[order.argsort()]
        if not self.prefixes.read_names:
            return found
        psi = a.new_tensor([self.prefixes.psi(number) for number in numbers.tolist()])
        return found + self.scaled(psi[at] @ self.product(self.read_weight).T)

    def adaptor(self, h: Tensor) -> Tensor:
        """One weight per feature, those of the prefix last: (N × F + F')."""
        of_prefix = nn.functional.linear(h, self.prefix_weight, self.prefix_bias)
        return torch.cat([super().adaptor(h), self.scaled(of_prefix)], dim=1)

    def log_background_of(self, h: Tensor, words: Tensor, context: Tensor | None = None) -> Tensor:
        """log b(K, x), and what the prefix adds to it: explanations show both as one term."""
        asked = self.signature[words.view(len(words), -1)]
        added = self.prefix_scores(h, context).gather(1, asked).view_as(words)
        return super().log_background_of(h, words, context) + added


class WordByWord(Background):
    """The same b(K, x) for a Φ of which every word is a signature of its own."""

    words: Tensor  # of each signature (V)

    def __init__(self, features: Features, whole: Background):
        super().__init__(features)
        self.whole = whole
        words = torch.from_numpy(np.argsort(features.signature))
        self.register_buffer("words", words, persistent=False)

    def contexts(self, sentences: Sentences, training: bool = False) -> np.ndarray:
        return self.whole.contexts(sentences, training)

    def class_terms(self, context: Tensor | None = None, split: bool = False) -> ClassTerms:
        log_mass = self.whole.log_mass_of(None, context)[..., self.words]
        if not split:
            return log_mass, None
        prior = torch.from_numpy(self.word_masses()).to(log_mass)[self.words]
        return split_terms(log_mass, (prior / prior.sum()).log().expand_as(log_mass))

    def log_mass_of(self, words: Tensor | None, context: Tensor | None = None) -> Tensor:
        return self.whole.log_mass_of(words, context)

    def word_masses(self) -> np.ndarray:
        return self.whole.word_masses()

    @property
    def size(self) -> int:
        return self.whole.size


@about(log_linear=True)
def prefix_features(
    given: OutputContext,
    *,
    features: Annotated[
        Choice, PREFIX_FEATURES, "a function of a prefix and a word; your own is FILE.py:FUNCTION"
    ] = "agreement",
    exact: Annotated[
        bool,
        "calls it for every word, not for each signature; for functions that read forms",
    ] = False,
    background_gate: Gate = False,
    temperature: Temperature = False,
) -> PrefixLogLinear:
    """A log-linear output with features of the whole prefix and the candidate word."""
    if given.described is None:
        raise AccordError("output: prefix-features expects words; a model of subwords has none")
    kind, settings = parted(PREFIX_FEATURES.choose(features))
    if exact:  # each word by itself, so that the function sees every form
        phi = given.features.split_by(np.arange(given.features.vocabulary_size))
        background = given.background
        by_word = (
            Unigram(phi, background.word_masses())
            if isinstance(background, Unigram)
            else WordByWord(phi, background)
        )
        given = replace(given, features=phi, background=by_word)
    function = partial(PREFIX_FEATURES[kind], **settings)
    return given.log_linear(
        PrefixLogLinear,
        prefixes=PrefixStates(given.features, given.described(), function),
        background_gate=background_gate,
        temperature=temperature,
    )


AGREEING = ("ADJ", "AUX", "DET", "NOUN", "PRON", "VERB")  # parts of speech that agree
CATEGORIES = ("Gender", "Number")


def last_nominal(prefix: Sequence[WordSeen]) -> WordSeen | None:
    """The last noun or determiner of a prefix."""
    return next((word for word in reversed(prefix) if word["pos"] & {"NOUN", "DET"}), None)


def agreement(prefix: Sequence[WordSeen], word: WordSeen) -> Numbers:
    """A word agrees with the last noun or determiner in gender and number, however far it is."""
    last = last_nominal(prefix)
    found = {}
    for name in CATEGORIES:
        theirs = last[name] if last else NOTHING
        shared, decided = bool(theirs & word[name]), bool(theirs and word[name])
        for pos in AGREEING:
            said = pos in word["pos"]
            found[f"{pos} agrees in {name}"] = float(said and shared)
            found[f"{pos} clashes in {name}"] = float(said and decided and not shared)
    return found


def _agreement_state(prefix: Sequence[WordSeen]) -> Hashable:
    last = last_nominal(prefix)
    return last and tuple(last[name] for name in CATEGORIES)


# A function has no such attribute for mypy, here and below.
agreement.remember = _agreement_state  # type: ignore[attr-defined]


@cache
def _facts(table: str) -> dict[str, str]:
    """Key and number of each line of a table, parted by a tab."""
    facts = {}
    for number, line in enumerate(Path(table).read_text(encoding="utf-8").splitlines(), start=1):
        key, tab, value = line.partition("\t")
        if not tab:
            raise AccordError(f"{table}, line {number}: expected a key, a tab and a number")
        facts[key] = value
    return facts


def knowledge(
    prefix: Sequence[WordSeen],
    word: WordSeen,
    *,
    table: Annotated[str, "a word and its number on each line, parted by a tab"] = "facts.tsv",
) -> Numbers:
    """The paper's expert φ_e: 1 if a word is no number, or the number that a table gives.

    The table is asked for the last word of the prefix that it has.
    """
    is_number = "NUM" in word["pos"] or word.form.isdigit()
    return {"expert": float(not is_number or word.form == _given(prefix, table=table))}


def _given(prefix: Sequence[WordSeen], *, table: str) -> str | None:
    facts = _facts(table)
    return next((facts[each.form] for each in reversed(prefix) if each.form in facts), None)


knowledge.remember = _given  # type: ignore[attr-defined]


PLACES = 8  # that are told apart; all later ones are one


def position(prefix: Sequence[WordSeen], word: WordSeen) -> Numbers:
    """How many words are before: a weight for each part of speech at each of the first places."""
    place = min(len(prefix), PLACES)
    return {
        f"{pos} at {number}": float(number == place and pos in word["pos"])
        for number in range(PLACES + 1)
        for pos in (*AGREEING, "ADP", "PROPN", "PUNCT")
    }


position.remember = lambda prefix: min(len(prefix), PLACES)  # type: ignore[attr-defined]
