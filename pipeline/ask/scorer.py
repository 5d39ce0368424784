"""A trained model for texts as a person types them: sentences become words with scores.

Texts are split into sentences and tokenised, their words are scored in batches, and every word
keeps its place in the text. A reader can also follow the expectations of the model: the entropy of
the next word, the rank of the word that came, and the probability of features:

    P(f = v | K) = Σ_x p(x | K)·share(x, v),    share(x, v) = Σ weights of x's analyses with v / all

A word of several analyses counts for each by its weight, so the values of a feature sum to one;
`none` is the value of analyses without it. An unknown word has the analyses of its class. A
sentence end, and a word that no lexicon knows, has none.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from accord.corpora.segment import sentence_spans
from accord.corpora.text import HALF
from accord.corpora.tokenise import normalise, spans, tokenised
from accord.errors import AccordError
from accord.lexicon.analysis import feature_names
from accord.models.common.checks import check_finite, nearest
from accord.models.common.registry import Registry, imported
from accord.models.data import Sentences
from accord.models.inference.interface import InferenceModel, Rows, expect_words
from accord.models.inference.next_word import Expected, NextWord, WordValues, distributions
from accord.models.spelling import WrittenText, score_text, spelled_text
from accord.pipeline.ask.split import PARTS, Split
from accord.pipeline.base.messages import say
from accord.pipeline.base.names import END, END_ID, UNKNOWN_ID, is_special
from accord.pipeline.model.find import TrainedModel, one
from accord.pipeline.model.folder import ModelFolder, open_folder

if TYPE_CHECKING:
    import pandas as pd

CONTEXT = "context"  # the column of a table with the text before each row
GAPS = ("…", "...")
BITS = 1 / math.log(2)  # in a nat
AT_ONCE = 1000  # sentences read together
# The likeliest on the first third of 36 novels (results/log/context.md).
CACHE_WEIGHT = 0.06  # λ
CACHE_SHARPNESS = 10.0  # θ
CACHED_WORDS = 2000
QUERIES_AT_ONCE = 256  # positions that are compared with the cached words together


class Context(StrEnum):
    """What a word is conditioned on."""

    text = "text"  # all words before it in its text
    none = "none"  # those of its own sentence


class SplitTexts(NamedTuple):
    """The sentences of some texts in a row."""

    sentences: list[str]  # as written
    text: list[int]  # the number of each sentence's text, from 0
    start: list[int]  # where each sentence begins in its text


def split_texts(texts: Iterable[str]) -> SplitTexts:
    """Split texts into sentences; a text without words has none."""
    split = SplitTexts([], [], [])
    for number, text in enumerate(texts):
        for start, end in sentence_spans(text):
            if normalise(text[start:end]):
                split.sentences.append(text[start:end])
                split.text.append(number)
                split.start.append(start)
    return split


def tokens(sentences: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """Yield the words of each sentence in the case of the text."""
    return tokenised(map(_checked, sentences))


def _checked(text: str) -> str:
    """Return the text if it is valid: bytes that are not UTF-8 arrive as surrogates."""
    if half := HALF.search(text):
        raise AccordError(
            f"expected text in UTF-8, found half of a character (a lone surrogate) behind "
            f"{text[: half.start()][-40:]!r}"
        )
    return text


def without_gap(text: str) -> str:
    """Return a text without the gap at its end: a `…` behind a blank, or alone.

    A `…` right behind a word is a mark of the text. A text without a gap is returned unchanged.
    No regular expression: `\\s*…\\s*$` takes time that grows with the square of the blanks.
    """
    stripped = text.rstrip()
    for gap in GAPS:
        rest = stripped.removesuffix(gap)
        if rest != stripped and (not rest or rest[-1].isspace()):
            return rest.rstrip()
    return text


def pieces(documents: Sequence[int] | None, count: int, at_once: int) -> Iterator[slice]:
    """Yield slices of at least `at_once` sentences, the last one perhaps shorter.

    `documents` numbers the document of each of the `count` sentences; no document is cut.
    """
    first = 0
    while first < count:
        end = min(first + at_once, count)
        while documents is not None and end < count and documents[end] == documents[end - 1]:
            end += 1
        yield slice(first, end)
        first = end


@dataclass(frozen=True)
class Word:
    """A word, its log-probability in nats, and whether the character model spelled it."""

    form: str
    log_p: float
    spelled: bool


# Kinds of models with a scorer of their own.
READERS = Registry("scorer", "accord.scorers")


def _imported(place: str) -> Any:
    """Import a function of a module that imports this one, at its first call."""
    return imported(f"accord.pipeline.{place}")


class Scorer:
    """A trained model that answers queries.

    It tokenises a text, looks its words up, scores them in context, and spells unknown words.
    """

    _is_said = False  # that the model was not trained to read in context

    def __init__(self, parts: ModelFolder, trained: TrainedModel | None = None):
        self.parts, self.trained = parts, trained
        self.vocabulary, self.lowercase = parts.vocabulary, parts.lookup.lowercase
        self.model, self.spelling = parts.model, parts.spelling
        self.speller = parts.speller  # of a model of subwords

    def __repr__(self) -> str:
        """Return the name of the model, its vocabulary and its size."""
        trained = self.trained
        parts = [f"{trained.kind} model {trained.name!r}" if trained else "model"]
        if trained and trained.kind == "run":
            parts[0] += f" of {trained.place}"
        if self.speller is None:
            parts.append(f"{len(self.vocabulary.known):,} known words")
        if count := getattr(self.model, "parameter_count", None):
            parts.append(f"{count():,} parameters")
        if trained and trained.protocol:
            parts.append(f"protocol {trained.protocol}")
        return f"<Accord: {', '.join(parts)}>"

    def surprisal(
        self, text: "str | Sequence[str] | Path | pd.DataFrame", **options: Any
    ) -> "pd.DataFrame":
        """Return a row for each word of a sentence or of several, with its surprisal in bits.

        `text` may also be a table with a column of sentences, or the Path of one. The options are
        those of `accord.surprisal`.
        """
        return _imported("ask.surprisal:of_sentences")(self, text, **options)

    def expect(self, text: str, *features: str, context: str | None = None) -> "pd.DataFrame":
        """Return the probability of features, such as P(Number=Plur | K), before each word."""
        return expect(text, self, features or FEATURES, context)

    def explain(
        self, text: str, *words: str, most: int = 3, context: str | None = None
    ) -> "pd.DataFrame":
        """Explain log p of words after a text as a sum of terms; by default of the likeliest."""
        return _imported("ask.explain:explain")(self, text, words, most, context)

    def generate(self, start: str = "", count: int = 10, **options: Any) -> list[Any]:
        """Return new sentences (`NewSentence`), drawn by chance or found by `beam` search.

        The options are those of `accord.pipeline.ask.generate.generate`.
        """
        return _imported("ask.generate:generate")(self, start, count, **options)

    def phi(self, word: str) -> dict[str, float]:
        """Return φ of a word: its features by their names; an unknown word has those of its class.

        A word is what the model reads as one: `27`, `aujourd'hui`.
        """
        (form,) = self.single_words([word])
        return self.parts.features.named(self.id_of(form))

    def nearest(self, word: str, most: int = 10) -> "pd.DataFrame":
        """Return the words whose vectors are nearest to that of a word, by cosine."""
        return _imported("ask.vectors:nearest")(self, word, most)

    def agree(self, suite: str, by: str = "construction") -> "pd.DataFrame":
        """Return how often the right sentence of a minimal pair is likelier, by kind of pair."""
        return _imported("study.agreement:agree")(self, suite, by)

    def for_many(self) -> "Scorer":
        """Return the same scorer, prepared for hundreds of queries with a few states each."""
        other = copy(self)
        if isinstance(self.model, InferenceModel):
            other.model = self.model.for_many()
        return other

    @property
    def is_open(self) -> bool:
        """Tell whether every string has a probability."""
        return self.vocabulary.is_open or self.speller is not None

    def words(self, sentence: str) -> list[str]:
        """Return the words of a sentence, as this model reads them."""
        return next(self.read([sentence]))

    def read(self, sentences: Iterable[str]) -> Iterator[list[str]]:
        """Yield the words of many sentences, which are tokenised together."""
        return map(self.cased, tokens(sentences))

    @property
    def reads_documents(self) -> bool:
        """Tell whether the model was trained on documents, to read more than one sentence."""
        return self.parts.recipe.text == "documents"

    def in_context(self, context: str | None) -> bool:
        """Tell whether words are conditioned on the sentences before theirs in the same text.

        `context` is `text`, `none`, or None for what the model was trained for.
        """
        if context is None:
            return self.reads_documents
        if context not in [*Context]:
            raise AccordError(f"context: expected {' or '.join(Context)}, got {context!r:.80}")
        if context == Context.text and not self.reads_documents and not self._is_said:
            say(
                "context: this model was trained on single sentences (train.text), not to read one "
                "after another"
            )
            self._is_said = True
        return context == Context.text

    def score(self, text: str, context: str | None = None) -> list[Word]:
        """Return each word and sentence end of a text with log p, given the words before it.

        The text may have several sentences. With the context `text`, a word is conditioned on all
        words before it; with `none`, on those of its own sentence. The default is `text` for a
        model that was trained on documents, else `none`.
        """
        return self.score_all([text], context)[0]

    def score_all(self, texts: Iterable[str], context: str | None = None) -> list[list[Word]]:
        """Score many texts, which know nothing of each other."""
        texts = list(texts)
        split = split_texts(texts)
        if lacking := sorted({*range(len(texts))}.difference(split.text)):
            raise AccordError(
                f"expected a sentence in place {lacking[0] + 1}, found no word in "
                f"{texts[lacking[0]]!r}"
            )
        documents = split.text if self.in_context(context) else None
        scored: list[list[Word]] = [[] for _ in texts]
        number = iter(split.text)
        for read in Reader(self).read(split.sentences, documents):
            for words in read.words():
                scored[next(number)] += words
        return scored

    def log_p(self, texts: Sequence[Sequence[str]]) -> np.ndarray:
        """Return log p in nats of sentences that are words already, in the case of the model."""
        if not texts:
            return np.zeros(0)
        batch, text = self.encoded(texts)
        log_p, _ = self.score_encoded(batch, text)
        return np.add.reduceat(log_p, np.cumsum(batch.lengths) - batch.lengths)

    def score_encoded(self, batch: Sentences, text: WrittenText) -> tuple[np.ndarray, np.ndarray]:
        """Return log p of every word and end in nats, and which words were spelled."""
        return score_text(self.model, self.spelling, batch, text, UNKNOWN_ID)

    def letters(self, words: Sequence[str]) -> np.ndarray:
        """Return log spell(x | s) of words by each class of unknown words: (N × S).

        It is −inf of a sentence end and of a class, which no letters write. A closed vocabulary has
        no classes.
        """
        if self.spelling is None:
            return np.zeros((len(words), 0))
        letters = np.full((len(words), self.spelling.classes), -np.inf)
        forms = self.vocabulary.forms  # a text may have a word like the end or a class
        written = [
            at
            for at, word in enumerate(words)
            if not is_special(word) or forms[self.id_of(word)] != word
        ]
        if written:
            letters[written] = self.spelling.log_prob([words[at] for at in written])
        return letters

    def log_p_of_next(
        self, h: Rows, context: np.ndarray, ids: Sequence[int], letters: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return log p of words in each state, and log p of their ids alone: (B × W) each.

        The first includes the mass of their `letters`; an unknown word has that alone.
        """
        count = letters.shape[1]
        queried = np.array([*ids, *range(UNKNOWN_ID, UNKNOWN_ID + count)])
        of_states = np.broadcast_to(queried, (len(context), len(queried)))
        log_p = expect_words(self.model).log_prob_of(h, of_states, context)
        of_ids, of_classes = np.split(log_p, [len(ids)], axis=1)
        if not count:
            return of_ids, of_ids
        is_class = np.isin(queried[: len(ids)], queried[len(ids) :])
        is_spelled = is_class & np.isfinite(letters).any(axis=1)
        spelled = np.logaddexp.reduce(of_classes[:, None] + letters, axis=2)
        return np.logaddexp(np.where(is_spelled, -np.inf, of_ids), spelled), of_ids

    def encoded(
        self, texts: Sequence[Sequence[str]], documents: Sequence[int] | None = None
    ) -> tuple[Sentences, WrittenText]:
        """Return tokenised sentences in ids and as they are written."""
        forms = list(dict.fromkeys(word for words in texts for word in words))
        place = {form: number for number, form in enumerate(forms)}
        positions = np.array([i for words in texts for i in (*(place[w] for w in words), -1)])
        known = np.zeros(len(forms), int) if self.speller else self.vocabulary.ids(forms)
        ids = np.array([*known, END_ID])[positions]  # −1 is the last
        batch = Sentences(ids, np.array([len(words) + 1 for words in texts]))
        if documents is not None:
            batch = batch._replace(documents=np.asarray(documents), carried=True)
        return batch, self.written(forms, positions)

    def written(self, forms: list[str], positions: np.ndarray) -> WrittenText:
        """Return how the words of a text are written, in subwords for a model of subwords."""
        return WrittenText(forms, positions, self.speller.subwords(forms) if self.speller else None)

    def cased(self, words: Iterable[str]) -> list[str]:
        """Return words in the case that this model reads."""
        return [word.lower() for word in words] if self.lowercase else list(words)

    def as_read(self, words: Iterable[str]) -> list[str]:
        """Return single queried words, written as this model reads its texts."""
        return self.cased(map(normalise, words))

    def single_words(self, words: Iterable[str]) -> list[str]:
        """Return single queried words; reject one that is several words to this model, or none."""
        queried = self.as_read(words)
        for word in queried:
            is_known = word == END or word in self.vocabulary.known
            if not is_known and len(read := self.words(word)) != 1:
                raise AccordError(
                    f"expected one word, got {len(read)} in {word!r:.80}: {', '.join(read):.80}"
                )
        return queried

    def id_of(self, word: str) -> int:
        """Return the id of a word or of the end; an unknown word has the id of its class."""
        return END_ID if word == END else int(self.vocabulary.ids([word])[0])


