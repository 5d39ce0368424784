"""log p split into background, features, −log Z and spelling; meaning.

    log p(x | K) = log b(K, x) + Σ_f a_f·φ_f(x) − log Z(K) + spelled(K, x)

A word's vector, the dense block of φ, is one term, its meaning: a_dense·v(x). The first three parts
sum to log p_known(x | K) of a known word, and to log p(unk | K) of the class of any other. The last
is the contribution of its letters, by all classes of unknown words:

    spelled(K, x) = log([x known] p_known(x | K) + Σ_s p(unk_s | K)·spell(x | s)) − the sum so far

It is large for unknown words, and for known ones that are rare in the training text. The split is
exact: nothing is left over, and log p is that of `score`.

A page shows explained sentences. Each is a group of radio buttons, one a word: keyboard and touch
need no script.
"""

import math
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from itertools import chain
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

from accord.models.common.checks import check_finite
from accord.models.data import Sentences
from accord.models.inference.interface import Rows, expect_sum
from accord.pipeline.ask.scorer import Scorer, split_texts, without_gap
from accord.pipeline.base.names import END, END_ID
from accord.pipeline.base.tables import html_page
from accord.pipeline.model.words import IDENTITY

if TYPE_CHECKING:
    import pandas as pd

MEANING = "meaning"  # the term a_dense·v(x) of an explanation
EXPERT = "expert"  # the term of the feature that depends on the context
SPELLED = "spelled letter by letter"  # the term of a word's letters
SPLIT = 3  # likeliest words that are split into terms where none are named
ALTERNATIVES = 5  # likeliest words that are shown for each word of a sentence
SOUGHT = 8  # words that show which meaning is sought
TELLING = 8  # features that are followed where none are named


@dataclass(frozen=True)
class Term:
    """The term of one feature: its weight a_f times the word's value φ_f."""

    feature: str
    weight: float
    value: float

    @property
    def nats(self) -> float:
        return self.weight * self.value


@dataclass(frozen=True)
class Choice:
    """A word at a position: log p = background + Σ terms − log_z + spelling."""

    word: str
    log_p: float
    background: float
    terms: tuple[Term, ...]  # the largest first, whatever their sign
    log_z: float
    spelling: float  # the term of the character model; 0 for an end and in a closed vocabulary
    is_known: bool

    @property
    def probability(self) -> float:
        return math.exp(self.log_p)


@dataclass(frozen=True)
class Place:
    """A position in a sentence: the explained words, and the likeliest ones."""

    queried: tuple[Choice, ...]
    likeliest: tuple[Choice, ...]
    sought: tuple[str, ...]  # nearest in meaning to the next word; none without vectors


