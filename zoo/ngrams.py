"""n-grams: smoothings, ARPA files, any model as n-grams, pruning, weighted automata.

Automata have OpenFst's form. A state's arcs are the words listed there, with −log p in nats; an arc
`<phi>` is taken only for a word that the state has no arc for: a failure arc. Every state is final,
with −log p of the sentence's end. So each sentence has one path, whose weight is −log p. OpenFst's
PhiMatcher reads `<phi>` so. Read as ε, as many recognisers do, it lets a sentence have more paths,
and the best of them may be likelier than the sentence is. A network has clustered states:

    p(w | c) of the words that the state c lists, else γ(c)·p(w)

There is one state after each word of a state, and one after each word that a state does not list.
p(w | c) is the mean of p(w | h) over the h of a text that are in c, p(w) the mean over all of them.
After w the automaton is where the network mostly is in the text once it has read w in c; if it
never does there, once it has read w anywhere; and for a word that the text lacks, once it has read
that word alone.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import TextIOWrapper
from itertools import pairwise
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from accord.corpora.text import lines, open_bytes
from accord.errors import AccordError
from accord.models.background import NGrams, interpolated
from accord.models.calibration import likeliest_weights
from accord.models.common.files import whole, write_whole
from accord.models.constraints import NGramAutomaton
from accord.models.data import END, Sentences, preceding
from accord.models.gpu.kernels import rows_of
from accord.models.inference.interface import InferenceModel
from accord.models.inference.next_word import distributions
from accord.models.inference.torch_model import TorchModel
from accord.models.model import LanguageModel
from accord.models.ngrams import Level, NGramTables, Table, count, pack


def witten_bell(levels: Sequence[Level], base: np.ndarray) -> NGrams:
    """Leave mass in a context by its number of new words (Witten & Bell 1991); interpolated.

        a(hw) = c(hw) / (c(h) + T(h)),    γ(h) = T(h) / (c(h) + T(h))

    T(h) is how many different words follow h: so often something new came after it.
    """

    def weights(number: int) -> tuple[np.ndarray, np.ndarray]:
        level = levels[number]
        different = np.bincount(level.nodes, level.counts > 0)
        total = np.bincount(level.nodes, level.counts) + different
        return level.counts / total[level.nodes], different / total

    return interpolated(levels, weights, base)


CLASSES = 32  # of contexts by the logarithm of their count, each with its own weight
ROUNDS = 30  # of expectation and maximisation


def jelinek_mercer(levels: Sequence[Level], base: np.ndarray) -> NGrams:
    """Linear interpolation of the orders (Jelinek & Mercer 1980), weighted by leaving one out.

        a(hw) = λ(h)·c(hw)/c(h),    γ(h) = 1 − λ(h)

    λ is shared by contexts of one length whose counts have the same number of binary digits. It is
    the one under which each occurrence is likeliest when it is itself left out of the counts,
    found by expectation and maximisation, from the shortest contexts to the longest.
    """
    left_out = base  # the probability that an occurrence of each n-gram has when it is left out

    def weights(number: int) -> tuple[np.ndarray, np.ndarray]:
        nonlocal left_out
        level = levels[number]
        total = np.bincount(level.nodes, level.counts)
        below = left_out[level.shorter] if number else left_out
        others = total[level.nodes] - 1
        again = np.maximum(level.counts - 1, 0)
        share = np.divide(again, others, where=others > 0, out=np.zeros(len(again)))
        kind = _digits(others)
        weight = _likeliest(share, below, np.where(others > 0, level.counts, 0), kind)
        known = np.where(others > 0, weight[kind], 0)
        left_out = known * share + (1 - known) * below
        of_node = weight[_digits(total)]
        return of_node[level.nodes] * level.counts / total[level.nodes], 1 - of_node

    return interpolated(levels, weights, base)


def _digits(counts: np.ndarray) -> np.ndarray:
    return np.minimum(np.frexp(counts)[1], CLASSES - 1)


def _likeliest(
    above: np.ndarray, below: np.ndarray, times: np.ndarray, kind: np.ndarray
) -> np.ndarray:
    """λ of each kind that maximises Σ times·log(λ·above + (1 − λ)·below).

    What neither explains is a word that occurs once only, left out: it speaks for `below`. One
    occurrence is added that speaks for both alike, lest λ be 1 and words of `below` impossible.
    """
    below = np.where((above > 0) | (below > 0), below, 1.0)
    with np.errstate(divide="ignore"):
        log_p = np.log(np.stack([above, below]))
    settings = {"added": 1, "rounds": ROUNDS, "enough": -np.inf}
    return likeliest_weights(log_p, kind, CLASSES, times, **settings)[:, 0]


Alpha = Annotated[float, "how often more than it occurs every n-gram is counted"]


def add_alpha(levels: Sequence[Level], base: np.ndarray, *, alpha: Alpha = 0.1) -> NGrams:
    """Count every n-gram α more than it occurs, without backing off.

        p(w | h) = (c(hw) + α) / (c(h) + α·V)

    Only contexts of full length, or that begin a sentence, are counted. No shorter contexts give
    words their share, so that all are alike to it, whatever the base.
    """
    if alpha <= 0:
        raise AccordError(f"smoothing: add-alpha.alpha: expected more than 0, got {alpha}")
    alike = np.full(levels[0].words, 1 / levels[0].words)

    def weights(number: int) -> tuple[np.ndarray, np.ndarray]:
        level = levels[number]
        is_full = level.at_start if 0 < number < len(levels) - 1 else number == len(levels) - 1
        counts = np.where(is_full, level.counts, 0)
        total = np.bincount(level.nodes, counts) + alpha * level.words
        return counts / total[level.nodes], alpha * level.words / total

    return interpolated(levels, weights, alike)


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


MOST = 300  # as a logarithm: what a number holds


class ArpaEntry(NamedTuple):
    """The n-grams of one order as a file lists them."""

    ids: np.ndarray  # (N × order)
    p: np.ndarray
    backoff: np.ndarray
    lines: np.ndarray


def read_arpa(path: Path, forms: Sequence[str], others: str | None = None) -> NGrams:
    """Read the model of a file over these words; errors name the line.

    With `others`, n-grams with further words are left out; that form is the one that stands for
    words which the file lacks, and as rare as its rarest if the file has no such form.
    """
    check_forms(forms, len(forms))
    ids = {form: number for number, form in enumerate(forms)} | {START: END}
    lines = _Lines(path)
    sizes = enumerate(_sizes(lines), start=1)
    listed = [_section(lines, order, size, ids, others is not None) for order, size in sizes]
    lines.expect("\\end\\")
    if (line := next(lines.filled, None)) is not None:
        raise lines.wrong("nothing after \\end\\", f"'{line}'")
    if others is not None and ids[others] not in listed[0].ids:
        lowest = listed[0].p[listed[0].p > 10**NEVER].min(initial=1.0)
        rarest = [[ids[others]]], [lowest], [1.0], [0]
        listed[0] = ArpaEntry(*map(np.concatenate, zip(listed[0], rarest, strict=True)))
    if len(listed[0].ids) != len(forms):
        missing = np.setdiff1d(np.arange(len(forms)), listed[0].ids)[0]
        raise AccordError(
            f"{path}: expected all {len(forms)} words of the vocabulary among the 1-grams; "
            f"'{forms[missing]}' is missing"
        )
    return NGrams(_tables(listed, len(forms), path), len(forms))


def words_of_arpa(path: Path) -> set[str]:
    """Return the words that a file lists, `<s>` aside."""
    lines = _Lines(path)
    unigrams = (_fields(lines, lines.next("1-grams"), 1) for _ in range(_sizes(lines)[0]))
    return {word for _, (word,), _ in unigrams} - {START}


class _Lines:
    """The lines of a file that are not empty, by number, and complaints about them."""

    def __init__(self, path: Path):
        self.path, self.number, self.filled = path, 0, self._filled()

    def _filled(self) -> Iterator[str]:
        for line in lines(self.path):
            self.number += 1
            if line := line.rstrip("\r\n"):
                yield line
        self.number += 1

    def next(self, expected: str) -> str:
        line = next(self.filled, None)
        if line is None:
            raise self.wrong(expected, "the end of the file")
        return line

    def expect(self, expected: str) -> None:
        line = self.next(expected)
        if line.strip() != expected:
            raise self.wrong(expected, f"'{line}'")

    def wrong(self, expected: str, actual: str) -> AccordError:
        return AccordError(f"{self.path}, line {self.number}: expected {expected}, found {actual}")


def _sizes(lines: _Lines) -> list[int]:
    """Read the number of n-grams of each order from the file's head, and the line after it."""
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


