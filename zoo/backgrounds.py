"""Backgrounds: those that the paper names, ARPA files, and skip, class, factored, forest n-grams.

`LabelledUnigram` is b(C, x): words that the label C of a sentence makes likely, counted from the
training text or listed by a user. `CharacterAutomaton` weighs strings letter by letter; the weights
of words are then a b of which the sum over all strings is finite.
"""

import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial, reduce
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from accord.errors import AccordError
from accord.models.background import (
    FOLDS,
    Background,
    ClassTerms,
    HistoryContext,
    NGramBackground,
    NGrams,
    lacking,
    required,
    split_terms,
)
from accord.models.calibration import likeliest_weights
from accord.models.common.arrays import load_arrays, save_arrays
from accord.models.common.files import load_json
from accord.models.common.registry import FILE, about, parted
from accord.models.common.schema import Range
from accord.models.data import END, Sentences
from accord.models.encoder import Layers
from accord.models.ngrams import NOTHING, Table, checked_mass, last_words, log_sums
from accord.models.phi import Features
from accord.pipeline.base.names import is_special
from accord.pipeline.config.sections import BackgroundParams
from accord.pipeline.model.folder import ModelFolder
from accord.pipeline.model.network import unigram
from accord.zoo.ngrams import STOP, UNKNOWN, read_arpa, words_of_arpa


class InContext(Background):
    """A background whose masses all depend on the context."""

    def keep(self, **arrays: np.ndarray) -> None:
        """Register arrays as buffers."""
        for name, array in arrays.items():
            self.register_buffer(name, torch.from_numpy(array), persistent=False)

    def class_terms(self, context: Tensor | None = None, split: bool = False) -> ClassTerms:
        log_mass = self.log_sums(required(context), False)
        return split_terms(log_mass, self.log_sums(context, True)) if split else (log_mass, None)

    def log_sums(self, context: Tensor, prior: bool) -> Tensor:
        """Return log B_s(K), or the `prior` log B_s without the evidence of the context (N × S)."""
        raise NotImplementedError


class LabelledUnigram(InContext):
    """b(C, x) = mass[C, x]: a row for each label of the first kind, and row 0 for no label."""

    reads_labels = True
    default_labels: Tensor  # the labels of sentences that bring none themselves
    log_mass: Tensor  # log b(C, x): (1 + labels × V)
    log_class_mass: Tensor  # its logarithm of sums by signature: (1 + labels × S)

    def __init__(self, features: Features, mass: np.ndarray):
        super().__init__(features)
        rows = [checked_mass(row / row.sum(), features.vocabulary_size) for row in mass]
        sums = [log_sums(row, features.signature, features.signature_count) for row in rows]
        with np.errstate(divide="ignore"):  # a word without mass has −inf
            log_mass = np.log(np.stack(rows))
        labels = np.zeros(1, np.int64)
        self.keep(log_mass=log_mass, log_class_mass=np.stack(sums), default_labels=labels)

    def contexts(self, sentences: Sentences, training: bool = False) -> np.ndarray:
        """Return the label of each word's sentence: (N × 1)."""
        if sentences.labels is None:
            return np.full((len(sentences.ids), 1), int(self.default_labels[0]), np.int64)
        return np.repeat(sentences.labels[:, :1].astype(np.int64), sentences.lengths, axis=0)

    def log_sums(self, context: Tensor, prior: bool) -> Tensor:
        label = context[:, 0].long()
        return self.log_class_mass[torch.zeros_like(label) if prior else label]

    def log_mass_of(self, words: Tensor | None, context: Tensor | None = None) -> Tensor:
        label = required(context)[:, 0].long()
        return self.log_mass[label] if words is None else self.log_mass[label.unsqueeze(-1), words]

    def word_masses(self) -> np.ndarray:
        return self.log_mass[0].exp().cpu().numpy()


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
    mass: np.ndarray, labels: Sequence[str], topics: Mapping[str, Sequence[int]], boost: float
) -> np.ndarray:
    """Return the masses with the listed words of each label `boost` times as heavy."""
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
        for state, character, target, weight in arcs:
            self.arcs[state, character].append((target, weight))
        self.final = dict(final)

    def weight(self, form: str) -> float:
        """A(x), by the forward algorithm."""
        now = {0: 1.0}
        for character in form:
            reached: dict[int, float] = defaultdict(float)
            for state, so_far in now.items():
                for target, weight in self.arcs.get((state, character), ()):
                    reached[target] += so_far * weight
            now = reached
        return sum(weight * self.final.get(state, 0.0) for state, weight in now.items())

    @classmethod
    def counted(cls, forms: Mapping[str, float], order: int) -> "CharacterAutomaton":
        """Return the automaton of an n-gram model of letters, interpolated as Witten and Bell do.

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
        states, arcs = [""], []
        number = {"": 0}
        for context in states:  # which grow
            for letter in letters:
                if letter == end:
                    continue
                target = (context + letter)[-(order - 1) :] if order > 1 else ""
                while target not in counts:  # the longest that was counted
                    target = target[1:]
                if target not in number:
                    number[target] = len(number)
                    states.append(target)
                arcs.append((number[context], letter, number[target], p[context][letter]))
        return cls(arcs, {number[context]: p[context][end] for context in states})

    @classmethod
    def read(cls, path: Path) -> "CharacterAutomaton":
        """Read a file of OpenFst's text form, whose weights are negative logarithms.

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
    b = mass / mass.sum()
    of_written = b[written].sum()
    b[written] = weights[written] / weights[written].sum() * of_written
    return b