class Explainer:
    """Explains a trained model whose output is log-linear; `context` is that of `Scorer.score`."""

    def __init__(self, scorer: Scorer, context: str | None = None):
        expect_sum(scorer.model)
        self.scorer, self.model = scorer, scorer.model
        self.in_context = scorer.in_context(context)
        self.features = scorer.parts.features
        self.forms = scorer.vocabulary.forms
        self.phi = phi = self.features.phi
        if phi.dimensions:
            first = len(self.forms) - len(scorer.vocabulary.known)  # ids fall in frequency
            rows, words = np.unique(phi.vector[phi.signature[first:]], return_index=True)
            has_vector = phi.vectors[rows].any(axis=1)
            vectors, self.words = phi.vectors[rows[has_vector]], first + words[has_vector]
            self.directions = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def next_word(self, text: str, words: Sequence[str] = (), most: int = 10) -> Place:
        """Explain the next word of a text, which may end in `…`: queried words, the likeliest."""
        queried = self.scorer.single_words(words)
        return self.explain_next(beginning_words(self.scorer, text), queried, most)

    def explain_next(self, words: Sequence[str], queried: Sequence[str], most: int) -> Place:
        """Explain the next word after tokenised words, sentence ends among them."""
        if not self.in_context and END in words:  # then only the last sentence counts
            words = words[len(words) - [*reversed(words)].index(END) :]
        return self._place(*self._read(words)[-1], queried, most)

    def sentence(self, words: Sequence[str]) -> list[Place]:
        """Explain each word of a tokenised sentence and its end."""
        read = zip(self._read(words), [*words, END], strict=True)
        return [self._place(h, context, [word], ALTERNATIVES) for (h, context), word in read]

    def weights(self, text: str, features: Sequence[str]) -> "pd.DataFrame":
        """Return the weights a_t of features: a row after each word, the first before any word."""
        import pandas as pd  # here, as words are explained without tables

        words = beginning_words(self.scorer, text)
        chosen = [self.features.number(name) for name in features]
        parts = [self.model.adaptor(h)[:, chosen] for h, _ in self._read(words)]
        return pd.DataFrame(np.concatenate(parts), index=["(start)", *words], columns=features)

    def by(self, scorer: Scorer, context: str | None) -> "Explainer":
        """Return the same by a model that differs in its weights alone, in some context."""
        other = copy(self)
        other.scorer, other.model = scorer, scorer.model
        other.in_context = scorer.in_context(context)
        return other

    def _read(self, words: Sequence[str]) -> list[tuple[Rows, np.ndarray]]:
        """Return the state before each word and the next (1 × H), and the context of b."""
        ids = np.array([*map(self.scorer.id_of, words), END_ID])
        text = Sentences(ids, np.diff(np.flatnonzero(ids == END_ID), prepend=-1))
        if self.in_context:
            text = text._replace(documents=np.zeros_like(text.lengths), carried=True)
        states = {
            place: (h[row : row + 1], context[row : row + 1])
            for positions, h, context in self.model.states(text)
            for row, place in enumerate(positions.tolist())
        }
        return [states[place] for place in range(len(ids))]

    def _place(self, h: Rows, context: np.ndarray, queried: Sequence[str], most: int) -> Place:
        likeliest = self.model.top(h, most, context)[1][0].tolist() if most else []
        words = [*queried, *(self.forms[number] for number in likeliest)]
        ids = [*map(self.scorer.id_of, queried), *likeliest]
        log_p, of_ids = self.scorer.log_p_of_next(h, context, ids, self.scorer.letters(words))
        terms = self.model.terms(h, np.array([ids]), context)
        background, weights, expert = terms.background[0].tolist(), terms.weights[0], terms.named[0]
        log_z = float(terms.log_z[0])
        numbers = [*of_ids[0], *background, log_z, *weights, *expert.values()]
        check_finite("a term of log p", np.array(numbers))
        spelling = (log_p - of_ids)[0].tolist()
        choices = [
            Choice(
                word, nats, b, self._terms(id, weights, expert), log_z, s, self.forms[id] == word
            )
            for word, id, nats, b, s in zip(
                words, ids, log_p[0].tolist(), background, spelling, strict=True
            )
        ]
        ranked = sorted(choices[len(queried) :], key=lambda choice: -choice.log_p)
        sought = ()
        if self.phi.dimensions:  # the words with vectors nearest to a_dense, by cosine
            cosine = self.directions @ weights[self.phi.sparse_count :]
            nearest = self.words[np.argsort(-cosine, kind="stable")[:SOUGHT]]
            sought = tuple(self.forms[word] for word in nearest)
        return Place(tuple(choices[: len(queried)]), tuple(ranked), sought)

    def _terms(
        self, word: int, weights: np.ndarray, expert: Mapping[int, float]
    ) -> tuple[Term, ...]:
        terms = [
            Term(self.features.names[feature], float(weights[feature]), value)
            for feature, value in self.features.row(word).items()
        ]
        if self.phi.dimensions:
            vector = self.phi.vectors[self.phi.vector[self.phi.signature[word]]]
            terms.append(Term(MEANING, float(weights[self.phi.sparse_count :] @ vector), 1.0))
        if word in expert:
            terms.append(Term(EXPERT, expert[word], 1.0))
        return tuple(sorted(terms, key=lambda term: -abs(term.nats)))


def beginning_words(scorer: Scorer, text: str) -> list[str]:
    """Return the words of a text and the ends between its sentences, without the gap at its end."""
    sentences = scorer.read(split_texts([without_gap(text)]).sentences)
    return [*chain.from_iterable([*words, END] for words in sentences)][:-1]


def explain(
    model: Scorer,
    text: str,
    words: Sequence[str] = (),
    most: int = SPLIT,
    context: str | None = None,
) -> "pd.DataFrame":
    """Return log p of words after a text as a sum of terms, by default of the likeliest words."""
    place = Explainer(model, context).next_word(text, words, most)
    return split(place.queried or place.likeliest)


def split(choices: Sequence[Choice]) -> "pd.DataFrame":
    """Return a column for each word and a row for each term, which sum to log p."""
    import pandas as pd  # here, as words are explained without tables

    columns = {}
    for choice in choices:
        columns[choice.word] = column = {"background": choice.background}
        column |= {label(choice, term): term.nats for term in choice.terms}
        column |= {"−log Z": -choice.log_z, "log p": choice.log_p}
        if choice.spelling:
            column[SPELLED] = choice.spelling
    table = pd.DataFrame(columns)
    last = [name for name in ("−log Z", SPELLED, "log p") if name in table.index]
    middle = table.drop(index=["background", *last]).abs().max(axis=1)
    order = ["background", *middle.sort_values(ascending=False, kind="stable").index, *last]
    return table.loc[order]


def label(choice: Choice, term: Term) -> str:
    """Return a feature's name; the word's own feature is named by the template alone: `form`."""
    return "form" if term.feature == IDENTITY + choice.word else term.feature