def _section(lines: _Lines, order: int, size: int, ids: dict[str, int], skip: bool) -> ArpaEntry:
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
    ngrams = np.array(rows, np.int64).reshape(-1, order)
    entry = ArpaEntry(ngrams, *map(np.array, (p, backoff, numbers)))
    if order == 1:  # END's own weight is that of the sentence's start, which it stands for
        entry.backoff[entry.ids[:, 0] == END] = start_weight
    return entry


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
    """Make the tables: a node for each context that has n-grams or a weight, or is part of one."""
    rows = [
        np.concatenate([longer.ids[:, :-1], shorter.ids[shorter.backoff != 1]])
        for shorter, longer in pairwise(listed)
    ]
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
    """Return the keys of the nodes of contexts, by length from 0, and of all their suffixes.

    `rows` has the contexts of each length from 1, the oldest word first.
    """
    contexts = [np.zeros(1, np.int64)]
    for length in range(1, len(rows) + 1):
        ends = np.concatenate([longer[:, -length:] for longer in rows[length - 1 :]])
        keys = pack(nodes_of(ends[:, 1:], contexts, words), ends[:, 0], words)
        contexts.append(np.unique(keys))
    return contexts


def nodes_of(rows: np.ndarray, contexts: Sequence[np.ndarray], words: int) -> np.ndarray:
    """Return the nodes of contexts that all exist."""
    node = np.zeros(len(rows), np.int64)
    for length in range(1, rows.shape[1] + 1):
        node = np.searchsorted(contexts[length], pack(node, rows[:, -length], words))
    return node


