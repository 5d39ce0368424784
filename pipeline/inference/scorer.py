"""A trained model for sentences as a person types them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from corpora.text import HALF
from corpora.tokenise import normalise, tokenised
from models.common.batching import Sentences
from models.spelling.open_vocabulary import Forms
from pipeline.evaluation.measure import score
from pipeline.prepared.special_words import END, END_ID
from pipeline.sharing.exported import open_parts
from pipeline.trained.resolve import one

if TYPE_CHECKING:
    from pipeline.sharing.compact.parts import CompactParts
    from pipeline.sharing.parts import Parts


# Kinds of models that are read in a way of their own, and by which class.
READERS = {"arpa": "pipeline.inference.arpa_scorer:ArpaScorer"}


@dataclass(frozen=True)
class Word:
    """A word and its log-probability in nats, and whether it had to be spelled."""

    form: str
    log_p: float
    spelled: bool


class Scorer:
    """Tokenises, looks words up, scores them in context and spells what is not known."""

    def __init__(self, parts: "Parts | CompactParts"):
        self.parts = parts
        self.vocabulary, self.lowercase = parts.vocabulary, parts.lowercase
        self.model, self.spelling = parts.model, parts.spelling
        self.speller = parts.speller  # of a model of subwords

    @property
    def is_open(self) -> bool:
        """Whether every string has a probability."""
        return self.vocabulary.is_open or self.speller is not None

    def words(self, sentence: str) -> list[str]:
        """The words of a sentence, as this model reads them."""
        return next(self.read([sentence]))

    def read(self, sentences: Iterable[str]) -> Iterator[list[str]]:
        """The words of many sentences, which are tokenised together."""
        return map(self.cased, tokens(sentences))

    def score(self, sentence: str) -> list[Word]:
        """Each word of a sentence and its end, with log p given what stands before it."""
        return self.score_all([sentence])[0]

    def score_all(self, sentences: Iterable[str]) -> list[list[Word]]:
        """Many sentences at once, each by itself."""
        sentences = list(sentences)
        texts = [*self.read(sentences)]
        if not all(texts):
            place = texts.index([])
            raise ValueError(
                f"expected a sentence in place {place + 1}, found no word in {sentences[place]!r}"
            )
        return self.score_words(texts)

    def score_words(self, texts: Sequence[Sequence[str]]) -> list[list[Word]]:
        """Sentences that are words already, in the case that this model reads."""
        if not texts:
            return []
        batch, text = self.encoded(texts)
        scored = zip(*score(self.model, self.spelling, batch, text), strict=True)
        return [
            [
                Word(form, float(log_p), bool(is_spelled))
                for form, (log_p, is_spelled) in zip(
                    [*words, END], islice(scored, len(words) + 1), strict=True
                )
            ]
            for words in texts
        ]

    def encoded(self, texts: Sequence[Sequence[str]]) -> tuple[Sentences, Forms]:
        """Sentences that are words already, in ids and as they are written."""
        forms = list(dict.fromkeys(word for words in texts for word in words))
        place = {form: number for number, form in enumerate(forms)}
        positions = np.array([i for words in texts for i in (*(place[w] for w in words), -1)])
        known = np.zeros(len(forms), int) if self.speller else self.vocabulary.ids(forms)
        ids = np.array([*known, END_ID])[positions]  # −1 is the last
        batch = Sentences(ids, np.array([len(words) + 1 for words in texts]))
        return batch, self.written(forms, positions)

    def written(self, forms: list[str], positions: np.ndarray) -> Forms:
        """How the words of a text are written, in subwords where the model is of subwords."""
        return Forms(forms, positions, self.speller.subwords(forms) if self.speller else None)

    def cased(self, words: Iterable[str]) -> list[str]:
        """Words in the case that this model reads."""
        return [word.lower() for word in words] if self.lowercase else list(words)

    def as_read(self, words: Iterable[str]) -> list[str]:
        """Words that a person asks about one by one, written as this model reads its texts."""
        return self.cased(map(normalise, words))

    def each_a_word(self, words: Iterable[str]) -> list[str]:
        """The same, but what this model would read as several words, or as none, is refused."""
        found = self.as_read(words)
        for word in found:
            if word != END and word not in self.vocabulary.known and len(self.words(word)) != 1:
                read = self.words(word)
                raise ValueError(
                    f"expected one word, got {len(read)} in {word!r:.80}: {', '.join(read):.80}"
                )
        return found

    def id_of(self, word: str) -> int:
        """The id of a word or of the end, that of an unknown word where it has to be spelled."""
        return END_ID if word == END else int(self.vocabulary.ids([word])[0])


def tokens(sentences: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """The words of sentences that a person typed, in the case of the text."""
    return tokenised(map(_whole, sentences))


def _whole(text: str) -> str:
    """The text, if all its characters are: what was not UTF-8 comes as halves of some."""
    if half := HALF.search(text):
        raise ValueError(
            f"expected text in UTF-8, found half of a character (a lone surrogate) behind "
            f"{text[: half.start()][-40:]!r}"
        )
    return text


def load(run: str | Path | None = None, model: str | None = None) -> Scorer:
    """A trained model by its name (pipeline.trained.resolve); without one, the bundled model.

    A run or a packed folder has several: `model` names one of them, by default it is the last.
    """
    found = one(run, model)
    if found.kind in READERS:
        module, _, reader = READERS[found.kind].partition(":")
        return getattr(import_module(module), reader)(found.place)
    return Scorer(open_parts(found))
