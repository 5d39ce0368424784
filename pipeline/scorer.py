"""A trained model for sentences as a person types them."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from models.batching import Sentences
from models.spelling import Spelling
from pipeline.stage import Inputs
from pipeline.train import load_trained
from pipeline.vocabulary import END, UNKNOWN, UNKNOWN_ID

if TYPE_CHECKING:
    from corpora.tokenise import Tokeniser


@dataclass(frozen=True)
class Word:
    """A word and its log-probability in nats, and whether it had to be spelled."""

    form: str
    log_p: float
    spelled: bool


class Scorer:
    """Tokenises, looks words up, scores them in context and spells what is not known."""

    def __init__(self, artefacts: Inputs):
        self.artefacts = artefacts
        types = pd.read_parquet(artefacts["analyse"] / "types.parquet")["form"]
        self.ids = {form: number for number, form in enumerate(types)}
        self.lowercase = not any(form != form.lower() for form in types[types.index < 1000])
        self.model = load_trained(artefacts)
        self.spelling = Spelling.load(artefacts["background"] / "spelling.json")

    @cached_property
    def tokeniser(self) -> "Tokeniser":
        from corpora.tokenise import Tokeniser  # here, as spaCy's French takes seconds to import

        return Tokeniser()

    @property
    def is_open(self) -> bool:
        """Whether every string has a probability."""
        return UNKNOWN in self.ids

    def knows(self, sentence: str) -> bool:
        """Whether every word of a sentence has a probability under this model."""
        return self.is_open or all(word in self.ids for word in self.words(sentence))

    def words(self, sentence: str) -> list[str]:
        """The words of a sentence, as this model reads them."""
        return self.cased(next(self.tokeniser.words([sentence])))

    def score(self, sentence: str) -> list[Word]:
        """Each word of a sentence and its end, with log p given what stands before it."""
        return self.score_all([sentence])[0]

    def score_all(self, sentences: Iterable[str]) -> list[list[Word]]:
        """Many sentences at once, each by itself."""
        texts = [[*self.cased(words), END] for words in self.tokeniser.words(sentences)]
        ids = [[self.id_of(word) for word in words] for words in texts]
        batch = Sentences(np.concatenate(ids), np.array([len(words) for words in ids]))
        log_p = self.model.score(batch)
        parts = np.split(log_p, np.cumsum(batch.lengths)[:-1])
        return [
            [self._word(*word) for word in zip(*sentence, strict=True)]
            for sentence in zip(texts, ids, parts, strict=True)
        ]

    def cased(self, words: Iterable[str]) -> list[str]:
        """Words in the case that this model reads."""
        return [word.lower() for word in words] if self.lowercase else list(words)

    def id_of(self, word: str) -> int:
        """The id of a word, UNKNOWN's where it has to be spelled."""
        if word in self.ids:
            return self.ids[word]
        if self.is_open:
            return UNKNOWN_ID
        raise ValueError(f"'{word}' is not known to this model, whose vocabulary is closed")

    def _word(self, form: str, number: int, log_p: float) -> Word:
        spelled = number == UNKNOWN_ID and form not in self.ids
        return Word(form, float(log_p) + self.spelling.log_prob(form) * spelled, spelled)