class CachedScorer(Scorer):
    """A scorer with a continuous cache: words of a text come again where the states are alike.

        p'(x | K) = (1 − λ)·p(x | K) + λ·c(x | K),    c(x | K) = Σ_{j<t} w_j·[x_j = x] / Σ_{j<t} w_j
        w_j = exp(θ·cos(h_t, h_j))                                          (Grave et al. 2017)

    h_j is the state before x_j, a word of the same text; x may be any string, a spelled one too.
    Where nothing was read yet λ is 0, and an end is never kept. So p' sums to one over all strings.
    """

    def __init__(self, scorer: Scorer):
        expect_words(scorer.model)
        vars(self).update(vars(scorer))

    def score_encoded(self, batch: Sentences, text: WrittenText) -> tuple[np.ndarray, np.ndarray]:
        log_p, spelled = super().score_encoded(batch, text)
        h = self._states(batch)
        for start, length in zip(*batch.texts(), strict=True):
            part = slice(start, start + length)
            log_p[part] = with_cache(log_p[part], h[part], text.positions[part])
        return log_p, spelled

    def _states(self, batch: Sentences) -> np.ndarray:
        """Return the states before all words, of length one: (N × H)."""
        model = expect_words(self.model)
        rows = [(read.positions, np.asarray(read.h)) for read in model.states(batch)]
        h = np.empty((len(batch.ids), rows[0][1].shape[1]), np.float32)
        for positions, states in rows:
            h[positions] = states / np.linalg.norm(states, axis=1, keepdims=True)
        return h


