"""A trained model for sentences as a person types them."""

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from accord.corpora.tokenise import normalise
from accord.errors import AccordError
from accord.models.common.registry import Registry, imported
from accord.models.data import Sentences
from accord.models.inference.interface import InferenceModel, Rows, expect_words
from accord.models.spelling.spelling import WrittenText, score_text
from accord.pipeline.ask.texts import Context, Word, split_texts, tokens
from accord.pipeline.base.messages import say
from accord.pipeline.base.names import END, END_ID, UNKNOWN_ID, is_special
from accord.pipeline.model.find import TrainedModel, one
from accord.pipeline.model.folder import ModelFolder, open_folder

if TYPE_CHECKING:
    import pandas as pd


# The functions that answer other queries. They are imported at their first call, as they import
# this module.
ANSWERS = {
    "surprisal": "accord.pipeline.ask.surprisal:of_sentences",
    "expect": "accord.pipeline.ask.reader:expect",
    "explain": "accord.pipeline.ask.explain:explain",
    "generate": "accord.pipeline.ask.generate:generate",
    "nearest": "accord.pipeline.ask.vectors:nearest",
    "read": "accord.pipeline.ask.reader:Reader",
    "agree": "accord.pipeline.study.agreement:agree",
}
# Kinds of models with a scorer of their own.
READERS = Registry("scorer", "accord.scorers")


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
        return imported(ANSWERS["surprisal"])(self, text, **options)

    def expect(self, text: str, *features: str, context: str | None = None) -> "pd.DataFrame":
        """Return the probability of features, such as P(Number=Plur | K), before each word."""
        chosen = [features] if features else []
        return imported(ANSWERS["expect"])(text, self, *chosen, context=context)

    def explain(
        self, text: str, *words: str, most: int = 3, context: str | None = None
    ) -> "pd.DataFrame":
        """Explain log p of words after a text as a sum of terms; by default of the likeliest."""
        return imported(ANSWERS["explain"])(self, text, words, most, context)

    def generate(self, start: str = "", count: int = 10, **options: Any) -> list[Any]:
        """Return new sentences (`NewSentence`), drawn by chance or found by `beam` search.

        The options are those of `accord.pipeline.ask.generate.generate`.
        """
        return imported(ANSWERS["generate"])(self, start, count, **options)

    def nearest(self, word: str, most: int = 10) -> "pd.DataFrame":
        """Return the words whose vectors are nearest to that of a word, by cosine."""
        return imported(ANSWERS["nearest"])(self, word, most)

    def agree(self, suite: str, by: str = "construction") -> "pd.DataFrame":
        """Return how often the right sentence of a minimal pair is likelier, by kind of pair."""
        return imported(ANSWERS["agree"])(self, suite, by)

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
        for read in imported(ANSWERS["read"])(self).read(split.sentences, documents):
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
        written = [at for at, word in enumerate(words) if not self._is_special(word)]
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

    def _is_special(self, word: str) -> bool:
        """Tell whether a word is the sentence end or a class; a text may have a word like it."""
        return is_special(word) and self.vocabulary.forms[self.id_of(word)] == word

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
            if word != END and word not in self.vocabulary.known and len(self.words(word)) != 1:
                read = self.words(word)
                raise AccordError(
                    f"expected one word, got {len(read)} in {word!r:.80}: {', '.join(read):.80}"
                )
        return queried

    def id_of(self, word: str) -> int:
        """Return the id of a word or of the end; an unknown word has the id of its class."""
        return END_ID if word == END else int(self.vocabulary.ids([word])[0])


def load(run: str | Path | None = None, model: str | None = None) -> Scorer:
    """Load a trained model; without a name, the bundled model.

    `run` is the folder of a run or of an exported model, the id of a model on the
    Hugging Face hub, or an ARPA file. A run has several models: `model` names one of them, by
    default the last.
    """
    trained = one(run, model).fetched()
    if trained.folder is None:  # a file, such as n-grams
        return READERS[trained.kind](trained)
    return Scorer(open_folder(trained.folder), trained)


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
