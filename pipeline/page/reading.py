"""A text in parts: some sentences at a time, or some words of a long one.

A model that reads on from one part to the next needs its state in between. A bookmark keeps it. So
a long text is answered while it is read, and other questions are answered between two parts.
"""

import math
from collections.abc import Generator, Iterator, Mapping, Sequence
from copy import copy
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from accord.corpora.detokenise import spans
from accord.errors import AccordError
from accord.models.constraints.automata import WordAutomaton
from accord.models.data import Sentences
from accord.models.inference.interface import (
    NOTHING,
    InferenceModel,
    Rows,
    ScoreTerms,
    State,
)
from accord.models.inference.next_word import Expected, NextWord
from accord.models.spelling.spelling import spelled_text
from accord.pipeline.ask.context import split_texts
from accord.pipeline.ask.scorer import Scorer, tokens
from accord.pipeline.base.names import END, END_ID

PART = 120  # words of sentences that are read side by side
IN_A_ROW = 40  # words that are read one after the other, which takes longer
LONGEST = 20_000  # words of a text that is read at all
MOST_LETTERS = 200_000  # characters of it
GAPS = ("…", "...")
BITS = 1 / math.log(2)  # in a nat
Answer = dict[str, Any]


def beginning_of(text: str) -> str:
    """The text without the gap at its end: a `…` behind a blank, or all there is.

    A `…` right behind a word is a mark like any other.
    """
    beginning = text.rstrip()
    for gap in GAPS:
        rest = beginning.removesuffix(gap)
        if rest != beginning and (not rest or rest[-1].isspace()):
            return rest.rstrip()
    return text


class TextPart(NamedTuple):
    """Neighbouring sentences, or some words of one, as they are written."""

    sentences: list[list[str]]
    places: list[tuple[int, int]]  # in the text, of each word and of each end
    ends: bool  # whether the last sentence ends here
    is_last: bool  # of the text


class ReadPart(NamedTuple):
    """What a model says of each word of a part, and of the ends of its sentences."""

    places: list[tuple[int, int]]
    is_end: np.ndarray
    nats: np.ndarray  # −log p
    spelled: np.ndarray
    is_last: bool


class TypedSentence(NamedTuple):
    """A sentence as it stands in a text."""

    words: list[str]
    start: int  # in the text
    written: str


def sentences_of(text: str) -> list[TypedSentence]:
    """Each sentence of a text. Too long a text is refused. Nothing is a sentence without words."""
    if len(text) > MOST_LETTERS:
        raise AccordError(f"expected at most {MOST_LETTERS:,} characters, got {len(text):,}")
    split = split_texts([text])
    words = [list(each) for each in tokens(split.sentences)]
    if (count := sum(map(len, words)) + max(0, len(words) - 1)) > LONGEST:
        raise AccordError(f"expected at most {LONGEST:,} words, got {count:,}")
    rows = zip(words, split.start, split.sentences, strict=True)
    found = [TypedSentence(*each) for each in rows]
    return found or [TypedSentence([], 0, "")]


def parts(
    sentences: Sequence[TypedSentence], most: int, in_a_row: int | None
) -> Iterator[TextPart]:
    """Sentences of at most so many words together; one longer than `in_a_row` is cut."""
    gathered: list[list[str]] = []
    places: list[tuple[int, int]] = []
    for number, (words, start, written) in enumerate(sentences, start=1):
        is_last = number == len(sentences)
        is_long = in_a_row is not None and len(words) > in_a_row
        if gathered and (is_long or len(places) + len(words) >= most):
            yield TextPart(gathered, places, True, False)
            gathered, places = [], []
        at = [(start + first, start + end) for first, end in spans(written, words)]
        last = start + len(written)
        if is_long:
            for first in range(0, len(words), in_a_row):
                some = slice(first, first + in_a_row)
                ends = first + in_a_row >= len(words)
                end = [(last, last)] * ends
                yield TextPart([words[some]], [*at[some], *end], ends, is_last and ends)
        else:
            gathered, places = [*gathered, words], [*places, *at, (last, last)]
    if gathered:
        yield TextPart(gathered, places, True, True)


class Bookmark:
    """Where a model is in a text: its state, and the last word, which it is to read next."""

    def __init__(self) -> None:
        self.state: State | None = None
        self.last = END_ID

    def read(self, model: InferenceModel, ids: Sequence[int]) -> None:
        """Go on by some words."""
        before = model.initial_state(1) if self.state is None else self.state
        words = np.array([self.last, *ids[:-1]])[:, None]
        _, self.state = model.advance(words, before)
        self.last = ids[-1]


class Beginning(NamedTuple):
    """The state at a bookmark, before the word there is read."""

    state: State