def write_arpa(model: NGrams, forms: Sequence[str], path: Path) -> None:
    """Write the model; its probabilities keep eight digits."""
    check_forms(forms, model.words)
    tables, names = model.numpy().tables, [START, *forms[1:]]
    contexts = [
        [" ".join(names[word] for word in row) for row in rows.tolist()]
        for rows in model.numpy().context_words()
    ]
    with (
        whole(path) as partial,
        open_bytes(partial, "wb") as binary,
        TextIOWrapper(binary, "utf-8", newline="\n") as file,
    ):
        file.write("\\data\\\n")
        for order, table in enumerate(tables, start=1):
            file.write(f"ngram {order}={len(table.keys) + (order == 1)}\n")
        for order, table in enumerate(tables, start=1):
            weights = tables[order].backoff.tolist() if order < len(tables) else []
            backoff = dict(zip(contexts[order] if weights else [], weights, strict=True))
            file.write(f"\n\\{order}-grams:\n")
            if order == 1:
                file.write(_line(NEVER, START, backoff))
            with np.errstate(divide="ignore"):
                log_p = np.maximum(np.log10(table.p), NEVER).tolist()
            nodes, words = (part.tolist() for part in np.divmod(table.keys, model.words))
            for node, word, number in zip(nodes, words, log_p, strict=True):
                ngram = f"{contexts[order - 1][node]} {forms[word]}".lstrip(" ")
                file.write(_line(number, ngram, backoff))
        file.write("\n\\end\\\n")


def _line(log_p: float, ngram: str, backoff: dict[str, float]) -> str:
    weight = backoff.get(ngram)
    end = "\n" if weight is None else f"\t{math.log10(weight) if weight else NEVER:.8g}\n"
    return f"{log_p:.8g}\t{ngram}{end}"


