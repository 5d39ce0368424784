"""The interface of spelling models; known and spelled words as one distribution; subwords.

    spell(u | s) = ν_s·number(u) + (1 − ν_s)·letters(u | s)
    number(u) = (1 − q)·qⁿ⁻¹·10⁻ⁿ for n digits, 0 for all else: the paper's background of numbers

letters(·|s) writes a word from its end, whose letters tell most of gender, number and tense. In it
all digits are one letter, `10h30` being `00h00`, and each is then any of ten: numbers inside words
are by their length too. A character that is not in the alphabet is an escape and then any other of
Unicode's.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import NamedTuple

import numpy as np

from accord.errors import AccordError
from accord.models.common.arrays import load_array, load_arrays
from accord.models.common.checks import check_finite
from accord.models.common.files import load_json
from accord.models.data import END, Model, Sentences, in_a_row
from accord.models.inference.interface import InferenceModel

BOUNDARY = "\n"  # ends every word, and is in none
SPELLER = "subwords.json"  # what spells any string, in the form of the `tokenizers` package
COUNTS = "subwords.count.npy"  # how often training has each subword


@dataclass(frozen=True, eq=False)
class Subwords:
    """The subwords of some forms; the last subword of a form marks the end of the word.

    The form at position i is spelled `subwords[starts[i]:starts[i + 1]]`. Behind all of them stands
    END, a subword of its own, with its id: it is at position −1, as in a text.
    """

    subwords: np.ndarray
    starts: np.ndarray

    def spell(self, text: Sentences) -> Sentences:
        """Return the sentences in subwords."""
        lengths = self._lengths(text)
        positions = in_a_row(self.starts[:-1][text.ids], lengths)
        of_sentences = np.add.reduceat(lengths, text.starts)
        return text._replace(ids=self.subwords[positions], lengths=of_sentences)

    def sum_by_word(self, text: Sentences, values: np.ndarray) -> np.ndarray:
        """Return for each word the sum of its subwords' values."""
        lengths = self._lengths(text)
        return np.add.reduceat(values, np.cumsum(lengths) - lengths)

    def count(self, text: Sentences, subwords: int) -> np.ndarray:
        """Count each subword in a text."""
        lengths = np.diff(self.starts)
        uses = np.bincount(text.ids % len(lengths), minlength=len(lengths))  # END is at −1
        return np.bincount(self.subwords, np.repeat(uses, lengths), minlength=subwords)

    def _lengths(self, text: Sentences) -> np.ndarray:
        return np.diff(self.starts)[text.ids]

    def save(self, folder: Path, name: str) -> None:
        np.savez_compressed(_path(folder, name), subwords=self.subwords, starts=self.starts)


def load_subwords(folder: Path, name: str) -> Subwords | None:
    """Read the subwords of the forms of a split or suite, if there are any."""
    path = _path(folder, name)
    return Subwords(**load_arrays(path, ("subwords", "starts"))) if path.exists() else None


def _path(folder: Path, name: str) -> Path:
    return folder / f"{name}.subwords.npz"


def count_subwords(folder: Path) -> int | None:
    """Return the number of subwords, END included; None if there are no subwords."""
    path = folder / SPELLER
    return 1 + len(load_json(path, dict)["model"]["vocab"]) if path.exists() else None


def subword_mass(folder: Path) -> np.ndarray | None:
    """Return the count of each subword plus one; None if they were not counted."""
    path = folder / COUNTS
    return load_array(path) + 1 if path.exists() else None


def ends_of_words(folder: Path) -> np.ndarray:
    """Return which subwords end a word; END, the first of all, is a word by itself."""
    vocabulary = load_json(folder / SPELLER, dict)["model"]["vocab"]
    ends = np.zeros(1 + len(vocabulary), bool)
    ends[0] = True
    ends[[1 + number for piece, number in vocabulary.items() if piece.endswith(BOUNDARY)]] = True
    return ends


class SubwordModel:
    """p(x | K) = Π_i p(u_i | K, u_1 … u_{i−1}) over the subwords u_1 … u_n that spell the word x.

    Every string has a probability. The probabilities sum to at most one: other spellings of a word
    have mass too.
    """

    def __init__(self, model: InferenceModel):
        self.model = model

    def score(self, text: Sentences, subwords: Subwords) -> np.ndarray:
        """Return log p of every word of every sentence in order, END included, in nats."""
        return subwords.sum_by_word(text, self.model.score(subwords.spell(text)))

    def parameter_count(self) -> int:
        return self.model.parameter_count()


CODE_POINTS = 0x110000 - 0x800  # all characters of Unicode; halves of surrogate pairs are none
STOP, ESCAPE = END, 1  # symbols beside the letters, which are numbered from 2
FEWEST = 2  # occurrences that a letter needs
DIGITS = re.compile(r"[0-9]+")
DIGIT, OTHER_DIGITS = "0", "123456789"