class ContinuedModel(InferenceModel):
    """A model that goes on from a bookmark. It moves the bookmark as it reads.

    A text begins with the state and the last word there, instead of a sentence's end. Everything
    else is the model's own.
    """

    def __init__(self, model: InferenceModel, bookmark: Bookmark):
        self.model, self.bookmark = model, bookmark
        self.state, self.last = bookmark.state, bookmark.last  # where every text begins
        self.signature, self.log_share = model.signature, model.log_share
        self.is_sum, self.sharpness = model.is_sum, model.sharpness

    def initial_state(self, columns: int) -> State:
        if self.state is None:
            return self.model.initial_state(columns)
        return Beginning(self.model.columns(self.state, np.zeros(columns, np.int64)))

    def advance(
        self, words: np.ndarray, state: State, extra: Mapping[str, np.ndarray] = NOTHING
    ) -> tuple[Rows, State]:
        if isinstance(state, Beginning):
            words, state = np.concatenate([np.full_like(words[:1], self.last), words[1:]]), state[0]
        h, self.bookmark.state = self.model.advance(words, state, extra)
        return h, self.bookmark.state

    def constrained(self, automaton: WordAutomaton) -> InferenceModel:
        here = Bookmark()
        here.state, here.last = self.state, self.last
        return ContinuedModel(self.model.constrained(automaton), here)

    def columns(self, state: State, chosen: np.ndarray) -> State:
        return self.model.columns(state, chosen)

    def contexts(self, sentences: Sentences) -> np.ndarray:
        return self.model.contexts(sentences)

    def as_read(self, sentences: Sentences) -> Sentences:
        return self.model.as_read(sentences)

    def signature_log_prob(self, h: Rows, context: np.ndarray) -> np.ndarray:
        return self.model.signature_log_prob(h, context)

    def log_prob_of(self, h: Rows, words: np.ndarray, context: np.ndarray) -> np.ndarray:
        return self.model.log_prob_of(h, words, context)

    def top(self, h: Rows, k: int, context: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.model.top(h, k, context)

    def draw(self, h: Rows, context: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        return self.model.draw(h, context, generator)

    def adaptor(self, h: Rows) -> np.ndarray:
        return self.model.adaptor(h)

    def terms(self, h: Rows, words: np.ndarray, context: np.ndarray) -> ScoreTerms:
        return self.model.terms(h, words, context)

    def parameter_count(self) -> int:
        return self.model.parameter_count()


def is_cut(model: object) -> bool:
    """Whether a model can read on from a state alone: no word before it counts otherwise."""
    end = Sentences(np.array([END_ID]), np.array([1]))
    return isinstance(model, InferenceModel) and model.contexts(end).shape[1] == 0


class TextReader:
    """Reads texts in parts."""

    def __init__(self, scorer: Scorer):
        self.scorer = scorer

    def answer(self, text: str, context: str | None = None) -> Iterator[Answer | None]:
        """The surprisal of each word and sentence end of a text, for JSON. None is a pause."""
        beginning = beginning_of(text)
        sentences = sentences_of(beginning)
        is_gap = beginning != text or not sentences[0].words
        yield None  # to split a long text takes a while, and so does to read it
        for part in self.read(sentences, context):
            words = [
                {
                    "form": "" if is_end else beginning[start:end],
                    "start": start,
                    "end": end,
                    "bits": finite(nats * BITS),
                    "spelled": bool(spelled),
                }
                for (start, end), is_end, nats, spelled in zip(*part[:-1], strict=True)
            ]
            yield {"words": words, "gap": is_gap}  # the last word is asked for then
            if not part.is_last:
                yield None

    def read(self, sentences: Sequence[TypedSentence], context: str | None) -> Iterator[ReadPart]:
        """The surprisal of each word of a text and of the ends of its sentences."""
        for part, scorer, batch, written in self._parts(sentences, context):
            log_p, spelled = scorer.score_encoded(batch, written)
            is_end = written.positions < 0
            yield ReadPart(part.places, is_end, -log_p, spelled, part.is_last)

    def expect(
        self, sentences: Sequence[TypedSentence], context: str | None, next_word: NextWord
    ) -> Iterator[Expected]:
        """What is expected before each of them."""
        next_word = copy(next_word)
        for _, scorer, batch, written in self._parts(sentences, context):
            next_word.model = scorer.model
            letters = scorer.spelling and spelled_text(scorer.spelling, written)
            yield next_word.ask(batch, letters)

    def _parts(
        self, sentences: Sequence[TypedSentence], context: str | None
    ) -> Iterator[tuple[TextPart, Scorer, Any, Any]]:
        """Each part, the scorer at that place, and the part in ids and as it is written."""
        carried = self.scorer.in_context(context)
        cut = is_cut(self.scorer.model)
        most = (IN_A_ROW if carried else PART) if cut or not carried else LONGEST
        bookmark, begins = Bookmark(), True  # a sentence
        for part in parts(sentences, most, IN_A_ROW if cut else None):
            scorer = self.scorer
            if cut and (carried or not (begins and part.ends)):
                scorer = copy(scorer)
                scorer.model = ContinuedModel(self.scorer.model, bookmark)
            cased = [scorer.cased(words) for words in part.sentences]
            batch, written = scorer.encoded(cased, [0] * len(cased) if carried else None)
            if not part.ends:
                batch = Sentences(batch.ids[:-1], batch.lengths - 1)
                written = written._replace(positions=written.positions[:-1])
            yield part, scorer, batch, written
            bookmark.last = int(batch.ids[-1])
            begins = part.ends
            if begins and not carried:
                bookmark = Bookmark()


def words_before(scorer: Scorer, text: str) -> list[str]:
    """The words of a text as a model reads them, and the ends between its sentences."""
    read = (scorer.cased(words) for words, _, _ in sentences_of(text))
    return [*chain.from_iterable([*words, END] for words in read)][:-1]


def read_up_to(
    scorer: Scorer, words: Sequence[str], carried: bool, keep: int = IN_A_ROW
) -> Generator[None, None, tuple[Bookmark, list[str]]]:
    """Read the words before a place, with pauses; a bookmark and the last words are returned.

    So many words are left to read, or fewer. Where sentences are read alone, only the last counts.
    """
    ends = [place for place, word in enumerate(words) if word == END]
    left = list(words) if carried or not ends else list(words[ends[-1] + 1 :])
    bookmark = Bookmark()
    while is_cut(scorer.model) and len(left) > keep:
        bookmark.read(scorer.model, [scorer.id_of(word) for word in left[:IN_A_ROW]])
        left = left[IN_A_ROW:]
        yield
    return bookmark, left


def finite(number: float) -> float | None:
    """A number for JSON; None if it is infinite."""
    return float(number) if math.isfinite(number) else None
