"""ARPA files read, written, and used as a background."""

import gzip
import math
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from accord.errors import AccordError
from accord.models.background import Background, ClassTerms, NGramBackground, NGrams, split_terms
from accord.models.common.arrays import load_arrays, save_arrays
from accord.models.common.files import whole
from accord.models.data import END, Sentences
from accord.models.ngrams import Table, pack
from accord.models.phi import Features

START, STOP, UNKNOWN = "<s>", "</s>", "<unk>"
NEVER = -99.0  # the logarithm by which ARPA files say that a word is never predicted


def check_forms(forms: Sequence[str], words: int) -> None:
    if len(forms) != words or len(set(forms)) != words:
        raise AccordError(
            f"forms: expected {words} different words, got {len(set(forms))} among {len(forms)}"
        )
    if forms[END] != STOP:
        raise AccordError(f"forms: expected '{STOP}' for word {END}, got '{forms[END]}'")
    for number, form in enumerate(forms):
        if not form or form == START or any(character in " \t\r\n\0" for character in form):
            raise AccordError(
                f"forms: expected words without blanks, and no {START}, as ARPA separates words "
                f"by blanks; got {form!r} for word {number}"
            )


def open_arpa(path: Path, mode: Literal["rb", "wb"]) -> gzip.GzipFile | BinaryIO:
    return gzip.open(path, mode) if path.suffix == ".gz" else path.open(mode)


MOST = 300  # as a logarithm: what a number holds


class ArpaEntry(NamedTuple):
    """The n-grams of one order as a file lists them."""

    ids: np.ndarray  # (N × order)
    p: np.ndarray
    backoff: np.ndarray
    lines: np.ndarray


def read_arpa(path: Path, forms: Sequence[str], others: str | None = None) -> NGrams:
    """The model of a file over these words; errors name the line.

    With `others`, n-grams with further words are left out; that form is the one that stands for
    words which the file lacks, and as rare as its rarest if the file has no such form.
    """
    check_forms(forms, len(forms))
    ids = {form: number for number, form in enumerate(forms)} | {START: END}
    skip = others is not None
    with open_arpa(path, "rb") as file:
        lines = _Lines(path, file)
        sizes = _sizes(lines)
        listed = [_section(lines, n, size, ids, skip) for n, size in enumerate(sizes, start=1)]
        lines.expect("\\end\\")
        lines.expect_no_more()
    if others is not None and ids[others] not in listed[0].ids:
        listed[0] = _with_rarest(listed[0], ids[others])
    unigrams = listed[0]
    if len(unigrams.ids) != len(forms):
        missing = np.setdiff1d(np.arange(len(forms)), unigrams.ids)[0]
        raise AccordError(
            f"{path}: expected all {len(forms)} words of the vocabulary among the 1-grams; "
            f"'{forms[missing]}' is missing"
        )
    return NGrams(_tables(listed, len(forms), path), len(forms))


def words_of_arpa(path: Path) -> set[str]:
    """The words that a file lists, `<s>` aside."""
    with open_arpa(path, "rb") as file:
        lines = _Lines(path, file)
        unigrams = (_fields(lines, lines.next("1-grams"), 1) for _ in range(_sizes(lines)[0]))
        return {word for _, (word,), _ in unigrams} - {START}


def _with_rarest(unigrams: ArpaEntry, word: int) -> ArpaEntry:
    """The 1-grams and one more, whose p is the lowest that any has."""
    lowest = unigrams.p[unigrams.p > 10**NEVER].min(initial=1.0)
    more = (np.array(each) for each in ([[word]], [lowest], [1.0], [0]))
    return ArpaEntry(*(np.concatenate(pair) for pair in zip(unigrams, more, strict=True)))


class _Lines:
    """The lines of a file that are not empty, by number, and complaints about them."""

    def __init__(self, path: Path, file: Iterable[bytes]):
        self.path, self.number = path, 0
        self.lines = self._filled(file)

    def _filled(self, file: Iterable[bytes]) -> Iterator[str]:
        try:
            for self.number, line in enumerate(file, start=1):
                if line := line.rstrip(b"\r\n"):
                    yield line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise self.wrong("UTF-8", f"the byte 0x{error.object[error.start]:02x}") from None
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise self.wrong("a whole compressed file", f"damage: {error}") from None
        self.number += 1

    def next(self, expected: str) -> str:
        line = next(self.lines, None)
        if line is None:
            raise self.wrong(expected, "the end of the file")
        return line

    def expect(self, expected: str) -> None:
        line = self.next(expected)
        if line.strip() != expected:
            raise self.wrong(expected, f"'{line}'")

    def expect_no_more(self) -> None:
        if (line := next(self.lines, None)) is not None:
            raise self.wrong("nothing after \\end\\", f"'{line}'")

    def wrong(self, expected: str, found: str) -> AccordError:
        return AccordError(f"{self.path}, line {self.number}: expected {expected}, found {found}")