def classes(setting: HistoryContext) -> "ClassBackground":
    """Classes of the last words (Brown et al. 1992), those of `encode.classes`."""
    if setting.classes is None:
        raise AccordError(
            "background.history: classes expects classes of words; set encode.classes"
        )
    words = setting.features.vocabulary_size
    others = setting.classes[np.arange(words) != END]
    of_word = np.zeros(words, np.int64)  # the sentence's end has a class of its own
    of_word[np.arange(words) != END] = 1 + np.unique(others, return_inverse=True)[1]
    texts = [Sentences(of_word[text.ids], text.lengths) for text in setting.texts]
    within = NGramBackground.learn(
        Features.one_hot(int(of_word.max()) + 1),
        texts,
        setting.order,
        setting.smoothing,
        np.ones_like,
        setting.folds,
    )
    left = lacking(setting.texts, setting.folds)
    mass = np.stack([setting.prior(np.bincount(text.ids, minlength=words)) for text in left])
    return ClassBackground(setting.features, within, of_word, mass)


class ClassBackground(InContext):
    """b(K, x) = p(c(x) | c₋₁ c₋₂ …) · p(x | c(x)), the second by the prior mass of words.

    The mass of a signature is B_s(h) = Σ_c p(c | h) · Σ_{x∈s∩c} p(x | c).
    """

    mass: Tensor  # of all words, a row for each root (R × V)
    class_of_word: Tensor  # (V)
    log_share: Tensor  # log p(x | c(x)) of every word, a row for each root (R × V)
    # Of each pair of a class and a signature that share words, and the p of these in the class:
    pair_class: Tensor
    pair_signature: Tensor
    pair_share: Tensor

    def __init__(
        self, features: Features, within: NGramBackground, of_word: np.ndarray, mass: np.ndarray
    ):
        """`mass` has a row of all words' prior masses for each root of the n-grams within."""
        super().__init__(features)
        self.within = within
        of_class = np.stack([np.bincount(of_word, row) for row in mass])
        share = mass / of_class[:, of_word]
        pairs, pair = np.unique(
            of_word * features.signature_count + features.signature, return_inverse=True
        )
        shares = np.stack([np.bincount(pair, row) for row in share])
        with np.errstate(divide="ignore"):
            arrays = {"log_share": np.log(share), "pair_share": shares.astype(np.float32)}
        pair_class, pair_signature = np.divmod(pairs, features.signature_count)
        self.keep(class_of_word=of_word, mass=mass, **arrays)
        self.keep(pair_class=pair_class, pair_signature=pair_signature)

    def contexts(self, sentences: Sentences, training: bool = False) -> np.ndarray:
        ids = self.class_of_word.cpu().numpy()[sentences.ids]
        return self.within.contexts(Sentences(ids, sentences.lengths), training)

    def log_sums(self, context: Tensor, prior: bool) -> Tensor:
        of_classes = self.within.class_terms(context, prior)[0]
        p = of_classes.exp()[:, self.pair_class] * self.pair_share[context[:, 0]]
        mass = p.new_zeros(len(p), self.signature_count)
        return mass.index_add_(1, self.pair_signature, p).log()

    def log_mass_of(self, words: Tensor | None, context: Tensor | None = None) -> Tensor:
        context = required(context)
        if words is None:
            log_p = self.within.log_mass_of(None, context)[:, self.class_of_word]
            return log_p + self.log_share[context[:, 0]].to(log_p.dtype)
        log_p = self.within.log_mass_of(self.class_of_word[words], context)
        return log_p + self.log_share[context[:, :1], words]

    def word_masses(self) -> np.ndarray:
        return self.mass[0].cpu().numpy()

    @property
    def size(self) -> int:
        """Count the listed n-grams of classes, and the words in classes."""
        return self.within.size + len(self.class_of_word)