LEAST = 1e-6  # the least mass that a context leaves to words that it does not list


class Chosen(NamedTuple):
    """Some n-grams of one order."""

    ids: np.ndarray  # (N × order), those of a sentence's start beginning with END
    p: np.ndarray  # of the last word after the others


def backed_off(chosen: Sequence[Chosen], words: int) -> NGrams:
    """Return the model with these probabilities, its γ such that every context sums to one.

        γ(h) = (1 − Σ_w p(w | h)) / (1 − Σ_w p(w | h′)),    w being those listed after h

    `chosen` has the n-grams of each order, all words being those of order 1. Where more is given
    than there is, by rounding, all of it is scaled down.
    """
    contexts = contexts_of([ids[:, :-1] for ids, _ in chosen[1:]], words)
    tables: list[Table[np.ndarray]] = []
    for length, (ids, p) in enumerate(chosen):
        node = nodes_of(ids[:, :-1], contexts, words)
        keys = pack(node, ids[:, -1], words)
        order = np.argsort(keys)
        ids, p, node = ids[order], p[order], node[order]
        count = len(contexts[length])
        listed = np.bincount(node, minlength=count)
        mass = np.bincount(node, p, minlength=count)
        most = np.where(listed < words, 1 - LEAST, 1)
        scale = np.where((mass > most) | (listed == words), most / np.maximum(mass, LEAST), 1)
        p = p * scale[node]
        backoff = np.ones(count)
        if length:
            others = listed < words
            shorter = NGrams(tables, words)
            nodes = shorter.nodes(torch.from_numpy(ids[:, 1:-1]))
            p_below = shorter.p(nodes, torch.from_numpy(ids[:, -1])).numpy()
            below = 1 - np.bincount(node, p_below, minlength=count)
            backoff[others] = (1 - mass * scale)[others] / below[others]
        tables.append(Table(contexts[length], keys[order], p, backoff))
    return NGrams(tables, words)


@torch.no_grad()
def own_ngrams(
    model: InferenceModel, text: Sentences, order: int, words: int, on_words=lambda words: None
) -> NGrams:
    """Return the n-grams of a text with the model's probabilities (Arisoy et al. 2014).

    p(w | h) is the mean of what the model gives w wherever h stands in the text, all that is before
    h being known to it. What it gives to words that the text does not have after h goes to shorter
    contexts, and these share it.
    """
    levels = count(text, order, words)
    tables = [Table(level.contexts, level.keys, level.counts, level.counts) for level in levels]
    listed = NGramTables(tables, words)
    signature = torch.from_numpy(model.signature)
    share = torch.from_numpy(np.exp(model.log_share))
    of_signatures = torch.zeros(int(signature.max()) + 1, dtype=torch.float64)
    sums = [torch.zeros(len(level.keys), dtype=torch.float64) for level in levels]
    histories = preceding(text, order - 1, END)
    for positions, log_p in distributions(model, text):
        p = torch.from_numpy(np.exp(log_p))
        of_signatures += p.sum(dim=0, dtype=torch.float64)
        for length, node in enumerate(listed.nodes(histories[positions])[1:], start=1):
            keys, first = levels[length].keys, node * words  # below 0 where no context is listed
            row, entry = rows_of(*torch.from_numpy(np.searchsorted(keys, [first, first + words])))
            of_ngrams = p[row, signature[keys[entry] % words]].double()
            sums[length].index_add_(0, entry, of_ngrams)
        on_words(len(positions))
    sums[0] = of_signatures[signature]
    chosen = []
    for level, contexts, of_level in zip(levels, listed.context_words(), sums, strict=True):
        times = np.bincount(level.nodes, level.counts)
        ids = np.concatenate([contexts[level.nodes], level.keys[:, None] % words], axis=1)
        of_words = of_level * share[ids[:, -1]]
        chosen.append(Chosen(ids, of_words.numpy() / times[level.nodes]))
    return backed_off(chosen, words)