def _sizes(lines: _Lines) -> list[int]:
    """How many n-grams of each order the file's head promises; the line after it is read too."""
    lines.expect("\\data\\")
    sizes: list[int] = []
    while (line := lines.next("'ngram 1=…' or '\\1-grams:'")).startswith("ngram "):
        order, _, size = (part.strip() for part in line.removeprefix("ngram ").partition("="))
        if order != str(len(sizes) + 1) or not re.fullmatch("[0-9]{1,18}", size):
            raise lines.wrong(f"'ngram {len(sizes) + 1}=' and a number", f"'{line}'")
        if not int(size):
            raise lines.wrong(f"n-grams of order {order}, or no such order", "none")
        sizes.append(int(size))
    if not sizes or line.strip() != "\\1-grams:":
        raise lines.wrong("'\\1-grams:'" if sizes else "'ngram 1=' and a number", f"'{line}'")
    return sizes


def _section(
    lines: _Lines, order: int, size: int, ids: dict[str, int], skip: bool = False
) -> ArpaEntry:
    if order > 1:
        lines.expect(f"\\{order}-grams:")
    rows, p, backoff, numbers = [], [], [], []
    start_weight = 1.0
    expected = f"{size} {order}-grams as the head says"
    for _ in range(size):
        line = lines.next(expected)
        if line.startswith("\\") and "\t" not in line:
            raise lines.wrong(expected, f"fewer, then '{line}'")
        log_p, words, weight = _fields(lines, line, order)
        if START in words[1:] or STOP in words[:-1]:
            raise lines.wrong(f"{START} first and {STOP} last in an n-gram", f"'{line}'")
        if words == [START]:
            start_weight = weight
            continue
        if skip and not ids.keys() >= {*words}:
            continue
        try:
            rows.append([ids[word] for word in words])
        except KeyError as unknown:
            raise lines.wrong("words of the vocabulary", str(unknown)) from None
        p.append(10**log_p)
        backoff.append(1.0 if words[-1] == STOP else weight)
        numbers.append(lines.number)
    found = ArpaEntry(
        np.array(rows, np.int64).reshape(-1, order), *map(np.array, (p, backoff, numbers))
    )
    if order == 1:  # END's own weight is that of the sentence's start, which it stands for
        found.backoff[found.ids[:, 0] == END] = start_weight
    return found


def _fields(lines: _Lines, line: str, order: int) -> tuple[float, list[str], float]:
    fields = [field for field in line.replace("\t", " ").split(" ") if field]
    if len(fields) not in (order + 1, order + 2):
        raise lines.wrong(f"log p, {order} words and perhaps a backoff weight", f"'{line}'")
    numbers = (fields[0], (*fields, "0")[order + 1])
    try:
        log_p, weight = map(float, numbers)
    except ValueError:
        raise lines.wrong("numbers before and after the words", f"'{line}'") from None
    if not log_p <= 0 or "_" in numbers[0]:
        raise lines.wrong("a log-probability of at most 0", numbers[0])
    if not abs(weight) <= MOST or "_" in numbers[1]:
        raise lines.wrong(f"a backoff weight from {-MOST} to {MOST}", numbers[1])
    return log_p, fields[1 : order + 1], 10**weight


def _tables(listed: Sequence[ArpaEntry], words: int, path: Path) -> list[Table[np.ndarray]]:
    """The tables: a node for each context that has n-grams or a weight, or is part of one."""
    rows: list[np.ndarray] = []
    longer = np.zeros((0, len(listed)), np.int64)
    for shorter, full in zip(listed[-2::-1], listed[:0:-1], strict=True):
        weighted = shorter.ids[shorter.backoff != 1]
        longer = np.concatenate([full.ids[:, :-1], weighted, longer[:, 1:]])
        rows.insert(0, longer)
    contexts = contexts_of(rows, words)
    tables = []
    for length, ngrams in enumerate(listed):
        keys = pack(nodes_of(ngrams.ids[:, :-1], contexts, words), ngrams.ids[:, -1], words)
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        again = np.flatnonzero(keys[1:] == keys[:-1])
        if len(again):
            first, second = ngrams.lines[order][again[0] : again[0] + 2]
            raise AccordError(
                f"{path}, line {second}: expected each n-gram once, found that of line {first}"
            )
        backoff = np.ones(len(contexts[length]))
        if length:
            weighted = listed[length - 1].backoff != 1
            nodes = nodes_of(listed[length - 1].ids[weighted], contexts, words)
            backoff[nodes] = listed[length - 1].backoff[weighted]
        tables.append(Table(contexts[length], keys, ngrams.p[order], backoff))
    return tables


def contexts_of(rows: Sequence[np.ndarray], words: int) -> list[np.ndarray]:
    """Return the keys of the nodes of contexts and of all their suffixes, by length from 0."""
    contexts = [np.zeros(1, np.int64)]
    for of_length in rows:
        keys = pack(nodes_of(of_length[:, 1:], contexts, words), of_length[:, 0], words)
        contexts.append(np.unique(keys))
    return contexts


