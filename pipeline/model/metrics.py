"""The figures of a model: on the splits of its text, and on minimal pairs.

A metric with a `column` has that title in the report's table, rounded to `digits`. A metric that is
undefined for a text is None, and is left out.

A model prefers the sentence of a pair with the higher log p. SCORINGS compare the whole sentence
with its end, also per word; the *critical word*, the first that differs; the *critical region*,
from the first to the last word that differs; and the first word behind the region. Where a pair
varies the subject and keeps the verb, the words that differ say little (`le` against `les`). The
word behind them is the same in both sentences, and only its context is right or wrong.

If both sentences are equally likely, the tie counts one half, as a coin would decide it. Baselines
that have one feature for all rare words tie often.

Needs torch, numpy and safetensors only, as it also runs where a model was trained.
"""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from accord.models.common.checks import check_finite
from accord.models.common.files import CURVE
from accord.models.common.registry import Registry
from accord.models.data import Model
from accord.models.parts import PHASES
from accord.models.spelling import Spelling, WrittenText, score_text
from accord.pipeline.base.messages import say
from accord.pipeline.base.names import END_ID, UNKNOWN_ID
from accord.pipeline.data.encoded import HeldOut, Suite

if TYPE_CHECKING:
    from accord.models.model import LanguageModel

METRICS = Registry("metric", "accord.metrics", modules=(__name__,))


@dataclass(frozen=True)
class ScoredText:
    """The words and sentence ends of a text; the arrays have one number for each."""

    log_p: np.ndarray  # in nats
    is_end: np.ndarray
    is_spelled: np.ndarray  # words spelled by the character model
    is_unseen: np.ndarray  # words that training lacks
    lengths: np.ndarray  # characters of each word and the space after it; 0 of an end
    characters: int  # of the text as it is written

    def part(self, chosen: np.ndarray) -> "ScoredText":
        """Return the chosen words and ends."""
        arrays = (self.log_p, self.is_end, self.is_spelled, self.is_unseen, self.lengths)
        return ScoredText(*(array[chosen] for array in arrays), int(self.lengths[chosen].sum()))

    @property
    def words(self) -> int:
        """Return the number of words without sentence ends."""
        return int((~self.is_end).sum())


@METRICS.register("perplexity", column="perplexity", digits=1)
def perplexity(text: ScoredText) -> float:
    """exp of the nats per word."""
    return np.exp(-text.log_p.mean())


@METRICS.register("nats per word", column="nats/word", digits=3)
def nats_per_word(text: ScoredText) -> float:
    """−log p per word, in nats. Each sentence end counts as a word."""
    return -text.log_p.mean()


@METRICS.register("nats per word without ends")
def nats_without_ends(text: ScoredText) -> float:
    """−log p per word, in nats, without sentence ends."""
    return -text.log_p[~text.is_end].mean()


@METRICS.register("bits per character", column="bits/char", digits=3)
def bits_per_character(text: ScoredText) -> float:
    """−log₂ p per character: the letters of each word and one more for its end."""
    return -text.log_p.sum() / np.log(2) / text.characters


@METRICS.register("bits per character of unseen words", column="unseen bits/char", digits=2)
def bits_per_unseen_character(text: ScoredText) -> float | None:
    """−log₂ p per character of the words that the training text lacks."""
    unseen = text.is_unseen
    return (
        -text.log_p[unseen].sum() / np.log(2) / text.lengths[unseen].sum() if unseen.any() else None
    )


@METRICS.register("perplexity of unseen words")
def perplexity_of_unseen_words(text: ScoredText) -> float | None:
    """Perplexity of the words that the training text lacks."""
    return np.exp(-text.log_p[text.is_unseen].mean()) if text.is_unseen.any() else None


@METRICS.register("words")
def words(text: ScoredText) -> float:
    """Words, without sentence ends."""
    return text.words


@METRICS.register("sentences")
def sentences(text: ScoredText) -> float:
    """Sentences."""
    return text.is_end.sum()


@METRICS.register("share of words unseen in training")
def share_unseen(text: ScoredText) -> float:
    """Share of the words that the training text lacks."""
    return text.is_unseen.sum() / text.words


@METRICS.register("share of words spelled")
def share_spelled(text: ScoredText) -> float:
    """Share of the words that the character model spells."""
    return text.is_spelled.sum() / text.words


OF_START = "perplexity of the start"  # of the initial checkpoint


