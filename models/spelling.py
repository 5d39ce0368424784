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
from typing import NamedTuple

import numpy as np

from accord.errors import AccordError
from accord.models.common.arrays import load_array, load_arrays, narrow, save_arrays
from accord.models.common.checks import check_finite, check_range, expect
from accord.models.common.files import load_json
from accord.models.common.registry import imported
from accord.models.data import END, Model, Sentences, in_a_row
from accord.models.inference.interface import InferenceModel, slices
from accord.models.ngrams import Level, NGramTables, count, discount, find, kneser_ney_tables

BOUNDARY = "\n"  # ends every word, and is in none
SPELLER = "subwords.json"  # what spells any string, in the form of the `tokenizers` package
COUNTS = "subwords.count.npy"  # how often training has each subword
SUBWORDS = "{}.subwords.npz"  # the subwords of the forms of a split or suite


@dataclass(frozen=True, eq=False)
class Subwords:
    """The subwords of some forms; the last subword of a form marks the end of the word.

    The form at position i is spelled `subwords[starts[i]:starts[i + 1]]`. Behind all of them stands
    END, a subword of its own, with its id: it is at position −1, as in a text.
    """

    subwords: np.ndarray
    starts: np.ndarray

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(self.starts)

    def spell(self, text: Sentences) -> Sentences:
        """Return the sentences in subwords."""
        lengths = self.lengths[text.ids]
        positions = in_a_row(self.starts[:-1][text.ids], lengths)
        of_sentences = np.add.reduceat(lengths, text.starts)
        return text._replace(ids=self.subwords[positions], lengths=of_sentences)

    def sum_by_word(self, text: Sentences, values: np.ndarray) -> np.ndarray:
        """Return for each word the sum of its subwords' values."""
        lengths = self.lengths[text.ids]
        return np.add.reduceat(values, np.cumsum(lengths) - lengths)

    def count(self, text: Sentences, subwords: int) -> np.ndarray:
        """Count each subword in a text."""
        forms = len(self.lengths)
        uses = np.bincount(text.ids % forms, minlength=forms)  # END is at −1
        return np.bincount(self.subwords, np.repeat(uses, self.lengths), minlength=subwords)

    def save(self, folder: Path, name: str) -> None:
        np.savez_compressed(folder / SUBWORDS.format(name), **vars(self))


def load_subwords(folder: Path, name: str) -> Subwords | None:
    """Read the subwords of the forms of a split or suite, if there are any."""
    path = folder / SUBWORDS.format(name)
    return Subwords(**load_arrays(path, ("subwords", "starts"))) if path.exists() else None


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
        zeros = (DIGITS.sub(lambda digits: DIGIT * len(digits[0]), word) for word in words)
        counts = Counter(letter for word in zeros for letter in word)
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


NGRAM, NEURAL = "spelling.npz", "spelling.safetensors"  # files of spelling models


class Spelling:
    """The base of both spelling models; each has its own `sequences` and `draw_symbols`."""

    file: str  # that holds it in a folder

    def __init__(self, alphabet: Alphabet, numbers: np.ndarray, length: float):
        shares = np.asarray(numbers, np.float64)
        are_shares = shares.ndim == 1 and len(shares) and ((shares >= 0) & (shares < 1)).all()
        if not are_shares or not 1 <= length < np.inf:
            raise AccordError("expected a share of numbers for each class, and their mean length")
        self.alphabet = alphabet
        self.numbers = shares  # ν of each class
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
        """Write a file from which `load_spelling` makes the same model again."""
        raise NotImplementedError

    def sequences(self, sequences: Sequence[Sequence[int]]) -> np.ndarray:
        """Return log p of symbols, given each class: (N × S). The first is never STOP."""
        raise NotImplementedError

    def draw_symbols(self, classes: np.ndarray, generator: np.random.Generator) -> list[list[int]]:
        """Draw the symbols of a word of each class, without the STOP after them."""
        raise NotImplementedError


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


ARRAYS = (  # of a file
    *("alphabet", "shares", "length", "level_contexts", "level_keys"),
    *("contexts", "keys", "counts", "children", "entries", "begun"),
)