Factors = Annotated[str, "factors to back off to, in turn; gender and others too"]


def factored(setting: HistoryContext, *, factors: Factors = "lemma pos") -> NGramBackground:
    """Last words with their factors (Bilmes & Kirchhoff 2003), of which one is given up a time.

    With lemma ℓ and part of speech c the path of backing off is

        w₋₁ w₋₂ → w₋₁ ℓ₋₂ → w₋₁ c₋₂ → w₋₁ → ℓ₋₁ → c₋₁ → nothing

    so that a word which was never seen in its place is still known by what it is. Kneser-Ney suits
    it best: where a lemma has but one form the counts of both are the same, and other smoothings
    trust them twice.
    """
    if setting.factors is None:
        raise AccordError("background.history: factored is of words; a model of subwords has none")
    named = [setting.factors[name] for name in factors.split()]

    def history(sentences: Sentences) -> Iterator[np.ndarray]:
        for word in last_words(sentences, setting.order - 1):
            factors_of_word = [np.where(word > END, factor[word], word) for factor in named]
            first, *others = [*reversed(factors_of_word), word]
            yield first  # a sentence's start is told but once
            yield from (np.where(column == END, NOTHING, column) for column in others)

    return _learned(setting, history)


def _learned(
    setting: HistoryContext, history: Callable[[Sentences], Iterator[np.ndarray]]
) -> NGramBackground:
    """Count n-grams of another history."""
    counted = setting.texts, setting.order, setting.smoothing, setting.prior, setting.folds
    return NGramBackground.learn(setting.features, *counted, history)


ROUNDS = 50  # of expectation and maximisation


class MixedBackground(InContext):
    """b(K, x) = Σ_i λ_i(K)·p_i(x | K), the λ_i of each context summing to one.

    λ depends on how many of the last words the first part knows as a context, and on whether these
    begin the sentence.
    """

    log_weights: Tensor  # log λ of each kind of context and part

    def __init__(self, features: Features, parts: Sequence[NGramBackground], weights: np.ndarray):
        super().__init__(features)
        self.parts: Layers[NGramBackground] = Layers(parts)
        self.keep(log_weights=np.log(weights))

    def contexts(self, sentences: Sentences, training: bool = False) -> np.ndarray:
        nodes = [part.contexts(sentences, training) for part in self.parts]
        return np.concatenate([*nodes, kinds(nodes[0], sentences)[:, None]], axis=1)

    def log_sums(self, context: Tensor, prior: bool) -> Tensor:
        return self._mixed(context, lambda part, of_part: part.class_terms(of_part, prior)[0])

    def log_mass_of(self, words: Tensor | None, context: Tensor | None = None) -> Tensor:
        return self._mixed(context, lambda part, of_part: part.log_mass_of(words, of_part))

    def word_masses(self) -> np.ndarray:
        return next(iter(self.parts)).word_masses()

    @property
    def size(self) -> int:
        return sum(part.size for part in self.parts)

    def _mixed(self, context: Tensor | None, masses_of: Callable) -> Tensor:
        context = required(context)
        weights = self.log_weights[context[:, -1]]
        contexts = context[:, :-1].split([part.ngrams.order for part in self.parts], dim=1)
        weighed = (
            masses + weight.unsqueeze(1).to(masses.dtype)
            for masses, weight in zip(map(masses_of, self.parts, contexts), weights.T, strict=True)
        )
        # One after the other, as each may be as wide as all words.
        return reduce(torch.logaddexp, weighed)