def with_cache(log_p: np.ndarray, h: np.ndarray, forms: np.ndarray) -> np.ndarray:
    """Return log p' of the words of one text from log p, by the states before them.

    `forms` has the number of each word's form, −1 for an end.
    """
    mixed = log_p.copy()
    for start in range(0, len(log_p), QUERIES_AT_ONCE):
        now = slice(start, start + QUERIES_AT_ONCE)
        kept = slice(max(0, start - CACHED_WORDS), now.stop)
        place = np.arange(len(log_p))
        weights = np.exp(CACHE_SHARPNESS * (h[now] @ h[kept].T - 1), dtype=np.float64)
        weights *= (place[kept] < place[now, None]) & (forms[kept] >= 0)
        total = weights.sum(axis=1)
        same = (weights * (forms[kept] == forms[now, None])).sum(axis=1)
        has_words = total > 0
        with np.errstate(divide="ignore"):
            cached = np.log(same[has_words] / total[has_words])
        of_model = mixed[now]
        of_model[has_words] = np.logaddexp(
            np.log1p(-CACHE_WEIGHT) + of_model[has_words], np.log(CACHE_WEIGHT) + cached
        )
    return mixed


def load(
    run: str | Path | None = None, model: str | None = None, lexicon: str | Path | None = None
) -> Scorer:
    """Load a trained model; without a name, the bundled model.

    `run` is the folder of a run or of an exported model, the id of a model on the
    Hugging Face hub, or an ARPA file. A run has several models: `model` names one of them, by
    default the last. `lexicon` is a table of words that are added to the model, or analysed anew:
    form, lemma, upos, feats and perhaps frequency, per million words.
    """
    trained = one(run, model).fetched()
    if trained.folder is None:  # a file, such as n-grams
        return READERS[trained.kind](trained)
    parts = open_folder(trained.folder)
    if lexicon is not None:
        parts = _imported("model.query_lexicon:with_lexicon")(parts, trained, Path(lexicon))
    return Scorer(parts, trained)