@dataclass
class Prefixes:
    """n_s(hc): how many words of class s begin with h and go on with c.

    Beginnings are the nodes of a tree: 0 is the empty one, and a longer one is known by the node of
    the same without its last symbol, and that symbol.
    """

    children: np.ndarray  # (node, symbol) of the nodes from 1 on
    entries: np.ndarray  # (node, class, symbol)
    counts: np.ndarray
    symbols: int
    classes: int

    def __post_init__(self):
        groups = self.entries // self.symbols  # (node, class)
        self.starts = np.flatnonzero(np.diff(groups, prepend=-1))
        self.different = np.diff(self.starts, append=len(groups))
        self.total = np.add.reduceat(self.counts, self.starts)
        node, self.kind = np.divmod(groups[self.starts], self.classes)
        self.of_node = np.searchsorted(node, np.arange(len(self.children) + 2))

    @classmethod
    def count(
        cls, words: Sequence[Sequence[int]], kinds: np.ndarray, symbols: int, classes: int
    ) -> "Prefixes":
        """Count the symbols of each word."""
        lengths = np.array([len(word) for word in words])
        letters = np.array([symbol for word in words for symbol in word], np.int64)
        starts, kinds = np.cumsum(lengths) - lengths, np.asarray(kinds, np.int64)
        node, word, first = np.zeros(len(words), np.int64), np.arange(len(words)), 1
        children, entries = [], []
        for place in range(lengths.max()):
            continues = lengths[word] > place
            node, word = node[continues], word[continues]
            symbol = letters[starts[word] + place]
            entries.append((node * classes + kinds[word]) * symbols + symbol)
            continues = lengths[word] > place + 1
            word = word[continues]
            longer = node[continues] * symbols + symbol[continues]
            keys, node = np.unique(longer, return_inverse=True)
            node, first = node + first, first + len(keys)
            children.append(keys)
        keys, counts = np.unique(np.concatenate(entries), return_counts=True)
        return cls(np.concatenate(children), keys, counts, symbols, classes)

    def child(self, node: np.ndarray, symbol: np.ndarray) -> np.ndarray:
        """Return the node of each beginning with one more symbol, −1 where no word begins so."""
        place = find(self.children, node, symbol, self.symbols)
        return np.where(place >= 0, place + 1, -1)

    def followed(self, node: np.ndarray, symbol: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return counts of the beginnings of strings, an entry for each string and class.

        Each entry has the string, the class, how many of its words begin so, how many different
        symbols followed in these, and how many of them go on with the string's symbol.
        """
        sizes = self.of_node[node + 1] - self.of_node[node]
        group = in_a_row(self.of_node[node], sizes)
        string, kind = np.repeat(np.arange(len(node)), sizes), self.kind[group]
        place = find(self.entries, node[string] * self.classes + kind, symbol[string], self.symbols)
        seen = np.where(place >= 0, self.counts[place], 0)
        return string, kind, self.total[group], self.different[group], seen

    def counts_after(self, node: int, kind: int) -> np.ndarray | None:
        """Return the count of each symbol after a beginning in words of a class; None if none."""
        first = (node * self.classes + kind) * self.symbols
        start, end = np.searchsorted(self.entries, [first, first + self.symbols])
        if node < 0 or start == end:
            return None
        return np.bincount(self.entries[start:end] - first, self.counts[start:end], self.symbols)


class NGramSpelling(Spelling):
    """letters(u | s) = Π p(c | s, h) over the letters of u, the last one first, and STOP.

        p(c | s, h) = max(n_s(hc) − D, 0) / n_s(h) + D·t_s(h)/n_s(h) · p(c | h)

    h is all that was written so far, n_s(hc) how many words of class s begin with hc in this
    order, t_s(h) how many letters follow h in them; p(c | h) is the n-gram model of all classes,
    and stands alone where class s has no word that begins with h or h is as long as the order.
    """

    file = NGRAM

    def __init__(
        self,
        alphabet: Alphabet,
        shares: np.ndarray,
        length: float,
        levels: Sequence[Level],
        begun: Prefixes,
    ):
        super().__init__(alphabet, shares, length)
        self.levels, self.begun = levels, begun
        tables = kneser_ney_tables(levels, np.full(len(alphabet), 1 / len(alphabet)))
        self.ngrams = NGramTables(tables, len(alphabet))
        self.discount = discount(begun.counts)
        self.not_empty = np.zeros(self.classes)
        self.not_empty = np.log1p(-np.exp(self.sequences([[STOP]])[0]))

    @classmethod
    def learn(
        cls, words: Sequence[str], classes: Sequence[int], count_classes: int, order: int
    ) -> "NGramSpelling":
        alphabet = Alphabet.of_words(words)
        symbols = [[*alphabet.symbols(word), STOP] for word in words]
        reach = min(order, max(map(len, symbols)) + 1)
        begun = [word[:reach] for word in symbols]
        return cls(
            alphabet,
            *numbers(words, classes, count_classes),
            count(as_text(symbols), reach, len(alphabet)),
            Prefixes.count(begun, np.asarray(classes), len(alphabet), count_classes),
        )

    def sequences(self, sequences: Sequence[Sequence[int]]) -> np.ndarray:
        sentences = as_text(sequences)
        shared = np.exp(self.ngrams.score(sentences))
        ends = np.cumsum(sentences.lengths)
        starts = ends - sentences.lengths
        result = np.add.reduceat(np.log(shared), starts)[:, None] - self.not_empty
        rows, node = np.arange(len(sequences)), np.zeros(len(sequences), np.int64)
        for place in range(int(sentences.lengths.max())):
            continues = (node >= 0) & (sentences.lengths[rows] > place)
            rows, node = rows[continues], node[continues]
            if not len(rows):
                break
            symbol, p = (of_symbols[starts[rows] + place] for of_symbols in (sentences.ids, shared))
            string, kind, total, different, seen = self.begun.followed(node, symbol)
            p = p[string]
            result[rows[string], kind] += np.log(self.of_class(seen, total, different, p) / p)
            node = self.begun.child(node, symbol)
        return result

    def of_class(self, seen, total, different, shared):
        """Return p(c | s, h) of letters, from their counts after h and from p(c | h)."""
        counted = np.maximum(seen - self.discount, 0) / total
        return counted + self.discount * different / total * shared

    def draw_symbols(self, classes: np.ndarray, generator: np.random.Generator) -> list[list[int]]:
        drawn: list[list[int]] = [[] for _ in classes]
        reach = self.ngrams.order - 1
        context = np.full((len(classes), reach), -1)
        context[:, -1:] = STOP  # a word's start, as a sentence's
        writing, begun = np.arange(len(classes)), np.zeros(len(classes), np.int64)
        every = np.arange(self.ngrams.words)
        while len(writing):
            nodes = self.ngrams.nodes(context[writing])
            shared = self.ngrams.p([node[:, None] for node in nodes], every)
            for row, p in zip(writing, shared, strict=True):
                seen = self.begun.counts_after(begun[row], classes[row])
                if seen is not None:
                    p = self.of_class(seen, seen.sum(), np.count_nonzero(seen), p)
                if not drawn[row]:
                    p[STOP] = 0
                drawn[row].append(int(generator.choice(len(p), p=p / p.sum())))
            last = np.array([drawn[row][-1] for row in writing])
            context[writing] = np.column_stack([context[writing][:, 1:], last])
            begun[writing] = self.begun.child(begun[writing], last)
            writing = writing[last != STOP]
        return [symbols[:-1] for symbols in drawn]

    def save(self, path: Path) -> None:
        """Write the counts: rising numbers as their differences, packed."""
        levels, begun = self.levels, self.begun
        arrays: dict[str, np.ndarray] = {
            "alphabet": np.frombuffer("".join(self.alphabet.letters).encode(), np.uint8),
            "shares": self.numbers,
            "length": np.array(self.length),
            "level_contexts": np.array([len(level.contexts) for level in levels]),
            "level_keys": np.array([len(level.keys) for level in levels]),
            "contexts": _differences([level.contexts for level in levels]),
            "keys": _differences([level.keys for level in levels]),
            "counts": narrow(np.concatenate([level.counts for level in levels])),
            "children": _differences([begun.children]),
            "entries": _differences([begun.entries]),
            "begun": narrow(begun.counts),
        }
        save_arrays(path, arrays, packed=True)

    @classmethod
    def load(cls, path: Path) -> "NGramSpelling":
        """Read a file of `save`, checking every count."""
        arrays = load_arrays(path, ARRAYS)
        try:
            return _from_arrays(arrays)
        except (ValueError, TypeError, IndexError, UnicodeError) as error:
            raise AccordError(f"{path}: {error}") from None


def _differences(rising: list[np.ndarray]) -> np.ndarray:
    """Return rising numbers as differences from the number before."""
    return narrow(np.concatenate([np.diff(numbers, prepend=0) for numbers in rising]))


def _from_arrays(arrays: dict[str, np.ndarray]) -> NGramSpelling:
    alphabet = Alphabet(list(arrays["alphabet"].tobytes().decode()))
    symbols, shares = len(alphabet), arrays["shares"]
    sizes = {"contexts": "level_contexts", "keys": "level_keys", "counts": "level_keys"}
    parts = [np.split(arrays[name], np.cumsum(arrays[size])[:-1]) for name, size in sizes.items()]
    levels: list[Level] = []
    for contexts, keys, counts in zip(*parts, strict=True):
        contexts, keys = (np.cumsum(steps, dtype=np.int64) for steps in (contexts, keys))
        levels.append(_level(contexts, keys, counts.astype(np.int64), symbols, levels))
    children, entries = (np.cumsum(arrays[n], dtype=np.int64) for n in ("children", "entries"))
    counts = arrays["begun"].astype(np.int64)
    check_range("children", "nodes", children // symbols, 0, len(children) + 1)
    check_range("entries", "nodes", entries // symbols // len(shares), 0, len(children) + 1)
    _check_counts("begun", counts, entries, 1)
    begun = Prefixes(children, entries, counts, symbols, len(shares))
    return NGramSpelling(alphabet, shares, float(arrays["length"]), levels, begun)


def _check_counts(name: str, counts: np.ndarray, keys: np.ndarray, least: int) -> None:
    are_counts = len(counts) == len(keys) > 0 and counts.min() >= least
    expect(name, are_counts, f"{len(keys):,} counts from {least} on", "others")


def _level(
    contexts: np.ndarray, keys: np.ndarray, counts: np.ndarray, symbols: int, below: list[Level]
) -> Level:
    """Return the level above the levels `below`."""
    _check_counts("counts", counts, keys, 1 if below else 0)
    check_range("keys", "contexts", keys // symbols, 0, len(contexts))
    if not below:
        are_all = np.array_equal(keys, np.arange(symbols))
        expect("keys", are_all, f"all of the {symbols} symbols after nothing", "others")
        return Level(contexts, keys, counts, np.zeros(0, np.int64), symbols)
    check_range("contexts", "contexts", contexts // symbols, 0, len(below[-1].contexts))
    wanted = contexts[keys // symbols] // symbols * symbols + keys % symbols
    shorter = np.searchsorted(below[-1].keys, wanted)
    check_range("keys", "n-grams", shorter, 0, len(below[-1].keys))
    return Level(contexts, keys, counts, shorter, symbols)


WORDS_AT_ONCE = 1 << 15  # whose spellings are held together


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
    is_unknown, of_form = np.isin(sentences.ids, classes), spelled_forms(spelling, text)
    for part in slices(len(log_p), WORDS_AT_ONCE):
        spelled = of_form[text.positions[part]]
        log_p[part, 0] = with_spelling(log_p[part], spelled, is_unknown[part])
    return log_p[:, 0].copy()


def spelled_forms(spelling: Spelling, text: WrittenText) -> np.ndarray:
    """Return log spell(u | s) of every form and class, and last −inf of the sentence end."""
    of_forms = spelling.log_prob(text.forms) if text.forms else np.zeros((0, spelling.classes))
    return np.pad(of_forms, ((0, 1), (0, 0)), constant_values=-np.inf)


def spelled_text(spelling: Spelling, text: WrittenText) -> np.ndarray:
    """Return log spell(u | s) of every word and class (N × S); −inf of sentence ends."""
    return spelled_forms(spelling, text)[text.positions]


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
    if (folder / NEURAL).exists():
        return imported("accord.models.neural_spelling:NeuralSpelling").load(folder / NEURAL)
    return NGramSpelling.load(folder / NGRAM) if (folder / NGRAM).exists() else None