def nodes_of(rows: np.ndarray, contexts: Sequence[np.ndarray], words: int) -> np.ndarray:
    """Return the nodes of contexts that all exist."""
    node = np.zeros(len(rows), np.int64)
    for length in range(1, rows.shape[1] + 1):
        node = np.searchsorted(contexts[length], pack(node, rows[:, -length], words))
    return node


TABLES = "ngrams.npz"


class ArpaBackground(Background):
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
        lacking = group == ngrams.words - 1
        signature = np.full(ngrams.words, features.signature_count)  # <unk> has one of its own
        signature[group[~lacking]] = features.signature[~lacking]
        self.within = NGramBackground(_in_signatures(signature), ngrams)
        of_unknown = np.bincount(
            features.signature[lacking], share[lacking], minlength=features.signature_count
        )
        with np.errstate(divide="ignore"):
            logs = {"log_share": np.log(share), "unknown_share": np.log(of_unknown)}
        for name, array in {"group": group, **logs}.items():
            self.register_buffer(name, torch.from_numpy(array), persistent=False)

    def contexts(self, sentences: Sentences, training: bool = False) -> np.ndarray:
        ids = self.group.cpu().numpy()[sentences.ids]
        return self.within.contexts(Sentences(ids, sentences.lengths), training)

    def class_terms(self, context: Tensor | None = None, split: bool = False) -> ClassTerms:
        log_mass = self._shared(self.within.class_terms(context)[0])
        if not split:
            return log_mass, None
        return split_terms(log_mass, self._shared(self.within.class_terms(context, split)[0]))

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

    def _shared(self, log_mass: Tensor) -> Tensor:
        """Give the mass of `<unk>` to the signatures of the words that it stands for."""
        of_unknown = log_mass[:, -1:] + self.unknown_share.to(log_mass.dtype)
        return torch.logaddexp(log_mass[:, :-1], of_unknown)


def _in_signatures(signature: np.ndarray) -> Features:
    """Words whose features are their signatures alone."""
    count = int(signature.max()) + 1
    return Features(np.arange(count + 1), np.arange(count), np.ones(count), signature, count)


def prepare(path: Path, forms: Sequence[str], mass: np.ndarray, out: Path) -> int:
    """Read a file for the words of a vocabulary, and write the arrays for `load`; return its order.

    Words that the file lacks share by their mass. Blanks in words are `_` there.
    """
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
    return ngrams.order


def load(features: Features, folder: Path, order: int) -> ArpaBackground:
    names = [f"{name}_{number}" for number in range(order) for name in Table._fields]
    arrays = load_arrays(folder / TABLES, ["group", "share", *names])
    tables = [
        Table(*(arrays[f"{name}_{number}"] for name in Table._fields)) for number in range(order)
    ]
    ngrams = NGrams(tables, len(arrays["p_0"]))
    return ArpaBackground(features, ngrams, arrays["group"], arrays["share"])


def write_arpa(model: NGrams, forms: Sequence[str], path: Path) -> None:
    """Write the model; its probabilities keep eight digits."""
    check_forms(forms, model.words)
    tables = [Table(*(tensor.cpu().numpy() for tensor in table)) for table in model.tables]
    with (
        whole(path) as partial,
        open_arpa(partial, "wb") as binary,
        TextIOWrapper(binary, "utf-8", newline="\n") as file,
    ):
        file.write("\\data\\\n")
        for order, table in enumerate(tables, start=1):
            file.write(f"ngram {order}={len(table.keys) + (order == 1)}\n")
        contexts = [""]
        for order, table in enumerate(tables, start=1):
            above = tables[order] if order < len(tables) else None
            longer = _spelled(above, contexts, forms) if above else []
            backoff = dict(zip(longer, above.backoff.tolist(), strict=True)) if above else {}
            file.write(f"\n\\{order}-grams:\n")
            if order == 1:
                file.write(_line(NEVER, START, backoff))
            with np.errstate(divide="ignore"):
                log_p = np.maximum(np.log10(table.p), NEVER).tolist()
            nodes, words = (part.tolist() for part in np.divmod(table.keys, model.words))
            for node, word, number in zip(nodes, words, log_p, strict=True):
                file.write(_line(number, f"{contexts[node]} {forms[word]}".lstrip(" "), backoff))
            contexts = longer
        file.write("\n\\end\\\n")


def _spelled(table: Table[np.ndarray], shorter: Sequence[str], forms: Sequence[str]) -> list[str]:
    """The words of each node's context."""
    parents, oldest = (part.tolist() for part in np.divmod(table.contexts, len(forms)))
    return [
        f"{START if word == END else forms[word]} {shorter[parent]}".rstrip(" ")
        for parent, word in zip(parents, oldest, strict=True)
    ]


def _line(log_p: float, ngram: str, backoff: dict[str, float]) -> str:
    weight = backoff.get(ngram)
    end = "\n" if weight is None else f"\t{math.log10(weight) if weight else NEVER:.8g}\n"
    return f"{log_p:.8g}\t{ngram}{end}"