@cache
def bundled() -> Scorer:
    """Load the bundled model, once."""
    return load()


def score_sentence(
    text: str, model: Scorer | None = None, context: str | None = None
) -> list[Word]:
    """Score each word and sentence end of a text in nats, by default by the bundled model.

    `context` is that of `Scorer.score`.
    """
    return (model or bundled()).score(text, context)


def features_of_word(word: str, model: Scorer | None = None) -> dict[str, float]:
    """Return φ of a word, by default of the bundled model: its features by their names."""
    return (model or bundled()).phi(word)


def explain_words(
    text: str, *words: str, model: Scorer | None = None, context: str | None = None
) -> "pd.DataFrame":
    """Explain log p of words after a text as a sum of terms; by default of the likeliest."""
    return (model or bundled()).explain(text, *words, context=context)


def generate_sentences(
    start: str = "", count: int = 10, model: Scorer | None = None, **options: Any
) -> list[Any]:
    """Generate sentences that begin with a text.

    The options are those of `accord.pipeline.ask.generate.generate`.
    """
    return (model or bundled()).generate(start, count, **options)


@dataclass(frozen=True)
class ReadWords:
    """Columns of one length: the words of some sentences, each sentence with its end."""

    sentence: np.ndarray  # the number of the word's sentence, from 0
    form: list[str]  # as the model reads it; </s> of an end
    start: np.ndarray  # where the word begins in the text
    end: np.ndarray
    is_end: np.ndarray  # whether it is the end of its sentence
    nats: np.ndarray  # −log p
    spelled: np.ndarray  # whether the character model spelled it
    expected: Expected | None  # the expectations before each word, if the reader follows them
    parts: np.ndarray | None  # of `nats`, by PARTS, if the reader splits it: (N × 5)

    def by_sentence(self) -> Iterator[slice]:
        """Yield the places of each sentence, its end included."""
        ends = (np.flatnonzero(self.is_end) + 1).tolist()
        return map(slice, [0, *ends[:-1]], ends)

    def words(self) -> Iterator[list[Word]]:
        """Yield the words of each sentence with their log p, its end included."""
        words = [*map(Word, self.form, (-self.nats).tolist(), self.spelled.tolist())]
        return (words[place] for place in self.by_sentence())