def pruned(model: NGrams, threshold: float) -> NGrams:
    """Return the model without the n-grams that matter less than that (Stolcke 1998).

    If hw goes, h gives w what γ′(h)·p(w | h′) is, and all that h does not list gets γ′/γ of what it
    had. An n-gram goes if this raises the perplexity by less than `threshold`, as a share of it:

        exp(D) − 1,   D = −p(h)·(p(w | h)·log(γ′(h)·p(w | h′)/p(w | h)) + p(others | h)·log(γ′/γ))

    What is part of a longer context that stays, stays.
    """
    if not 0 <= threshold < 1:
        raise AccordError(f"threshold: expected a share from 0 to under 1, got {threshold}")
    words_of = model.numpy().context_words()
    chosen: list[Chosen] = []
    needed = np.zeros((0, model.order), np.int64)  # the contexts of what stays, with their ends
    contexts = [table.contexts.numpy() for table in model.tables]
    for length in range(model.order - 1, -1, -1):
        table = model.tables[length]
        keys, p = table.keys.numpy(), table.p.numpy()
        node, word = np.divmod(keys, model.words)
        rows = np.concatenate([words_of[length][node], word[:, None]], axis=1)
        stays = np.ones(len(keys), bool)
        if length:
            stays = np.expm1(_lost(model, length)) >= threshold
            kept = pack(nodes_of(needed[:, :-1], contexts, model.words), needed[:, -1], model.words)
            at = np.minimum(np.searchsorted(keys, kept), len(keys) - 1)
            stays[at[keys[at] == kept]] = True
        chosen.insert(0, Chosen(rows[stays], p[stays]))
        needed = np.unique(np.concatenate([rows[stays][:, :-1], needed[:, 1:]]), axis=0)
    while len(chosen) > 1 and not len(chosen[-1].ids):
        chosen.pop()
    return backed_off(chosen, model.words)


def _lost(model: NGrams, length: int) -> np.ndarray:
    """D of every n-gram with contexts of that length."""
    table = model.tables[length]
    node, word = table.keys // model.words, table.keys % model.words
    p, below = table.p, model.p(model.shorter_nodes(length, node), word)
    nodes = len(table.contexts)
    left, left_below = (
        1 - mass.new_zeros(nodes).index_add_(0, node, mass).clamp(max=1) for mass in (p, below)
    )
    gamma = table.backoff[node]
    without = (left[node] + p) / (left_below[node] + below)
    changed = p * (without * below / p).log() + left[node] * (without / gamma).log()
    return (-_p_of_contexts(model, length)[node] * changed).nan_to_num(nan=torch.inf).numpy()


def _p_of_contexts(model: NGrams, length: int) -> torch.Tensor:
    """p(h) of every context: a sentence starts as often as one ends."""
    rows = torch.from_numpy(model.numpy().context_words()[length])
    p = model.p_0.new_ones(len(rows))
    for at in range(length):
        p = p * model.p(model.nodes(rows[:, :at]), rows[:, at])
    return p


EPSILON, PHI = "<eps>", "<phi>"
TEXT, SYMBOLS = ".fst.txt", ".syms.txt"


class Arcs(NamedTuple):
    """A row for each arc."""

    source: np.ndarray
    target: np.ndarray
    word: np.ndarray
    p: np.ndarray


class WeightedAutomaton(NamedTuple):
    """A model over words in the form of an automaton."""

    words: int
    start: int
    end: np.ndarray  # p of the sentence's end in each state
    arcs: Arcs
    failures: Arcs  # at most one of a state; their words are END


def ngram_automaton(model: NGrams) -> WeightedAutomaton:
    """n-grams as they are: a state for each context."""
    full = NGramAutomaton(model.numpy())
    is_arc, longer = full.symbol != END, np.arange(full.nodes[1], full.nodes[-1])
    columns = full.source, full.next, full.symbol, full.of_arc
    arcs = Arcs(*(column[is_arc] for column in columns))
    failures = Arcs(longer, full.shorter[longer], np.zeros_like(longer), full.backoff[longer])
    return WeightedAutomaton(model.words, full.start, full.ends(), arcs, failures)


