"""Backgrounds that the paper names (Dymetman & Xiao 2016, §4): b(C, x), automata over characters.

`LabelledUnigram` is b(C, x): words that the label C of a sentence makes likely, counted from the
training text or listed by a user. `CharacterAutomaton` weighs strings letter by letter; the weights
of words are then a b of which the sum over all strings is finite.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from accord.errors import AccordError
from accord.models.background import Background, ClassTerms, required, split_terms
from accord.models.data import Sentences
from accord.models.ngrams import checked_mass, log_sums
from accord.models.phi import Features


class LabelledUnigram(Background):
    """b(C, x) = mass[C, x]: a row for each label of the first kind, and row 0 for no label."""

    reads_labels = True
    given: Tensor  # the labels of sentences that bring none themselves
    log_mass: Tensor  # log b(C, x): (1 + labels × V)
    log_class_mass: Tensor  # its logarithm of sums by signature: (1 + labels × S)

    def __init__(self, features: Features, mass: np.ndarray):
        super().__init__(features)
        rows = [checked_mass(row / row.sum(), features.vocabulary_size) for row in mass]
        sums = [log_sums(row, features.signature, features.signature_count) for row in rows]
        with np.errstate(divide="ignore"):  # a word without mass has −inf
            log_mass = np.log(np.stack(rows))
        for name, array in (("log_mass", log_mass), ("log_class_mass", np.stack(sums))):
            self.register_buffer(name, torch.from_numpy(array), persistent=False)
        self.register_buffer("given", torch.zeros(1, dtype=torch.long), persistent=False)

    def contexts(self, sentences: Sentences, training: bool = False) -> np.ndarray:
        """The label of the sentence that each word is in: (N × 1)."""
        if sentences.labels is None:
            return np.full((len(sentences.ids), 1), int(self.given[0]), np.int64)
        return np.repeat(sentences.labels[:, :1].astype(np.int64), sentences.lengths, axis=0)

    def class_terms(self, context: Tensor | None = None, split: bool = False) -> ClassTerms:
        log_mass = self.log_class_mass[self._label(context)]
        if not split:
            return log_mass, None
        return split_terms(log_mass, self.log_class_mass[0].expand_as(log_mass))

    def log_mass_of(self, words: Tensor | None, context: Tensor | None = None) -> Tensor:
        label = self._label(context)
        return self.log_mass[label] if words is None else self.log_mass[label.unsqueeze(-1), words]

    def word_masses(self) -> np.ndarray:
        return self.log_mass[0].exp().cpu().numpy()

    def _label(self, context: Tensor | None) -> Tensor:
        return required(context)[:, 0].long()


def counted_by_label(text: Sentences, labels: int, prior: np.ndarray, weight: float) -> np.ndarray:
    """b(C, x) = λ·c(C, x)/c(C) + (1 − λ)·b(x), for no label and each label: (1 + labels × V)."""
    if text.labels is None:
        raise AccordError("background.kind: labelled expects labels; set corpus.labels")
    prior = prior / prior.sum()
    of_words = np.repeat(text.labels[:, 0], text.lengths)
    rows = [prior]
    for label in range(1, labels + 1):
        counts = np.bincount(text.ids[of_words == label], minlength=len(prior))
        share = counts / max(1, counts.sum())
        rows.append(weight * share + (1 - weight) * prior if counts.sum() else prior)
    return np.stack(rows)


def with_topics(
    mass: np.ndarray,
    labels: Sequence[str],
    topics: Mapping[str, Sequence[int]],
    boost: float,
) -> np.ndarray:
    """The same with the listed words of each label so many times as heavy."""
    raised = mass.copy()
    for number, label in enumerate(labels, start=1):
        raised[number, list(topics.get(label, ()))] *= boost
    return raised


class CharacterAutomaton:
    """A weighted automaton over characters: the weight of a string is the sum over its paths.

        A(x) = Σ_{q₀ →x₁ q₁ … →x_n q_n} Π w(q_{i−1}, x_i, q_i) · final(q_n)

    `arcs` has (state, character, next state, weight). Paths begin in state 0.
    """

    def __init__(self, arcs: Iterable[tuple[int, str, int, float]], final: Mapping[int, float]):
        self.arcs: dict[tuple[int, str], list[tuple[int, float]]] = defaultdict(list)
        for state, character, after, weight in arcs:
            self.arcs[state, character].append((after, weight))
        self.final = dict(final)

    def weight(self, form: str) -> float:
        """A(x), by the forward algorithm."""
        now = {0: 1.0}
        for character in form:
            after: dict[int, float] = defaultdict(float)
            for state, so_far in now.items():
                for target, weight in self.arcs.get((state, character), ()):
                    after[target] += so_far * weight
            now = after
        return sum(weight * self.final.get(state, 0.0) for state, weight in now.items())

    def total(self) -> float:
        """Σ_x A(x) over all strings, (I − M)⁻¹ of the start and the final weights."""
        states = {0, *self.final, *(state for state, _ in self.arcs)}
        states |= {after for arcs in self.arcs.values() for after, _ in arcs}
        number = {state: place for place, state in enumerate(sorted(states))}
        matrix, final = np.zeros((len(states), len(states))), np.zeros(len(states))
        for (state, _), arcs in self.arcs.items():
            for after, weight in arcs:
                matrix[number[state], number[after]] += weight
        for state, weight in self.final.items():
            final[number[state]] = weight
        if (np.abs(np.linalg.eigvals(matrix)) >= 1 - 1e-12).any():
            raise AccordError("automaton: the weights of all strings have no finite sum")
        return float(np.linalg.solve(np.eye(len(states)) - matrix, final)[number[0]])

    @classmethod
    def counted(cls, forms: Mapping[str, float], order: int) -> "CharacterAutomaton":
        """The automaton of an n-gram model of letters, interpolated as Witten and Bell do.

        A state is the last order − 1 letters. Weights of a state and its end sum to one, so the
        weights of all strings do.
        """
        end = ""
        counts: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
        for form, count in forms.items():
            for place, letter in enumerate([*form, end]):
                for start in range(max(0, place - order + 1), place + 1):
                    counts[form[start:place]][letter] += count
        letters = [*counts[""]]
        p: dict[str, dict[str, float]] = {}
        for context in sorted(counts, key=len):
            seen = counts[context]
            below = p[context[1:]] if context else dict.fromkeys(letters, 1 / len(letters))
            new, total = len(seen), sum(seen.values())
            p[context] = {
                letter: (seen.get(letter, 0) + new * below[letter]) / (total + new)
                for letter in letters
            }
        number: dict[str, int] = {"": 0}
        arcs, final, waiting = [], {}, [""]
        while waiting:
            context = waiting.pop()
            final[number[context]] = p[context][end]
            for letter in letters:
                if letter == end:
                    continue
                after = (context + letter)[-(order - 1) :] if order > 1 else ""
                while after not in counts:  # the longest that was counted
                    after = after[1:]
                if after not in number:
                    number[after] = len(number)
                    waiting.append(after)
                arcs.append((number[context], letter, number[after], p[context][letter]))
        return cls(arcs, final)

    @classmethod
    def read(cls, path: Path) -> "CharacterAutomaton":
        """A file of OpenFst's text form, whose weights are negative logarithms.

        A line has state, next state, character, the same again and a weight, or a final state and
        a weight; a weight that is left out is 0.
        """
        arcs, final = [], {}
        for place, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            parts = line.split("\t")
            try:
                cost = [*map(float, parts[1 if len(parts) <= 2 else 4 :]), 0.0][0]
                if len(parts) <= 2:
                    final[int(parts[0])] = math.exp(-cost)
                else:
                    arcs.append((int(parts[0]), parts[2], int(parts[1]), math.exp(-cost)))
            except (ValueError, IndexError):
                raise AccordError(
                    f"{path}, line {place}: expected state, next state, character, character and "
                    f"weight, or a final state and its weight; found {line!r:.100}"
                ) from None
        return cls(arcs, final)


def weighed(
    automaton: CharacterAutomaton, forms: Sequence[str], mass: np.ndarray, is_special: np.ndarray
) -> np.ndarray:
    """b of words by the automaton; special words keep their share of all mass."""
    weights = np.array([automaton.weight(form) for form in forms])
    written = ~is_special
    if not weights[written].any():
        raise AccordError("automaton: it accepts no word of the vocabulary")
    found = mass / mass.sum()
    of_written = found[written].sum()
    found[written] = weights[written] / weights[written].sum() * of_written
    return found