class Reader:
    """Reads sentences by one model and keeps the place of every word.

    With `features`, perhaps none, it also follows expectations before each word: entropy, rank and
    the probabilities of these features, in the columns `values`. A model of subwords lists
    no words, so it has only log p. With `split` it also splits the surprisal of each word.
    """

    def __init__(self, scorer: Scorer, features: Sequence[str] | None = None, split: bool = False):
        self.scorer, self.split = scorer, None
        if split:
            classes = len(scorer.vocabulary.unknown)
            self.split = Split(expect_words(scorer.model), scorer.parts.readings, classes)
        self.values: list[str] = []
        self.next_word: NextWord | None = None
        if features is not None and isinstance(scorer.model, InferenceModel):
            vocabulary = scorer.vocabulary
            count = len(vocabulary.forms)
            self.values, shares = feature_shares(scorer.parts.readings.table, count, features)
            unknown = range(UNKNOWN_ID, UNKNOWN_ID + len(vocabulary.unknown))
            self.next_word = NextWord(scorer.model, shares, unknown)
        elif features:
            raise AccordError(f"expected a model over words, got a {type(scorer.model).__name__}")

    def by(self, scorer: Scorer) -> "Reader":
        """Return the same reader by a model that differs in its weights alone."""
        other = copy(self)
        other.scorer = scorer
        for part in ("split", "next_word"):
            if getattr(self, part):
                setattr(other, part, copy(getattr(self, part)))
                getattr(other, part).model = expect_words(scorer.model)
        return other

    def expect_ranks(self) -> None:
        """Reject a model that cannot rank words."""
        if self.next_word is None:
            raise AccordError(
                "expected a model of words, got one of subwords: it lists no words, and cannot "
                "say which is the likeliest"
            )

    def read(
        self,
        sentences: Sequence[str],
        documents: Sequence[int] | None = None,
        starts: Sequence[int] | None = None,
    ) -> Iterator[ReadWords]:
        """Yield the words of the sentences, about AT_ONCE sentences at a time.

        Neighbours with the same number in `documents` are read as one text. `starts` has the place
        of each sentence in its text, by default 0.
        """
        for piece in pieces(documents, len(sentences), AT_ONCE):
            of_piece = documents[piece] if documents is not None else None
            words = self._read(sentences[piece], of_piece, piece.start)
            yield words if starts is None else _moved(words, starts)

    def read_text(self, text: str, context: str | None = None) -> ReadWords:
        """Read one text, which may have several sentences, at once.

        `context` is that of `Scorer.score`.
        """
        split = split_texts([text])
        documents = split.text if self.scorer.in_context(context) and split.text else None
        words = self._read(split.sentences or [""], documents, 0)
        return _moved(words, split.start or [0])

    def _read(
        self, sentences: Sequence[str], documents: Sequence[int] | None, first: int
    ) -> ReadWords:
        """Read sentences at once; an error names words that a closed vocabulary lacks."""
        texts = list(tokens(sentences))
        cased = [self.scorer.cased(words) for words in texts]
        lacking = [
            f"{word!r} in sentence {number}"
            for number, words in enumerate(cased, start=first + 1)
            for word in dict.fromkeys(words)
            if not self.scorer.is_open and word not in self.scorer.vocabulary.known
        ]
        if lacking:
            raise AccordError(
                f"expected words of this closed vocabulary; it does not know {', '.join(lacking)}"
            )
        batch, text = self.scorer.encoded(cased, documents)
        log_p, spelled, expected, parts = self._scored(batch, text)
        places = [
            place
            for sentence, words in zip(sentences, texts, strict=True)
            for place in (*spans(sentence, words), (len(sentence), len(sentence)))
        ]
        start, end = np.array(places).T
        number = np.repeat(np.arange(first, first + len(texts)), batch.lengths)
        form = [text.forms[at] if at >= 0 else END for at in text.positions.tolist()]
        is_end = text.positions < 0
        return ReadWords(number, form, start, end, is_end, -log_p, spelled, expected, parts)

    def _scored(
        self, batch: Sentences, text: WrittenText
    ) -> tuple[np.ndarray, np.ndarray, Expected | None, np.ndarray | None]:
        """Return log p of words, which were spelled, the expectations, and parts of surprisal."""
        if self.next_word is None and self.split is None:
            return *self.scorer.score_encoded(batch, text), None, None
        spelling = self.scorer.spelling
        letters = spelled_text(spelling, text) if spelling else None
        terms = np.zeros((len(batch.ids), 1 + len(PARTS)))

        def observe(positions: np.ndarray, log_p: np.ndarray) -> None:
            if self.split:
                of_words = None if letters is None else letters[positions]
                terms[positions] = self.split.terms(log_p, batch.ids[positions], of_words)

        expected = None
        if self.next_word:
            expected = self.next_word.ask(batch, letters, observe)
        else:
            for positions, log_p in distributions(expect_words(self.scorer.model), batch):
                observe(positions, log_p)
        log_p = expected.log_p if expected else -terms[:, 0]
        check_finite("log p", log_p)
        first = UNKNOWN_ID + len(self.scorer.vocabulary.unknown)
        is_spelled = (batch.ids >= UNKNOWN_ID) & (batch.ids < first) & (spelling is not None)
        return log_p, is_spelled, expected, terms[:, 1:] if self.split else None