def write_wfst(automaton: WeightedAutomaton, forms: Sequence[str], path: Path) -> None:
    """Write `x.fst.txt` and, beside it, the table of its symbols, `x.syms.txt`."""
    check_forms(forms, automaton.words)
    for reserved in {EPSILON, PHI} & {*forms}:
        raise AccordError(
            f"forms: '{reserved}' is a symbol of the automaton: expected no such word"
        )
    symbols = [EPSILON, PHI, *forms[1:]]  # END, the first form, is the end of a path: no symbol
    table = path.with_name(path.name.removesuffix(TEXT) + SYMBOLS)
    lines = (f"{symbol}\t{number}\n" for number, symbol in enumerate(symbols))
    write_whole(table, "".join(lines).encode())
    ends = [f"{state}\t{_weight(p)}\n" for state, p in enumerate(automaton.end.tolist())]
    with whole(path) as partial, partial.open("w", encoding="utf-8", newline="\n") as file:
        file.write(ends[automaton.start])  # the first line's state is where paths begin
        file.writelines(ends)
        for arcs in automaton.failures, automaton.arcs:
            for source, target, word, p in zip(*(part.tolist() for part in arcs), strict=True):
                symbol = symbols[word + 1]
                file.write(f"{source}\t{target}\t{symbol}\t{symbol}\t{_weight(p)}\n")


def _weight(p: float) -> str:
    return f"{-math.log(p):.8g}" if p > 0 else "Infinity"


@dataclass(frozen=True, eq=False)
class StateAutomaton:
    """`ngrams` are bigrams, the states being what stands before a word."""

    ngrams: NGrams
    start: int
    after_listed: Tensor  # the state after each bigram
    after_word: Tensor  # the state after each word where it is not listed

    @property
    def states(self) -> int:
        return len(self.ngrams.tables[1].contexts)

    def score(self, sentences: Sentences) -> np.ndarray:
        """log p of every word of every sentence in order, END included, in nats."""
        ids, starts = torch.from_numpy(sentences.ids.astype(np.int64)), sentences.starts
        log_p = np.zeros(len(ids))
        state = torch.full((len(starts),), self.start)
        for offset in range(int(sentences.lengths.max(initial=0))):
            going_on = np.flatnonzero(sentences.lengths > offset)
            at = starts[going_on] + offset
            current, word = state[going_on], ids[at]
            log_p[at] = self.ngrams.p([torch.zeros_like(word), current], word).log()
            state[going_on] = self.after(current, word)
        return log_p

    def after(self, state: Tensor, word: Tensor) -> Tensor:
        """Return the state that follows each state and its word."""
        keys, wanted = self.ngrams.tables[1].keys, state * self.ngrams.words + word
        at = torch.searchsorted(keys, wanted).clamp(max=len(keys) - 1)
        return torch.where(keys[at] == wanted, self.after_listed[at], self.after_word[word])

    @property
    def automaton(self) -> WeightedAutomaton:
        """Return the form to be written: failures lead to a last state, which lists every word."""
        ngrams, root = self.ngrams, self.states
        every = torch.arange(root)
        end = ngrams.p([torch.zeros_like(every), every], torch.full_like(every, END))
        unigrams, bigrams = ngrams.tables
        keys = torch.cat([bigrams.keys, root * ngrams.words + unigrams.keys])
        source, word = keys // ngrams.words, keys % ngrams.words
        target = torch.cat([self.after_listed, self.after_word])
        columns = source, target, word, torch.cat([bigrams.p, unigrams.p])
        arcs = Arcs(*(column[word != END].numpy() for column in columns))
        failures = every, torch.full_like(every, root), torch.zeros_like(every), bigrams.backoff
        failures = Arcs(*(column.numpy() for column in failures))
        end = torch.cat([end, unigrams.p[:1]]).numpy()
        return WeightedAutomaton(ngrams.words, self.start, end, arcs, failures)


LISTED = 2000  # words of a state, the likeliest; the rest lose what the network knows of them
AT_ONCE = 1 << 24  # probabilities of words that are held together