def kinds(nodes: np.ndarray, sentences: Sentences) -> np.ndarray:
    """Of each context, by its nodes: twice how many words it is of, one more at the start."""
    known = (nodes >= 0).sum(axis=1) - 1
    return 2 * known + (known > sentences.offsets)


def fitted_weights(
    learn: Callable[[Sequence[Sentences], int], list[NGramBackground]], texts: Sequence[Sentences]
) -> np.ndarray:
    """λ of each kind and part under which a part of the texts is likeliest by the others' n-grams.

    Found by expectation and maximisation. One word is added that speaks for all parts alike, so
    that none has no weight: (kinds × parts).
    """
    is_left = [text.parts(FOLDS) == 1 for text in texts]
    parts = learn([text.chosen(~left) for text, left in zip(texts, is_left, strict=True)], 0)
    kind, p = [], []
    for text in (text.chosen(left) for text, left in zip(texts, is_left, strict=True)):
        contexts = [part.contexts(text) for part in parts]
        kind.append(kinds(contexts[0], text))
        words = torch.from_numpy(text.ids.astype(np.int64)).unsqueeze(1)
        log_p = [
            part.log_mass_of(words, torch.from_numpy(context))
            for part, context in zip(parts, contexts, strict=True)
        ]
        p.append(torch.cat(log_p, dim=1).double().numpy())
    settings = {"added": 1, "rounds": ROUNDS, "enough": -np.inf}
    kinds_of_context = 2 * parts[0].ngrams.order
    return likeliest_weights(
        np.concatenate(p).T, np.concatenate(kind), kinds_of_context, **settings
    )


def skip(setting: HistoryContext) -> MixedBackground:
    """Last words, and the same with one of them skipped, interpolated (Goodman 2001).

        p(w | h) = λ₀·p(w | w₋₁ w₋₂ w₋₃ …) + λ₁·p(w | w₋₂ w₋₃ …) + λ₂·p(w | w₋₁ w₋₃ …) + …

    The weights are those under which a tenth of the text is likeliest by the n-grams of the rest;
    there is a set of them for each number of last words that are known as a context.
    """
    reach = setting.order - 1
    skipped = [None, *range(reach - 1)]  # the oldest is not: to back off is to skip it

    def learn(texts: Sequence[Sentences], folds: int) -> list[NGramBackground]:
        counted = setting._replace(texts=texts, folds=folds)
        return [_learned(counted, partial(_without, skipped=n, reach=reach)) for n in skipped]

    parts = learn(setting.texts, setting.folds)
    return MixedBackground(setting.features, parts, fitted_weights(learn, setting.texts))


def _without(sentences: Sentences, skipped: int | None, reach: int) -> Iterator[np.ndarray]:
    """Yield the last words but one, counted from 0; a sentence's start is never skipped."""
    is_start = np.zeros(len(sentences.ids), bool)
    for number, column in enumerate(last_words(sentences, reach)):
        if number == skipped:
            is_start = column == END
        else:
            yield np.where(is_start, END, column)
            is_start = np.zeros(len(column), bool)


GROUPS = 64  # of next words, drawn for each tree, by which its questions are judged
PASSES = 8  # over the answers to a question
PRIOR = 0.1  # added to the counts of each group