class Alphabet:
    """The letters of the training words; 0 stands for all digits."""

    def __init__(self, letters: Sequence[str]):
        self.letters = list(letters)
        self.symbol = {letter: number for number, letter in enumerate(letters, start=2)}
        # Of a model that was saved when each digit was a letter by itself, it still is one.
        self.has_digits = DIGIT in self.symbol and not self.symbol.keys() & set(OTHER_DIGITS)
        if self.has_digits:
            self.symbol |= dict.fromkeys(OTHER_DIGITS, self.symbol[DIGIT])

    @classmethod
    def of_words(cls, words: Sequence[str]) -> "Alphabet":
        counts = Counter(letter for word in words for letter in DIGITS.sub(_zeros, word))
        return cls(sorted(letter for letter, count in counts.items() if count >= FEWEST))

    def __len__(self) -> int:
        """Return the number of symbols, STOP and ESCAPE included."""
        return len(self.letters) + 2

    def symbols(self, word: str) -> list[int]:
        """Return the letters of a word, the last one first."""
        return [self.symbol.get(letter, ESCAPE) for letter in reversed(word)]

    def escapes(self, word: str) -> float:
        """Return log p of the characters that escapes and digits stand for."""
        count = sum(letter not in self.symbol for letter in word)
        digits = sum(map(len, DIGITS.findall(word))) if self.has_digits else 0
        escaped = count * np.log(self.others) if count else 0.0
        return -escaped - digits * np.log(10)

    def word(self, symbols: Sequence[int], generator: np.random.Generator) -> str:
        """Return the word of these symbols, which begin with the last; escapes are drawn."""
        letters = [
            self.other(generator) if symbol == ESCAPE else self.letters[symbol - 2]
            for symbol in symbols
        ]
        if self.has_digits:
            letters = [str(generator.integers(10)) if c == DIGIT else c for c in letters]
        return "".join(reversed(letters))

    @property
    def others(self) -> int:
        """Return the number of characters that an escape may stand for."""
        return CODE_POINTS - len(self.symbol)

    def other(self, generator: np.random.Generator) -> str:
        while True:
            letter = chr(generator.integers(0x110000))
            if letter not in self.symbol and not "\ud800" <= letter <= "\udfff":
                return letter


class Spelling:
    """The base of both spelling models; each has its own `sequences` and `draw_symbols`."""

    file: str  # that holds it in a folder

    def __init__(self, alphabet: Alphabet, numbers: np.ndarray, length: float):
        self.alphabet = alphabet
        self.numbers = np.asarray(numbers)  # ν of each class
        self.length = length  # the mean of a number, 1 / (1 − q)

    @property
    def classes(self) -> int:
        return len(self.numbers)

    def log_prob(self, words: Sequence[str]) -> np.ndarray:
        """Return log spell(u | s) of each word and class, in nats: (N × S)."""
        if not all(words):
            raise AccordError("expected words to spell, found the empty string")
        sequences = [[*self.alphabet.symbols(word), STOP] for word in words]
        letters = self.sequences(sequences)
        letters += np.array([self.alphabet.escapes(word) for word in words])[:, None]
        number = np.array([self._number(word) for word in words])[:, None]
        with np.errstate(divide="ignore"):
            return np.logaddexp(np.log1p(-self.numbers) + letters, np.log(self.numbers) + number)

    def _number(self, word: str) -> float:
        if not DIGITS.fullmatch(word):
            return -np.inf
        stop = 1 / self.length
        return (len(word) - 1) * np.log1p(-stop) + np.log(stop) - len(word) * np.log(10)

    def draw(self, classes: Sequence[int], generator: np.random.Generator) -> list[str]:
        """Draw a word of each class from spell(·|s)."""
        kinds = np.asarray(classes, dtype=np.int64)
        is_number = generator.random(len(kinds)) < self.numbers[kinds]
        words = np.empty(len(kinds), dtype=object)
        lengths = generator.geometric(1 / self.length, is_number.sum())
        words[is_number] = [
            "".join(map(str, generator.integers(10, size=length))) for length in lengths
        ]
        drawn = self.draw_symbols(kinds[~is_number], generator)
        words[~is_number] = [self.alphabet.word(symbols, generator) for symbols in drawn]
        return words.tolist()

    def save(self, path: Path) -> None:
        """Write a file from which `open_vocabulary.load_spelling` makes the same model again."""
        raise NotImplementedError

    def sequences(self, sequences: Sequence[Sequence[int]]) -> np.ndarray:
        """Return log p of symbols, given each class: (N × S). The first is never STOP."""
        raise NotImplementedError

    def draw_symbols(self, classes: np.ndarray, generator: np.random.Generator) -> list[list[int]]:
        """Draw the symbols of a word of each class, without the STOP after them."""
        raise NotImplementedError


def _zeros(digits: re.Match) -> str:
    return DIGIT * len(digits[0])


