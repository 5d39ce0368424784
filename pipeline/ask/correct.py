"""A checker of agreement and homophones.

    meant = argmax over sentences of log p(sentence) + log channel(text | sentence)

A word may stand for one that sounds the same (*et*, *est*), for a form of the same lemma that
agrees otherwise (*content*, *contente*), or two words for one (*c'est*, *ces*). The prior gives
each kind of change its cost in nats:

    log channel(text | meant) = −Σ_changes Σ_kinds cost

People confuse forms that sound the same: *pomme* for *pommes* rather than *un* for *une*. And a
dependent follows its noun or its subject: *Elle est content* lacks an *e*, and is not about *il*.

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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from accord.corpora.tokenise import spans
from accord.errors import AccordError
from accord.lexicon.homophones import Homophones
from accord.models.inference.generation import Beam
from accord.models.inference.interface import InferenceModel
from accord.pipeline.ask.explain import SPELLED, Choice, Explainer, label
from accord.pipeline.ask.scorer import BITS, Scorer, split_texts, tokens
from accord.pipeline.base.names import END
from accord.pipeline.model.words import Reading, Readings

AGREEMENT = re.compile(r"(?:^|\|)(?:Gender|Number|Person)=[^|]*")
SILENT = re.compile(r"(?:e?s|x|e|nt|t)$")  # endings that are mostly not heard
DEPENDENT = {"ADJ", "DET", "PRON"}  # parts of speech that agree with a noun
SELDOM = 0.5  # occurrences per million words of words that hardly occur
COMMON = 60.0  # occurrences per million words of a word that is often taken for another
# Pronounced alike by people and not by Lexique, or one word and two.
WRITTEN_FOR = (("ce", "se"), ("tout", "tous"), ("plutôt", "plus tôt"), ("quelque", "quel que"))

# The kinds of change, each with its cost in nats. The costs are tuned for F0.5 on 300 sentences of
# UD French train and the same with one to three planted errors (results/log/homophones.md). Those
# of determiners, pronouns, rare words and cuts are set by hand.
KINDS = {
    "change": 3.75,  # every change
    "audible": -0.5,  # the other word sounds otherwise
    "determiner": 1.5,  # a determiner that sounds otherwise
    "noun": 0.0,  # a noun becomes another form of itself
    "pronoun": 4.0,  # a pronoun gets another person or gender
    "tense": 3.25,  # a verb gets another mood, tense or verb form
    "other word": -2.0,  # the other word has another lemma, and both are frequent
    "rare word": 4.0,  # the other word has another lemma, and one of both is rare
    "cut": 0.0,  # one word becomes two, or two become one
    "frequency": 0.5,  # the other word is more frequent: for each nat of log frequency
}


@dataclass(frozen=True)
class Prior:
    """The cost of each kind of change, in nats. A change may be of several kinds.

    Writers in doubt choose the frequent form. So a rare form is rarely a mistake: the cost grows
    with the frequency of the other word.
    """

    costs: Mapping[str, float] = field(default_factory=lambda: KINDS)

    def cost(self, change: "Change") -> float:
        """Return the cost of a change in nats."""
        of_kinds = sum(self.costs[kind] for kind in change.kinds)
        return of_kinds + self.costs["frequency"] * change.frequency

    def stricter(self, bits: float) -> "Prior":
        """Return the prior with a further cost of every change."""
        return Prior({**self.costs, "change": self.costs["change"] + bits * math.log(2)})


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
        self.instead_of, self._forms = cache(self._instead_of), cache(self._forms_like)

    def at_each(self, words: Sequence[str]) -> list[list[Change]]:
        """Return the changes that begin at each word of a sentence, in the case of the text.

        Words with a capital inside a sentence may be names, and stay.
        """
        return [[*self._changes(words, position)] for position in range(len(words))]

    def _changes(self, words: Sequence[str], position: int) -> Iterator[Change]:
        end, word = position + 1, words[position].lower()
        if position and words[position] != word:
            return

        def cased(other: str) -> str:
            return other.capitalize() if words[position][:1].isupper() else other

        for other, kinds in self.instead_of(word).items():
            more = self._log_frequency(other) - self._log_frequency(word)
            feature = _new_feature(self._forms(word).get(other, ()))
            yield Change(position, end, (cased(other),), kinds, more, feature)
        pairs = self.homophones.parted(word) if self._is_common(word) else ()
        written = (tuple(pair.split()) for pair in _written_for(word) if " " in pair)
        for first, second in (*pairs, *written):
            if self._is_common(first) and self._is_common(second):
                yield Change(position, end, (cased(first), second), ("change", "cut"))
        for following in filter(self._is_common, words[end : end + 1]):
            if self._is_common(word):
                joined = self.homophones.joined(word, following)
                for other in (*joined, *_written_for(f"{word} {following}")):
                    if self._is_common(other):
                        yield Change(position, end + 1, (cased(other),), ("change", "cut"))

    def _instead_of(self, word: str) -> dict[str, tuple[str, ...]]:
        """Return the single words that may be meant by a word, and the kinds of each change."""
        forms = self._forms(word)
        alike = [*self.homophones.sounding_like(word), *_written_for(word)]
        others = sorted({*forms, *(other for other in alike if other in self.known)} - {word})
        return {
            other: tuple(self._kinds(word, other, forms.get(other, [])))
            for other in others
            if _fits(word, other)
        }

    def has(self, word: str, *feats: str) -> bool:
        """Return whether some reading of a word has all of these features."""
        readings = self.readings.of_form(word)
        return any({*feats} <= {*reading.feats.split("|")} for reading in readings)

    def uposes(self, word: str) -> set[str]:
        """Return the parts of speech that a word may be."""
        return {reading.upos for reading in self.readings.of_form(word)}

    def _forms_like(self, word: str) -> dict[str, list[tuple[Reading, Reading]]]:
        """Return the forms of the same lemma that agree otherwise, with the readings that do."""
        readings = self._inflected(word)
        forms: dict[str, list[tuple[Reading, Reading]]] = {}
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
        if {"ADP", "DET"} <= self.uposes(word):
            return []
        return [reading for reading in self.readings.of_form(word) if reading.lemma]

    def _kinds(
        self, word: str, other: str, pairs: Sequence[tuple[Reading, Reading]]
    ) -> Iterator[str]:
        uposes = {one.upos for one, _ in pairs}
        yield "change"
        if not self._sounds_alike(word, other):
            yield "audible"
            if "DET" in uposes:
                yield "determiner"
        if pairs:
            if "NOUN" in uposes and not uposes & DEPENDENT:
                yield "noun"
            if uposes == {"PRON"} and all(_differ(one, two) for one, two in pairs):
                yield "pronoun"
        elif {one.lemma for one in self._inflected(word)} & {
            two.lemma for two in self._inflected(other)
        }:
            yield "tense"
        else:
            least = min(self.homophones.count(form) for form in (word, other))
            yield "other word" if least >= COMMON else "rare word"

    def _log_frequency(self, word: str) -> float:
        return math.log(max(self.homophones.count(word), SELDOM))

    def _sounds_alike(self, word: str, other: str) -> bool:
        one, two = (self.homophones.sounds_of(form) for form in (word, other))
        if one and two:
            return bool(one & two) or other in _written_for(word)
        return SILENT.sub("", word) == SILENT.sub("", other)

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
    pairs = {*one.feats.split("|")} ^ {*other.feats.split("|")}
    return any(pair.startswith(("Person=", "Gender=")) for pair in pairs)


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


class Hypotheses(NamedTuple):
    """Hypotheses of the same length in words, up to one word of the text."""

    beam: Beam
    changes: list[Changes]
    score: np.ndarray  # log p and prior


class Extension(NamedTuple):
    """A hypothesis and the step by which it goes on."""

    score: float
    log_p: float  # of the next word
    group: int
    row: int
    step: Step


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
        self.steps = [[Step(end, (word,), None, 0.0)] for end, word in enumerate(words, start=1)]
        for steps, of_word in zip(self.steps, changes, strict=True):
            steps += [Step(c.end, tuple(scorer.cased(c.words)), c, prior.cost(c)) for c in of_word]
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
                reached[extensions[0].step.end] += self._extended(groups, extensions)
        sentences = []
        for beam, changes, score in self._kept(reached[-1]):
            of_end = self._log_p(beam, [END])[:, 0]
            log_p = (beam.log_p.sum(axis=1) + of_end).tolist()
            sentences += map(Meant, changes, log_p, (score + of_end).tolist())
        return sorted(sentences, key=lambda s: (-s.score, len(s.changes), s.changes))

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
        chosen = []
        for number, (beam, changes, score) in enumerate(groups):
            if rows := [row for _, group, row in sorted(kept) if group == number]:
                places = np.array(rows)
                changes = [changes[row] for row in rows]
                chosen.append(Hypotheses(beam.only(places), changes, score[places]))
        return chosen

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
            kept = sorted(near, key=lambda e: (-e.score, e.group, e.row, e.step.words))
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
    ) -> Iterator[Hypotheses]:
        """Yield the hypotheses with extensions of one kind."""
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
            yield Hypotheses(beam, changes, np.array(score))


AFTERWARDS, WHOLE = "the words after it", "the word itself"
GRAMMAR = re.compile(r"(?:not )?[A-Z]\w*=\w+")  # Number=Plur, not Gender=Masc
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
        self, scorer: Scorer, homophones: Homophones | None = None, backward: Scorer | None = None
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
            changes = _without(changes, worst)

    def gains(
        self, words: Sequence[str], changes: Changes, log_p: dict[Changes, float]
    ) -> list[Kept]:
        """Return the gain of each change; `log_p` has the sentences that were scored already."""
        needed = [changes, *(_without(changes, change) for change in changes)]
        new = [subset for subset in needed if subset not in log_p]
        texts = [self.scorer.cased(changed(words, subset)) for subset in new]
        log_p |= zip(new, self.log_p(texts), strict=True)
        return [Kept(c, log_p[changes] - log_p[_without(changes, c)]) for c in changes]

    def log_p(self, texts: Sequence[Sequence[str]]) -> list[float]:
        """Return log p of sentences in nats, the mean of both models."""
        models = [self.scorer] if self.backward is None else [self.scorer, self.backward]
        return np.mean([model.log_p(texts) for model in models], axis=0).tolist()

    def of_text(self, text: str, prior: Prior) -> list[Correction]:
        """Return the corrections of a text in order, each sentence by itself."""
        split, suggestions = split_texts([text]), []
        for words, sentence, offset in zip(
            tokens(split.sentences), split.sentences, split.start, strict=True
        ):
            kept, places = self.meant(words, prior), spans(sentence, words)
            for change, gain in kept:
                start, end = places[change.start][0], places[change.end - 1][1]
                right = "".join(w if w.endswith("'") else f"{w} " for w in change.words).rstrip()
                reasons = self.reasons(words, [change for change, _ in kept], Kept(change, gain))
                bits, reason = sum(reasons.values()), change.feature or _main_reason(reasons)
                wrong, start, end = sentence[start:end], start + offset, end + offset
                suggestions.append(Correction(start, end, wrong, right, bits, reason, reasons))
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
            place = self._explainer.explain_next(self.scorer.cased(prefix), queried, 0)
            here = _differences(*place.queried)
            parts = {**here, AFTERWARDS: kept.gain - sum(here.values())}
        in_bits = {name: nats * BITS for name, nats in parts.items()}
        return dict(sorted(in_bits.items(), key=lambda part: -abs(part[1])))

    @cached_property
    def _explainer(self) -> Explainer | None:
        """Return None for a model whose score is no sum over features."""
        is_sum = getattr(self.scorer.model, "is_sum", False)
        return Explainer(self.scorer, "none") if is_sum else None


def _main_reason(reasons: Reasons) -> str:
    """Return the feature of grammar that speaks most for a change, else the largest reason."""
    positive = [name for name, bits in reasons.items() if bits > 0]
    return next(iter([*filter(GRAMMAR.fullmatch, positive), *positive]), AFTERWARDS)


def _without(changes: Changes, removed: Change) -> Changes:
    """Return the other changes."""
    return tuple(change for change in changes if change != removed)


def _differences(word: Choice, other: Choice) -> Reasons:
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
