"""The words that may have been meant, and the cost of each kind of mistake.

A word may stand for one that sounds the same (*et*, *est*), for a form of the same lemma that
agrees otherwise (*content*, *contente*), or two words for one (*c'est*, *ces*). The prior gives
each kind of change its cost in nats:

    log channel(text | meant) = −Σ_changes Σ_kinds cost

People confuse forms that sound the same: *pomme* for *pommes* rather than *un* for *une*. And a
dependent follows its noun or its subject: *Elle est content* lacks an *e*, and is not about *il*.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from accord.lexicon.homophones import Homophones
from accord.pipeline.ask.scorer import Scorer
from accord.pipeline.model.words import Reading, Readings

AGREEMENT = re.compile(r"(?:^|\|)(?:Gender|Number|Person)=[^|]*")
SILENT = re.compile(r"(?:e?s|x|e|nt|t)$")  # endings that are mostly not heard
DEPENDENT = {"ADJ", "DET", "PRON"}  # parts of speech that agree with a noun
SELDOM = 0.5  # occurrences per million words of words that hardly occur
COMMON = 60.0  # occurrences per million words of a word that is often taken for another
# Pronounced alike by people and not by Lexique, or one word and two.
WRITTEN_FOR = (("ce", "se"), ("tout", "tous"), ("plutôt", "plus tôt"), ("quelque", "quel que"))

# The kinds of change, each with its meaning.
KINDS = {
    "change": "every change",
    "audible": "the other word sounds otherwise",
    "determiner": "a determiner that sounds otherwise",
    "noun": "a noun becomes another form of itself",
    "pronoun": "a pronoun gets another person or gender",
    "tense": "a verb gets another mood, tense or verb form",
    "other word": "the other word has another lemma, and both are frequent",
    "rare word": "the other word has another lemma, and one of both is rare",
    "cut": "one word becomes two, or two become one",
    "frequency": "the other word is more frequent: for each nat of log frequency",
}


@dataclass(frozen=True)
class Prior:
    """The cost of each kind of change, in nats. A change may be of several kinds.

    Writers in doubt choose the frequent form. So a rare form is rarely a mistake: the cost grows
    with the frequency of the other word.
    """

    costs: Mapping[str, float] = field(default_factory=lambda: DEFAULT)

    def cost(self, change: "Change") -> float:
        """Return the cost of a change in nats."""
        of_kinds = sum(self.costs[kind] for kind in change.kinds)
        return of_kinds + self.costs["frequency"] * change.frequency

    def stricter(self, bits: float) -> "Prior":
        """Return the prior with a further cost of every change."""
        return Prior({**self.costs, "change": self.costs["change"] + bits * math.log(2)})


# Tuned for F0.5 on 300 sentences of UD French train and the same with one to three planted errors
# (results/log/homophones.md). Those of determiners, pronouns, rare words and cuts are set by hand.
DEFAULT = {
    "change": 3.75,
    "audible": -0.5,
    "determiner": 1.5,
    "noun": 0.0,
    "pronoun": 4.0,
    "tense": 3.25,
    "other word": -2.0,
    "rare word": 4.0,
    "cut": 0.0,
    "frequency": 0.5,
}


class Change(NamedTuple):
    """Other words instead of `words[start:end]`."""

    start: int
    end: int
    words: tuple[str, ...]
    kinds: tuple[str, ...]
    frequency: float = 0.0  # log of how many times more frequent the other word is
    feature: str = ""  # that a form of the same lemma gets: Gender=Fem


def changed(words: Sequence[str], changes: Sequence[Change]) -> list[str]:
    """Return a sentence with changes that do not overlap."""
    sentence = list(words)
    for change in sorted(changes, reverse=True):
        sentence[change.start : change.end] = change.words
    return sentence


class Candidates:
    """The changes that a sentence offers; only words that a model knows are suggested."""

    def __init__(self, scorer: Scorer, homophones: Homophones | None = None):
        self.known = scorer.vocabulary.known
        self.readings: Readings = scorer.parts.readings
        self.homophones = homophones or Homophones.bundled()
        # Words that were looked up already.
        self._others: dict[str, dict[str, tuple[str, ...]]] = {}
        self._paradigms: dict[str, dict[str, list[tuple[Reading, Reading]]]] = {}

    def at_each(self, words: Sequence[str]) -> list[list[Change]]:
        """Return the changes that begin at each word of a sentence, in the case of the text.

        Words with a capital inside a sentence may be names, and stay.
        """
        return [[*self._changes(words, position)] for position in range(len(words))]

    def _changes(self, words: Sequence[str], position: int) -> Iterator[Change]:
        word, end = words[position], position + 1
        if position and word != word.lower():
            return
        for other, kinds in self.instead_of(word.lower()).items():
            more = self._log_frequency(other) - self._log_frequency(word.lower())
            feature = _new_feature(self._forms(word.lower()).get(other, ()))
            yield Change(position, end, (_cased(other, word),), kinds, more, feature)
        for first, second in self._parted(word.lower()):
            yield Change(position, end, (_cased(first, word), second), ("change", "cut"))
        for other in self._joined(word.lower(), *words[end : end + 1]):
            yield Change(position, end + 1, (_cased(other, word),), ("change", "cut"))

    def instead_of(self, word: str) -> dict[str, tuple[str, ...]]:
        """Return the single words that may be meant by a word, and the kinds of each change."""
        if word not in self._others:
            forms = self._forms(word)
            alike = [*self.homophones.sounding_like(word), *_written_for(word)]
            others = sorted({*forms, *(other for other in alike if other in self.known)} - {word})
            self._others[word] = {
                other: self._kinds(word, other, forms.get(other, []))
                for other in others
                if _fits(word, other)
            }
        return self._others[word]

    def has(self, word: str, *feats: str) -> bool:
        """Return whether some reading of a word has all of these features."""
        readings = self.readings.of_form(word)
        return any({*feats} <= {*reading.feats.split("|")} for reading in readings)

    def uposes(self, word: str) -> set[str]:
        """Return the parts of speech that a word may be."""
        return {reading.upos for reading in self.readings.of_form(word)}

    def _forms(self, word: str) -> dict[str, list[tuple[Reading, Reading]]]:
        """Return the forms of the same lemma that agree otherwise, with the readings that do."""
        if word in self._paradigms:
            return self._paradigms[word]
        readings = self._inflected(word)
        forms = self._paradigms[word] = {}
        for lemma in sorted({reading.lemma for reading in readings}):
            for form in self.readings.forms_of(lemma):
                for other in self._inflected(form) if form != word else ():
                    pairs = [(one, other) for one in readings if _cell(one) == _cell(other)]
                    if pairs:
                        forms.setdefault(form, []).extend(pairs)
        return forms

    def _inflected(self, word: str) -> list[Reading]:
        """Return the readings that are forms of a lemma.

        A contraction (du) is two words at once, and no form of either.
        """
        readings = self.readings.of_form(word)
        if {"ADP", "DET"} <= {reading.upos for reading in readings}:
            return []
        return [reading for reading in readings if reading.lemma]

    def _kinds(
        self, word: str, other: str, pairs: Sequence[tuple[Reading, Reading]]
    ) -> tuple[str, ...]:
        kinds = ["change"]
        if not self._sounds_alike(word, other):
            kinds.append("audible")
            if any(one.upos == "DET" for one, _ in pairs):
                kinds.append("determiner")
        if pairs:
            if "NOUN" in (uposes := {one.upos for one, _ in pairs}) and not uposes & DEPENDENT:
                kinds.append("noun")
            if all(one.upos == "PRON" and _differ(one, two) for one, two in pairs):
                kinds.append("pronoun")
        elif self._share_lemma(word, other):
            kinds.append("tense")
        else:
            counts = [self.homophones.count(form) for form in (word, other)]
            kinds.append("other word" if min(counts) >= COMMON else "rare word")
        return tuple(kinds)

    def _log_frequency(self, word: str) -> float:
        return math.log(max(self.homophones.count(word), SELDOM))

    def _share_lemma(self, word: str, other: str) -> bool:
        lemmas = ({reading.lemma for reading in self._inflected(form)} for form in (word, other))
        return bool(set.intersection(*lemmas))

    def _sounds_alike(self, word: str, other: str) -> bool:
        one, two = (self.homophones.sounds_of(form) for form in (word, other))
        if one and two:
            return bool(one & two) or other in _written_for(word)
        return SILENT.sub("", word) == SILENT.sub("", other)

    def _parted(self, word: str) -> Iterator[tuple[str, str]]:
        pairs = self.homophones.parted(word) if self._is_common(word) else ()
        written = (tuple(words.split()) for words in _written_for(word) if " " in words)
        for first, second in (*pairs, *written):
            if self._is_common(first) and self._is_common(second):
                yield first, second

    def _joined(self, word: str, following: str = "") -> Iterator[str]:
        if not (self._is_common(word) and self._is_common(following)):
            return
        joined = self.homophones.joined(word, following)
        yield from filter(self._is_common, (*joined, *_written_for(f"{word} {following}")))

    def _is_common(self, word: str) -> bool:
        return word in self.known and self.homophones.count(word) >= COMMON


def _written_for(words: str) -> list[str]:
    """Return the words that people write for these."""
    return [pair[1 - pair.index(words)] for pair in WRITTEN_FOR if words in pair]


def _fits(word: str, other: str) -> bool:
    """Return whether a word of letters is elided, or an enclitic, if the other is.

    *L'* and *-il* stand where *les* and *il* cannot.
    """
    is_word = other.replace("'", "").replace("-", "").isalpha()
    is_elided = word.endswith("'") == other.endswith("'")
    return is_word and is_elided and word.startswith("-") == other.startswith("-")


def _cell(reading: Reading) -> tuple[str, str, str]:
    """Return what forms that differ in agreement alone share. Auxiliaries count as verbs."""
    upos = "VERB" if reading.upos == "AUX" else reading.upos
    return reading.lemma, upos, AGREEMENT.sub("", reading.feats).strip("|")


def _new_feature(pairs: Sequence[tuple[Reading, Reading]]) -> str:
    """Return the feature of agreement that a form gets, by its best reading.

    *Pommes* is the plural of a noun rather than the second person of a verb.
    """

    def is_verb(pair: tuple[Reading, Reading]) -> bool:
        return pair[0].upos in ("VERB", "AUX") and "VerbForm=Part" not in pair[0].feats

    for one, other in sorted(pairs, key=is_verb):
        had = {*one.feats.split("|")}
        new = [pair for pair in other.feats.split("|") if AGREEMENT.match(pair) and pair not in had]
        if new:
            return min(new, key=lambda pair: not pair.startswith("Number="))
    return ""


def _differ(one: Reading, other: Reading) -> bool:
    """Return whether two readings have another person or gender."""
    values = (
        {pair for pair in reading.feats.split("|") if pair.startswith(("Person=", "Gender="))}
        for reading in (one, other)
    )
    return len(set.symmetric_difference(*values)) > 0


def _cased(word: str, like: str) -> str:
    return word.capitalize() if like[:1].isupper() else word