def _moved(words: ReadWords, starts: Sequence[int]) -> ReadWords:
    """Return the words with their places in the text instead of those in their sentence."""
    offset = np.asarray(starts)[words.sentence]
    return replace(words, start=words.start + offset, end=words.end + offset)


POS = "pos"
NONE = "none"


def feature_shares(
    analyses_of: "Callable[[Sequence[str]], pd.DataFrame]", words: int, features: Sequence[str]
) -> tuple[list[str], WordValues]:
    """Return columns such as `Number=Plur` and `Number=none`, and each word's share of each.

    The feature `Number` has a column for each value; `Number=Plur` has this one. `analyses_of`
    returns columns of the table of analyses, if any are needed.
    """
    for name, following in pairwise(sorted(features)):
        if name == following:
            raise AccordError(f"features: expected each once, got '{name}' again")
    if not features:
        return [], WordValues.none(words)
    table = analyses_of(["word", "upos", "feats", "weight"])
    table = table[table["word"] != END_ID]  # a guesser guesses at everything, the end too
    word, weight = table["word"].to_numpy(), table["weight"].to_numpy(float)
    total = np.bincount(word, weight, minlength=words)
    some, without = total[word] > 0, np.flatnonzero(total == 0)
    table, word = table[some], np.concatenate([word[some], without])
    share = np.concatenate([weight[some] / total[word[: len(table)]], np.ones(len(without))])
    names: list[str] = []
    rows: list[tuple[np.ndarray, np.ndarray]] = []  # of analyses, and their columns
    for feature in features:
        name, _, value = feature.partition("=")
        values, code = _values(name, table)
        if value and value not in values:
            raise AccordError(f"unknown value '{value}' of {name}{nearest(value, values)}")
        code = np.concatenate([code, np.full(len(without), len(values) - 1)])
        for queried in [value] if value else values:
            at = np.flatnonzero(code == values.index(queried))
            rows.append((at, np.full(len(at), len(names))))
            names.append(f"{name}={queried}")
    at, column = (np.concatenate(arrays) for arrays in zip(*rows, strict=True))
    return names, WordValues(word[at], column, share[at], words, len(names))


