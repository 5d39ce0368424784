"""A trained model for sentences as a person types them."""

import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from corpora.normalise import normalise
from corpora.tokenise import tokenised
from models.common.batching import Sentences
from models.common.weights import WEIGHTS
from models.spelling.open_vocabulary import Forms, load_spelling
from pipeline.evaluation.measure import score
from pipeline.prepared.saved_chain import read_chain
from pipeline.prepared.special_words import END, END_ID
from pipeline.prepared.subwords import Speller
from pipeline.prepared.trained import load_trained
from pipeline.prepared.vocabulary import Vocabulary
from pipeline.sharing.export import inputs_of, is_exported, open_exported
from pipeline.sharing.received import MODEL
from pipeline.stage import Inputs


@dataclass(frozen=True)
class Word:
    """A word and its log-probability in nats, and whether it had to be spelled."""

    form: str
    log_p: float
    spelled: bool


class Scorer:
    """Tokenises, looks words up, scores them in context and spells what is not known."""

    def __init__(self, artefacts: Inputs, weights: str = WEIGHTS):
        self.artefacts = artefacts
        self.vocabulary = Vocabulary(artefacts["analyse"])
        self.lowercase = read_chain(artefacts["analyse"])["lowercase"]
        self.model = load_trained(artefacts, weights)
        self.spelling = load_spelling(artefacts["background"])
        self.speller = Speller.load(artefacts["encode"])  # of a model of subwords

    @classmethod
    def from_pretrained(cls, place: str | Path) -> "Scorer":
        """A model that was exported: a folder, or the id of one on the Hugging Face hub."""
        return cls(inputs_of(open_exported(place)), MODEL)

    def save_pretrained(self, folder: str | Path) -> None:
        """Copy the folder that the model was exported to."""
        if not is_exported(self.artefacts["train"]):
            raise ValueError("expected an exported model, or one that pipeline.load gives")
        shutil.copytree(self.artefacts["train"], folder)

    @property
    def is_open(self) -> bool:
        """Whether every string has a probability."""
        return self.vocabulary.is_open or self.speller is not None

    def words(self, sentence: str) -> list[str]:
        """The words of a sentence, as this model reads them."""
        return next(self.read([sentence]))

    def read(self, sentences: Iterable[str]) -> Iterator[list[str]]:
        """The words of many sentences, which are tokenised together."""
        return map(self.cased, tokenised(sentences))

    def score(self, sentence: str) -> list[Word]:
        """Each word of a sentence and its end, with log p given what stands before it."""
        return self.score_all([sentence])[0]

    def score_all(self, sentences: Iterable[str]) -> list[list[Word]]:
        """Many sentences at once, each by itself."""
        sentences = list(sentences)
        if not all(sentences):
            place = sentences.index("") + 1
            raise ValueError(f"expected a sentence, found the empty string in place {place}")
        return self.score_words([*self.read(sentences)])

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

    def id_of(self, word: str) -> int:
        """The id of a word or of the end, that of an unknown word where it has to be spelled."""
        return END_ID if word == END else int(self.vocabulary.ids([word])[0])