class HistoryTree(NamedTuple):
    """A binary tree of questions about the last words: is the word at this position in a set?"""

    positions: list[np.ndarray]  # by depth: which of the last words each node asks about
    keys: list[np.ndarray]  # by depth: node and word, as one number, that training has
    sides: list[np.ndarray]  # the answer to each key, 0 or 1
    words: int

    def path(self, sentences: Sentences, reach: int) -> Iterator[np.ndarray]:
        """Yield the answers for every word of a text, from the root down, and then its last words.

        Backing off goes up the tree. An answer is 1 or 2; words that a question does not know
        belong to the first side.
        """
        last = [*last_words(sentences, reach)]
        words = np.maximum(np.array(last), END)
        node, every = np.zeros(len(sentences.ids), np.int64), np.arange(len(sentences.ids))
        for position, keys, sides in zip(self.positions, self.keys, self.sides, strict=True):
            key = node * self.words + words[position[node], every]
            at = np.minimum(np.searchsorted(keys, key), len(keys) - 1)
            side = np.where(keys[at] == key, sides[at], 0)
            yield 1 + side
            node = 2 * node + side
        yield from last

    @classmethod
    def grown(
        cls, sentences: Sentences, reach: int, depth: int, words: int, draw: np.random.Generator
    ) -> "HistoryTree":
        """Grow a tree to a depth, all nodes of a depth at once.

        Each node asks about a random position. Its words begin on random sides and go where the
        groups of the words that follow them are likelier, until no more do (Chou 1991).
        """
        tree = cls([], [], [], words)
        group = draw.integers(GROUPS, size=words)[sentences.ids]
        last = np.maximum(np.array([*last_words(sentences, reach)]), END)
        node, every = np.zeros(len(group), np.int64), np.arange(len(group))
        for level in range(depth if reach else 0):
            position = draw.integers(reach, size=2**level)
            key = node * words + last[position[node], every]
            keys, of_word = np.unique(key, return_inverse=True)
            followed = np.bincount(of_word * GROUPS + group, minlength=len(keys) * GROUPS)
            counts = followed.reshape(-1, GROUPS).astype(np.float64)
            sides = best_sides(counts, keys // words, draw.integers(2, size=len(keys)))
            for kept, new in zip(tree[:3], (position, keys, sides), strict=True):
                kept.append(new)
            node = 2 * node + sides[of_word]
        return tree


def best_sides(counts: np.ndarray, node: np.ndarray, sides: np.ndarray) -> np.ndarray:
    """Return the side of each word (W) on which the groups that follow it (W × G) are likelier."""
    for _ in range(PASSES):
        sums = np.full((node.max() + 1, 2, counts.shape[1]), PRIOR)
        np.add.at(sums, (node, sides), counts)
        log_p = np.log(sums / sums.sum(axis=2, keepdims=True))
        previous, sides = sides, np.einsum("wg,wsg->ws", counts, log_p[node]).argmax(axis=1)
        if np.array_equal(previous, sides):
            break
    return sides


Trees = Annotated[int, Range(ge=1), "trees in the forest"]
Depth = Annotated[int, Range(ge=0), "questions from the root of a tree to a leaf"]


def forest(setting: HistoryContext, *, trees: Trees = 5, depth: Depth = 2) -> MixedBackground:
    """Random forests of histories (Xu & Jelinek 2004): p is the mean over trees of questions.

        p(w | h) = 1/M · Σ_m p(w | path of h in tree m, h)

    The n-grams of a tree have its answers as a history, and the last words behind them. All trees
    are grown on the whole text, also where parts of it are left out of the counts.
    """
    reach, words = setting.order - 1, setting.features.vocabulary_size
    (text,) = lacking(setting.texts, 0)
    parts = []
    for number in range(trees):
        generator = np.random.default_rng(number)
        tree = HistoryTree.grown(text, reach, depth, words, generator)
        parts.append(_learned(setting, partial(tree.path, reach=reach)))
    weights = np.full((2 * parts[0].ngrams.order, trees), 1 / trees)
    return MixedBackground(setting.features, parts, weights)


def pairs_of(path: Path, expected: str) -> Iterator[tuple[str, str]]:
    """Yield what stands before and after the tab of each line."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        key, tab, value = line.partition("\t")
        if not tab:
            raise AccordError(f"{path}, line {number}: expected {expected}")
        yield key, value


def _expect_words(model: ModelFolder, kind: str) -> None:
    if model.subwords:
        raise AccordError(f"background.kind: {kind} is one of words; a model of subwords has none")


TABLES = "ngrams.npz"


class ArpaBackground(InContext):
    """b(K, x) = p(g(x) | h) · share(x), g(x) being the file's word for x: itself, or `<unk>`.

    Words that the file lacks share what it gives `<unk>`, in contexts they are read as that. The
    mass of words outside the vocabulary is left out, so that b sums to less than one. The mass of a
    signature is exact, as n-grams' is:

        B_s(h) = Σ_{x∈s, g(x)=x} p(x | h) + p(<unk> | h) · Σ_{x∈s, g(x)=<unk>} share(x)
    """

    group: Tensor  # the id of each word in the file
    log_share: Tensor  # log share(x) of each word
    unknown_share: Tensor  # what the words of each signature have of `<unk>`, the log of it

    def __init__(self, features: Features, ngrams: NGrams, group: np.ndarray, share: np.ndarray):
        """`group` is the id of each word in the file, whose last is `<unk>`; `share` its share."""
        super().__init__(features)
        lacking, signatures = group == ngrams.words - 1, features.signature_count
        signature = np.full(ngrams.words, signatures)  # <unk> has one of its own
        signature[group[~lacking]] = features.signature[~lacking]
        count = int(signature.max()) + 1
        phi = Features(np.arange(count + 1), np.arange(count), np.ones(count), signature, count)
        self.within = NGramBackground(phi, ngrams)
        of_unknown = np.bincount(features.signature[lacking], share[lacking], minlength=signatures)
        with np.errstate(divide="ignore"):
            self.keep(group=group, log_share=np.log(share), unknown_share=np.log(of_unknown))

    def contexts(self, sentences: Sentences, training: bool = False) -> np.ndarray:
        ids = self.group.cpu().numpy()[sentences.ids]
        return self.within.contexts(Sentences(ids, sentences.lengths), training)

    def log_sums(self, context: Tensor, prior: bool) -> Tensor:
        """Give the mass of `<unk>` to the signatures of the words that it stands for."""
        log_mass = self.within.class_terms(context, prior)[0]
        of_unknown = log_mass[:, -1:] + self.unknown_share.to(log_mass.dtype)
        return torch.logaddexp(log_mass[:, :-1], of_unknown)

    def log_mass_of(self, words: Tensor | None, context: Tensor | None = None) -> Tensor:
        if words is None:
            return self.within.log_mass_of(None, context)[:, self.group] + self.log_share
        return self.within.log_mass_of(self.group[words], context) + self.log_share[words]

    def word_masses(self) -> np.ndarray:
        group, log_share = self.group.cpu().numpy(), self.log_share.cpu().numpy()
        return self.within.word_masses()[group] * np.exp(log_share)

    @property
    def size(self) -> int:
        return self.within.size


def prepare_arpa(params: BackgroundParams, forms: list[str], mass: np.ndarray, out: Path) -> dict:
    """Write the file's n-grams over the words of the vocabulary; their order is returned.

    Words that the file lacks share by their mass. Blanks in words are `_` there.
    """
    path = Path(parted(params.kind)[1]["file"])
    written = [form.replace(" ", "_") for form in forms]
    there = words_of_arpa(path) - {UNKNOWN}
    both = [form for form in dict.fromkeys(written) if form in there and form != STOP]
    known = [STOP, *both]
    ngrams = read_arpa(path, [*known, UNKNOWN], others=UNKNOWN)
    ids = {form: number for number, form in enumerate(known)}
    # Of two words that are written alike the first is the file's.
    group = np.array([ids.pop(form, len(known)) for form in written], np.int64)
    share = mass / np.bincount(group, mass, minlength=len(known) + 1)[group]
    tables = {
        f"{name}_{number}": tensor.numpy()
        for number, table in enumerate(ngrams.tables)
        for name, tensor in zip(Table._fields, table, strict=True)
    }
    save_arrays(out / TABLES, {"group": group, "share": share, **tables})
    return {"order": ngrams.order}


def load_arpa(features: Features, folder: Path, order: int) -> ArpaBackground:
    """Read the arrays that `prepare_arpa` has written."""
    names = [[f"{name}_{number}" for name in Table._fields] for number in range(order)]
    arrays = load_arrays(folder / TABLES, ["group", "share", *chain(*names)])
    tables = [Table(*(arrays[name] for name in of_table)) for of_table in names]
    ngrams = NGrams(tables, len(arrays["p_0"]))
    return ArpaBackground(features, ngrams, arrays["group"], arrays["share"])


ArpaFile = Annotated[str, FILE, "an ARPA file, as KenLM and SRILM write it; perhaps .gz"]


@about(prepare="accord.zoo.backgrounds:prepare_arpa", own_words=True)
def of_arpa(model: ModelFolder, features: Features, texts, folds, *, file: ArpaFile = ""):
    """N-grams of an ARPA file; words that it lacks share the mass of <unk>."""
    _expect_words(model, "arpa")
    return load_arpa(features, model.folder, model.background.order)


TOPICS = "topics.json"  # the words of each label, by number


def prepare_topics(params: BackgroundParams, forms: list[str], mass: np.ndarray, out: Path) -> dict:
    """Write the listed words of each label that the vocabulary has."""
    path = parted(params.kind)[1]["topics"]
    topics: dict[str, list[int]] = {}
    number = {form: place for place, form in enumerate(forms)}
    for label, word in pairs_of(Path(path), "a label, a tab and a word") if path else ():
        if word in number:
            topics.setdefault(label, []).append(number[word])
    (out / TOPICS).write_text(json.dumps(topics, ensure_ascii=False), encoding="utf-8")
    return {}


Share = Annotated[float, Range(ge=0, lt=1), "of the label's own counts beside those of all"]
Words = Annotated[str | None, FILE, "a file of likely words: label, tab, word; or null"]
Boost = Annotated[float, Range(ge=1), "how many times as heavy words of `topics` are"]


@about(prepare="accord.zoo.backgrounds:prepare_topics", reads_text=True)
def labelled(
    model, features, texts, folds, *, weight: Share = 0.5, topics: Words = None, boost: Boost = 10.0
):
    """b(C, x): training counts by the label of the sentence, the first of corpus.labels."""
    _expect_words(model, "labelled")
    if not model.labels:
        raise AccordError("background.kind: labelled expects labels; set corpus.labels")
    labels = next(iter(model.labels.values()))
    mass = counted_by_label(texts[0], len(labels), model.mass(), weight)
    listed = load_json(model.folder / TOPICS, dict)
    return LabelledUnigram(features, with_topics(mass, labels, listed, boost))


def prepare_characters(
    params: BackgroundParams, forms: list[str], mass: np.ndarray, out: Path
) -> dict[str, Any]:
    """Replace b by the weights of an automaton: that of a file, or of letters of frequent words."""
    settings = parted(params.kind)[1]
    special = np.array([is_special(form) for form in forms])
    if settings["automaton"] is not None:
        automaton = CharacterAutomaton.read(Path(settings["automaton"]))
    else:
        counts = mass / mass[mass > 0].min()
        known = {f: c for f, c, s in zip(forms, counts, special, strict=True) if c and not s}
        automaton = CharacterAutomaton.counted(known, settings["order"])
    np.save(out / "b.npy", weighed(automaton, forms, mass, special))
    return {}


Automaton = Annotated[
    str | None, FILE, "a file of OpenFst's text form; null: n-grams of training letters"
]
Order = Annotated[int, Range(ge=1), "letters of these n-grams"]


@about(prepare="accord.zoo.backgrounds:prepare_characters")
def characters(model, features, texts, folds, *, automaton: Automaton = None, order: Order = 4):
    """Weights that an automaton over characters gives to words."""
    return unigram(model, features, texts, folds)