def measure(
    model: Model, spelling: Spelling | None, split: HeldOut, alone: bool = False
) -> tuple[dict, ScoredText]:
    """Return the figures of a split and the scores that they are computed from.

    A model of documents reads its documents, or with `alone` each sentence by itself.
    """
    sentences = split.sentences.alone() if alone else split.sentences
    start = time.monotonic()
    log_p, is_spelled = score_text(model, spelling, sentences, split.text, UNKNOWN_ID)
    rate = len(log_p) / (time.monotonic() - start)
    is_end = sentences.ids == END_ID
    lengths = np.array([*(len(form) + 1 for form in split.text.forms), 0])[split.text.positions]
    scored = ScoredText(log_p, is_end, is_spelled, split.unseen, lengths, split.characters)
    return summary(scored) | {"words scored per second": rate}, scored


def measure_parts(split: HeldOut, scored: ScoredText) -> dict[str, dict]:
    """Return the figures of each source's sentences in a split with several sources."""
    figures = {}
    for source, is_of_source in split.parts.items():
        chosen = np.repeat(is_of_source, split.sentences.lengths)
        figures[f"{split.name}/{source}"] = summary(scored.part(chosen))
    return figures


WITHOUT_CONTEXT = ("perplexity", "nats per word", "bits per character")


def measure_alone(
    model: Model, spelling: Spelling | None, split: HeldOut
) -> dict[str, dict[str, float]]:
    """Return the figures of a split and its parts, each sentence read by itself.

    Empty if the model does not carry its state across sentence ends in this split.
    """
    if split.sentences.documents is None or not getattr(model, "reads_documents", False):
        return {}
    whole, scored = measure(model, spelling, split, alone=True)
    parts = {split.name: whole} | measure_parts(split, scored)
    return {
        part: {f"{name} without context": figures[name] for name in WITHOUT_CONTEXT}
        for part, figures in parts.items()
    }


def summary(text: ScoredText) -> dict[str, float]:
    """Return every metric that is defined for a text; a failing plug-in is left out."""
    figures = {}
    for name in METRICS:
        try:
            value = METRICS[name](text)
        except Exception as error:
            if name in METRICS.own:
                raise
            say(f"evaluate: metric '{name}' is left out: {error}")
        else:
            figures |= {} if value is None else {name: float(value)}
    for name, value in figures.items():
        check_finite(name, np.asarray(value))
    return figures


def training_figures(model: "LanguageModel", trained: Path) -> dict:
    """Return the size of a model, and the length and speed of its training."""

    def rows(path: Path) -> np.ndarray:  # with a field for each column
        return np.atleast_1d(np.genfromtxt(path, delimiter=",", names=True))

    curve, phases = rows(trained / CURVE), [trained / f"{name}.csv" for name in PHASES]
    best, seconds = int(curve["valid_nats"].argmin()), curve["seconds"]
    earlier = sum(rows(path)["seconds"].sum() for path in phases if path.exists())
    return {
        "parameters": float(model.parameter_count()),
        "best epoch": float(curve["epoch"][best]),
        "seconds": float(earlier + seconds.sum()),
        "seconds to the best epoch": float(earlier + seconds[: best + 1].sum()),
        "words trained per second": float(np.nanmedian(curve["words_per_second"])),
    }


class CriticalRegions(NamedTuple):
    """For each pair, positions in its two sentences (P); the end of a sentence is one too.

    The words that differ stand from `Suite.critical` to before these ends. If one sentence has no
    word that the other lacks, the word behind belongs to the region of both: none may be empty.
    """

    good_end: np.ndarray
    bad_end: np.ndarray
    good_after: np.ndarray  # the first word behind the last difference
    bad_after: np.ndarray


def critical_regions(suite: Suite) -> CriticalRegions:
    """Find the words that differ in each pair that can be judged."""
    regions = np.zeros((len(suite.good), 4), np.int64)
    starts, lengths = suite.sentences.starts, suite.lengths
    for number in np.flatnonzero(suite.known):
        rows, first = (suite.good[number], suite.bad[number]), suite.critical[number]
        good, bad = (suite.form[starts[row] :][: lengths[row]] for row in rows)  # ends are shared
        behind = np.array([len(good), len(bad)]) - shared_end(good[first:], bad[first:])
        regions[number, :2] = behind + (behind == first).any()
        regions[number, 2:] = behind
    return CriticalRegions(*regions.T)


def shared_end(good: np.ndarray, bad: np.ndarray) -> int:
    """Return the number of words that two sentences share at their end."""
    shortest = min(len(good), len(bad))
    differ = good[::-1][:shortest] != bad[::-1][:shortest]
    return int(np.argmax(differ)) if differ.any() else shortest


# The columns of margins.
SCORINGS = ("whole sentence", "critical word", "whole sentence per word")
SCORINGS += ("critical region", "word behind it")
# Metric, the metric that counts its ties, column of the margins.
ACCURACY = (("accuracy", "ties", 0), ("accuracy by critical word", "ties by critical word", 1))
TIE = 1e-4  # nats: sums of equal probabilities differ by rounding, by less than this
Z = 1.959963984540054  # standard errors to each side, for 95 %