def telling_features(choices: Sequence[Choice]) -> list[str]:
    """Return the features with the largest terms of some words, without those of all words.

    A word's own feature, its meaning and the expert's term are left out: they concern one word.
    """
    nats: dict[str, list[float]] = {}
    for term in (term for choice in choices for term in choice.terms):
        if not term.feature.startswith((IDENTITY, MEANING, EXPERT)):
            nats.setdefault(term.feature, []).append(abs(term.nats))
    differ = [name for name, of_words in nats.items() if len(of_words) < max(2, len(choices))]
    return sorted(differ or nats, key=lambda name: -max(nats[name]))[:TELLING]


TERMS = 10  # features shown of a word; the smallest beyond them are summed
SHOWN = {END: "⏎"}  # the end of a sentence, where words are shown
GAP = "…"  # the place of the next word


def page(sentences: Sequence[Sequence[Place]], gap: Place | None = None) -> str:
    """Return a whole page; `gap` explains the word that follows the last sentence."""
    return html_page("Explained", section(sentences, gap))


def section(sentences: Sequence[Sequence[Place]], gap: Place | None = None) -> str:
    """Return explained sentences as part of a page."""
    style = (files("accord.pipeline.ask") / "explain.css").read_text(encoding="utf-8")
    gaps = [*[None] * (len(sentences) - 1), gap]
    return f"<style>{style}</style>\n" + "\n".join(map(_sentence_html, sentences, gaps))


def _sentence_html(positions: Sequence[Place], gap: Place | None = None) -> str:
    """Return the words of a sentence. A gap stands in place of the end and is open at first.

    Otherwise the word is open that shared features raise most. Each word is underlined by its
    surprisal and has a panel.
    """
    group = f"sentence-{crc32(repr(positions).encode()):x}"  # its own, and the same in every run
    shared = [
        sum(term.nats for term in place.queried[0].terms if not term.feature.startswith(IDENTITY))
        for place in positions
    ]
    opened = len(positions) - 1 if gap else shared.index(max(shared))
    words = ""
    for number, place in enumerate([*positions[:-1], gap or positions[-1]]):
        id, checked = f"{group}-{number}", " checked" if number == opened else ""
        surprise = 0 if place is gap else min(100, round(-place.queried[0].log_p * 8))
        shown = GAP if place is gap else _shown(place.queried[0])
        words += (
            f'<input type="radio" name="{group}" id="{id}"{checked}>'
            f'<label for="{id}" style="--surprise:{surprise}%">{shown}</label>'
            f'<div class="why">{"".join(map(_terms_html, place.queried))}{_likeliest(place)}</div>'
        )
    return f'<fieldset class="explained"><legend hidden>A sentence</legend>{words}</fieldset>'


def _terms_html(choice: Choice) -> str:
    """Return log p as a sum, with a bar for each feature."""
    terms = [(label(choice, term), term.nats) for term in choice.terms]
    if rest := terms[TERMS:]:
        terms[TERMS:] = [(f"{len(rest)} more features", sum(nats for _, nats in rest))]
    numbers = [0, *(nats for _, nats in terms)]
    low, high = min(numbers), max(numbers)
    rows = [_row("background", f"{choice.background:+.2f}")]
    rows += [_row(name, f"{nats:+.2f}", _bar(nats, low, high)) for name, nats in terms]
    rows += [_row("−log Z", f"{-choice.log_z:+.2f}")]
    rows += [_row(SPELLED, f"{choice.spelling:+.2f}")] if choice.spelling else []
    total = f'<tr class="total"><th>log p</th><td>{choice.log_p:+.2f}</td><td></td></tr>'
    title = f"<h3>{_shown(choice)} <small>{_percent(choice)}</small></h3>"
    return f"<div>{title}<table>{''.join(rows)}{total}</table></div>"


def _likeliest(place: Place) -> str:
    """Return the likeliest words and, where words have vectors, those of the sought meaning."""
    high = max(choice.probability for choice in place.likeliest)
    rows = "".join(
        _row(SHOWN.get(c.word, c.word), _percent(c), _bar(c.probability, 0, high))
        for c in place.likeliest
    )
    sought = f"<p>meaning asked for: {escape(', '.join(place.sought))}</p>" if place.sought else ""
    return f"<div><h3>likeliest here</h3><table>{rows}</table>{sought}</div>"


def _row(name: str, number: str, bar: str = "") -> str:
    return f'<tr><th>{escape(name)}</th><td>{number}</td><td class="bar">{bar}</td></tr>'


def _bar(value: float, low: float, high: float) -> str:
    """Return a bar from zero, in a row that reaches from low ≤ 0 to high ≥ 0."""
    reach = high - low or 1
    start, length = (min(value, 0) - low) / reach, abs(value) / reach
    sign = ' class="minus"' if value < 0 else ""
    return f'<i{sign} style="--from:{start:.1%};--long:{length:.1%}"></i>'


def _shown(choice: Choice) -> str:
    return escape(SHOWN.get(choice.word, choice.word))


def _percent(choice: Choice) -> str:
    percent = 100 * choice.probability
    return f"{percent:.2f}%" if percent >= 0.01 else f"{percent:.1g}%"