def numbers(words: Sequence[str], classes: Sequence[int], count: int) -> tuple[np.ndarray, float]:
    """Return ν of each class, half the share of numbers among its words, and their mean length.

    Half, because the letters learn regular numbers too, such as years. A mean a little above that
    of the words seen leaves room for longer ones.
    """
    lengths = np.array([len(word) if DIGITS.fullmatch(word) else 0 for word in words])
    of_class = np.bincount(classes, minlength=count)
    share = np.bincount(classes, lengths > 0, minlength=count) / np.maximum(of_class, 1)
    return share / 2, float((lengths.sum() + 2) / ((lengths > 0).sum() + 1))


def as_text(sequences: Sequence[Sequence[int]]) -> Sentences:
    """Return symbols as a text whose sentences are the words."""
    return Sentences(
        np.array([symbol for symbols in sequences for symbol in symbols], dtype=np.int64),
        np.array([len(symbols) for symbols in sequences]),
    )


WORDS_AT_ONCE = 1 << 15  # whose spellings are held together
NGRAM, NEURAL = "spelling.npz", "spelling.safetensors"
KINDS = {  # by the file that holds it
    NEURAL: "accord.models.spelling.neural:NeuralSpelling",
    NGRAM: "accord.models.spelling.ngram:NGramSpelling",
}


class WrittenText(NamedTuple):
    """How the words of a text are written: the forms, each once, and which of them each word is."""

    forms: Sequence[str]
    positions: np.ndarray  # of every word among the forms; −1 for the end of a sentence
    subwords: Subwords | None = None  # that spell each form, for a model of subwords


def open_score(
    model: Model, sentences: Sentences, text: WrittenText, spelling: Spelling, unknown: int
) -> np.ndarray:
    """Return log p of every word and end in nats; unknown words are spelled.

        p(u | K) = [u known] p_known(u | K) + Σ_s p(unk_s | K)·spell(u | s)

    unk_s, one for each class of the spelling model, have the ids from `unknown` on. The sum over
    all strings is one, as that over the known words and all unk_s is.
    """
    classes = range(unknown, unknown + spelling.classes)
    log_p = model.score_alternatives(sentences, classes)
    is_unknown, of_form = np.isin(sentences.ids, classes), _spelled_forms(spelling, text)
    parts = range(0, len(log_p), WORDS_AT_ONCE)
    for part in (slice(start, start + WORDS_AT_ONCE) for start in parts):
        spelled = of_form[text.positions[part]]
        log_p[part, 0] = with_spelling(log_p[part], spelled, is_unknown[part])
    return log_p[:, 0].copy()


def spelled_text(spelling: Spelling, text: WrittenText) -> np.ndarray:
    """Return log spell(u | s) of every word and class (N × S); −inf of sentence ends."""
    return _spelled_forms(spelling, text)[text.positions]


def _spelled_forms(spelling: Spelling, text: WrittenText) -> np.ndarray:
    """Return log spell(u | s) of every form, and last of the sentence end."""
    of_form = np.full((len(text.forms) + 1, spelling.classes), -np.inf)
    if text.forms:
        of_form[:-1] = spelling.log_prob(text.forms)
    return of_form


def score_text(
    model: Model | SubwordModel,
    spelling: Spelling | None,
    sentences: Sentences,
    text: WrittenText,
    unknown: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Return log p of every word and end in nats, and which words were spelled.

    A closed vocabulary has no character model. A model of subwords spells all words alike.
    """
    is_spelled = np.zeros(len(sentences.ids), bool)
    if isinstance(model, SubwordModel):
        if text.subwords is None:
            raise AccordError("expected the subwords of every form, as the model is of subwords")
        log_p = model.score(sentences._replace(ids=text.positions), text.subwords)
    elif spelling is None:
        log_p = model.score(sentences)
    else:
        log_p = open_score(model, sentences, text, spelling, unknown)
        is_spelled = np.isin(sentences.ids, range(unknown, unknown + spelling.classes))
    check_finite("log p", log_p)
    return log_p, is_spelled


def with_spelling(log_p: np.ndarray, spelled: np.ndarray, is_unknown: np.ndarray) -> np.ndarray:
    """Return log p of words in nats: unknown ones by their letters (N).

    `log_p` (N × 1 + S) has the word first and then unk_s of every class, in the word's place;
    `spelled` (N × S) is log spell(u | s), −inf of what no letters write, such as ends.
    """
    known = np.where(is_unknown, -np.inf, log_p[:, 0])
    return np.logaddexp(known, np.logaddexp.reduce(log_p[:, 1:] + spelled, axis=1))


def load_spelling(folder: Path) -> Spelling | None:
    """Return the spelling model of a folder; None for a closed vocabulary."""
    for file, kind in KINDS.items():
        if (folder / file).exists():
            return resolve_name(kind).load(folder / file)
    return None