def _values(feature: str, analyses: "pd.DataFrame") -> tuple[list[str], np.ndarray]:
    """Return the values of a feature, `none` last, and the number of each analysis's value."""
    column = analyses["upos" if feature == POS else "feats"].cat
    of_category = column.categories.astype(str).tolist()
    if feature != POS:
        known = sorted(feature_names(of_category))
        if feature not in known:
            raise AccordError(f"unknown feature '{feature}'{nearest(feature, [POS, *known])}")
        pattern = re.compile(rf"(?:^|\|){re.escape(feature)}=([^|]+)")
        of_category = [m[1] if (m := pattern.search(feats)) else NONE for feats in of_category]
    values = [*sorted({*of_category} - {NONE}), NONE]
    number = np.array([values.index(value) for value in of_category], dtype=np.int64)
    return values, number[column.codes.to_numpy()]


FEATURES = ("Number", "Gender", POS)
NEXT = "…"


def expect(
    text: str,
    models: Scorer | Mapping[str, Scorer] | None = None,
    features: Sequence[str] = FEATURES,
    context: str | None = None,
) -> "pd.DataFrame":
    """Return the probability of features, such as P(Number=Plur | K), before each word of a text.

    A feature such as `Number` has a column for each value; with `none` they sum to one.
    `Number=Plur` has one column. The last row is the next word if the text ends in ` …`, else the
    sentence end. If `models` maps names to models, each model has its own rows. `context` is that
    of `Scorer.score`.
    """
    import pandas as pd  # here, as words are scored without tables

    beginning = without_gap(text)
    parts = []
    for name, scorer in by_name(models).items():
        reader = Reader(scorer, features)
        words = reader.read_text(beginning, context)
        places = zip(words.start, words.end, strict=True)
        written = [beginning[start:end] or END for start, end in places]
        if beginning != text:
            written[-1] = NEXT
        rows = pd.DataFrame({"before": written, "start": words.start, "end": words.end})
        parts.append(rows.join(probabilities(reader, words)).assign(model=name))
    table = pd.concat(parts, ignore_index=True)
    name = table.pop("model")
    if isinstance(models, Mapping):
        table.insert(0, "model", name)
    return table


def probabilities(reader: Reader, words: ReadWords) -> "pd.DataFrame":
    """Return a column for each value of the followed features."""
    import pandas as pd

    means = words.expected.means if words.expected else np.zeros((len(words.form), 0))
    return pd.DataFrame(means, columns=reader.values)


def by_name(models: Scorer | Mapping[str, Scorer] | None) -> Mapping[str, Scorer]:
    """Return the models by name; a single one has none, and none is the bundled model."""
    return models if isinstance(models, Mapping) else {"": models or bundled()}