def measure_agreement(
    model: Model, spelling: Spelling | None, suite: Suite, text: WrittenText
) -> tuple[dict, np.ndarray]:
    """Return the figures of an encoded suite, and the margins of its pairs."""
    start = time.monotonic()
    scores = margins(model, spelling, suite, text)
    rate = len(scores) / (time.monotonic() - start)
    return agreement_figures(suite, scores) | {"pairs judged per second": rate}, scores


def margins(
    model: Model,
    spelling: Spelling | None,
    suite: Suite,
    text: WrittenText,
    words: tuple[np.ndarray, np.ndarray] | None = None,
) -> np.ndarray:
    """Return by how many nats the right sentence is likelier (pairs × SCORINGS).

    `words` are the spans of a word of each pair in both sentences (P × 2 each); the margin of this
    word is one more column. NaN where a pair has an unknown word that the model cannot spell, or
    where the span begins at −1.
    """
    log_p, _ = score_text(model, spelling, suite.sentences, text, UNKNOWN_ID)
    starts, known, regions = suite.sentences.starts, suite.known, critical_regions(suite)
    whole = np.add.reduceat(log_p, starts)
    cumulative = np.concatenate(([0.0], np.cumsum(log_p)))

    def scores(rows: np.ndarray, *further: np.ndarray) -> np.ndarray:
        """Return log p of one sentence of each pair that can be judged, in all columns."""
        rows, first, end, behind, *spans = (a[known] for a in (rows, suite.critical, *further))
        start = starts[rows]
        columns = [whole[rows], log_p[start + first], whole[rows] / suite.lengths[rows]]
        columns += [cumulative[start + end] - cumulative[start + first], log_p[start + behind]]
        columns += [cumulative[start + s[:, 1]] - cumulative[start + s[:, 0]] for s in spans]
        return np.column_stack(columns)

    spans_good, spans_bad = ((of_side,) for of_side in words) if words else ((), ())
    good = scores(suite.good, regions.good_end, regions.good_after, *spans_good)
    bad = scores(suite.bad, regions.bad_end, regions.bad_after, *spans_bad)
    nats = np.full((len(known), good.shape[1]), np.nan)
    nats[known] = good - bad
    if words:
        nats[words[0][:, 0] < 0, -1] = np.nan
    return nats


def is_tie(margins: np.ndarray) -> np.ndarray:
    """Return where both sentences are equally likely."""
    return np.abs(margins) <= TIE


def credit(margins: np.ndarray) -> np.ndarray:
    """Return 1 for a right judgement, 0 for a wrong one, one half for a tie, NaN for none."""
    return np.where(np.isnan(margins), np.nan, np.where(is_tie(margins), 0.5, margins > 0))


def agreement_figures(suite: Suite, margins: np.ndarray) -> dict[str, float]:
    """Return the share judged rightly of each construction and its mean, and the ties."""
    unknown = ~suite.known
    figures = {"pairs": float(len(unknown)), "pairs with unknown words": float(unknown.sum())}
    names = enumerate(suite.constructions.tolist())
    constructions = [(name, suite.construction == number) for number, name in names]
    for accuracy, ties, column in ACCURACY:
        judged, shares = margins[:, column], []
        figures[ties] = float(is_tie(judged).sum())
        for name, chosen in constructions:
            if (known := chosen & suite.known).any():
                shares.append(float(credit(judged[known]).mean()))
                figures[f"{accuracy}: {name}"] = shares[-1]
                figures[f"{ties}: {name}"] = float(is_tie(judged[known]).sum())
        if shares:
            figures[accuracy] = float(np.mean(shares))
    for name, chosen in constructions:
        figures[f"pairs: {name}"] = float(chosen.sum())
        figures[f"pairs with unknown words: {name}"] = float((chosen & unknown).sum())
    return figures


def wilson(right: float, pairs: float) -> tuple[float, float]:
    """Return the interval of 95 % of a share (Wilson 1927).

        (p + z²/2n ± z·√(p(1−p)/n + z²/4n²)) / (1 + z²/n),    p = right/pairs, n = pairs, z = 1.96

    `right` may hold halves, those of ties. The pairs count as independent draws; those of a suite
    made from templates are not.
    """
    share, spread = right / pairs, Z**2 / pairs
    half = Z * np.sqrt(share * (1 - share) / pairs + spread / (4 * pairs))
    return (share + spread / 2 - half) / (1 + spread), (share + spread / 2 + half) / (1 + spread)