@torch.inference_mode()
def directions(model: LanguageModel, sentences: Sentences) -> Iterator[tuple[np.ndarray, Tensor]]:
    """Positions in the text, and the network's states before them, each of length one (N × H)."""
    for read in TorchModel(model).states(sentences):
        yield read.positions, normalize(read.h.float(), dim=1).cpu()


def state_automaton(
    model: LanguageModel, text: Sentences, centres: np.ndarray, words: int, on_words=lambda n: None
) -> StateAutomaton:
    """Return the automaton of the centres (C × H) that are nearest to some state in the text."""
    used, cluster = np.unique(_nearest(model, text, centres), return_inverse=True)
    ngrams = _means(TorchModel(model), text, cluster, words, on_words)
    goes_on = np.flatnonzero(text.ids != END)
    word, next_state = text.ids[goes_on].astype(np.int64), cluster[goes_on + 1]
    after_word = np.zeros(words, np.int64)
    lacking = np.setdiff1d(np.arange(1, words), word)
    ids = np.stack([lacking, np.full_like(lacking, END)], axis=1)  # a sentence of each word
    alone = Sentences(ids.ravel(), np.full(len(lacking), 2))
    after_word[lacking] = _nearest(model, alone, centres[used])[1::2]
    seen, mostly = _most_frequent(word, next_state)
    after_word[seen] = mostly
    keys = ngrams.tables[1].keys.numpy()
    after_listed = after_word[keys % words]
    seen, mostly = _most_frequent(cluster[goes_on] * words + word, next_state)
    _, at, of_seen = np.intersect1d(keys, seen, assume_unique=True, return_indices=True)
    after_listed[at] = mostly[of_seen]
    start = int(np.bincount(cluster[text.starts]).argmax())
    return StateAutomaton(ngrams, start, *map(torch.from_numpy, (after_listed, after_word)))


def _nearest(model: LanguageModel, sentences: Sentences, centres: np.ndarray) -> np.ndarray:
    """Return the centre at the smallest distance from the network's state before each word."""
    nearest, columns = np.zeros(len(sentences.ids), np.int64), torch.from_numpy(centres).float().T
    for positions, rows in directions(model, sentences):
        nearest[positions] = (columns.square().sum(dim=0) - 2 * rows @ columns).argmin(dim=1)
    return nearest


@torch.inference_mode()
def _means(
    model: InferenceModel, text: Sentences, clusters: np.ndarray, words: int, on_words
) -> NGrams:
    """Return bigrams of the mean probabilities of words in each cluster, and in all of them."""
    signature = torch.from_numpy(model.signature)
    share = torch.from_numpy(np.exp(model.log_share))
    cluster = torch.from_numpy(clusters)
    times = cluster.bincount().double()
    sums = torch.zeros(len(times), int(signature.max()) + 1, dtype=torch.float64)
    for positions, log_p in distributions(model, text):
        sums.index_add_(0, cluster[positions], torch.from_numpy(log_p).double().exp_())
        on_words(len(positions))
    of_all = (sums.sum(dim=0) / times.sum())[signature] * share
    ids, p = [], []
    for part in torch.arange(len(times)).split(max(1, AT_ONCE // words)):
        of_words = (sums[part] / times[part, None])[:, signature] * share
        likeliest = of_words.topk(min(LISTED, words), dim=1)
        ids.append(torch.stack([part[:, None].expand_as(likeliest.indices), likeliest.indices], 2))
        p.append(likeliest.values.flatten())
    every = np.arange(words)[:, None]
    bigrams = Chosen(torch.cat(ids).flatten(0, 1).numpy(), torch.cat(p).numpy())
    return backed_off([Chosen(every, of_all.numpy()), bigrams], words)


def _most_frequent(keys: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return each key once, rising, and its most frequent value."""
    pairs, times = np.unique(np.stack([keys, values], axis=1), axis=0, return_counts=True)
    order = np.lexsort([times, pairs[:, 0]])
    key, value = pairs[order].T
    is_last = np.append(key[1:] != key[:-1], True)
    return key[is_last], value[is_last]
