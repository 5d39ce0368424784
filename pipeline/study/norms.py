"""Models held against people: does surprisal explain what people do, beyond length and frequency?

A table has a measure of people for each item: a reaction time, a reading time, a rating. An item is
a word or a pseudoword by itself, or a word of a text. Two linear regressions are fitted to the
measure y, by least squares:

    y = β·(1, length, length², frequency, frequency²) + ε                  (1)
    y = β·(1, length, length², frequency, frequency², surprisal) + ε       (2)

For words of a text both also have length and frequency of the word before, and (2) its surprisal.
With RSS the sum of squared residuals, ΔLogLik = n/2 · log(RSS₁ / RSS₂) says how much likelier (2)
makes the n measures. A larger model always gains something on its own data. So ten folds are held
out one by one too: there ΔLogLik is what (2) gains on items that neither regression was fitted to.
"""

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from accord.errors import AccordError
from accord.models.common.checks import nearest
from accord.pipeline.ask.reader import BITS, Reader, ReadWords, by_name
from accord.pipeline.ask.scorer import Scorer
from accord.pipeline.ask.surprisal import per_million
from accord.pipeline.ask.texts import tokens
from accord.pipeline.base.messages import counted, say
from accord.pipeline.data.catalogue import folder_of
from accord.pipeline.data.user_tables import read_table
from accord.pipeline.evaluation.comparison import paired_bootstrap

FOLDER = "openlexicon"
RARE = 0.01  # occurrences per million that are added: a word that Lexique lacks has log₁₀ −2
FOLDS = 10
RESAMPLES = 1000
SURPRISAL = "surprisal"
TIME = "reaction time, ms"
FEWEST = 50  # items, below which a regression with six coefficients says nothing


@dataclass(frozen=True)
class NormSet:
    """A published set of measures: its file, and the columns of the items and of the measure."""

    file: str
    item: str
    measure: str
    about: str


# The header of Megalex is shifted by one: the column `rt.m` holds the words, `rt.sd` the times.
NORM_SETS = {
    "flp-words": NormSet("flp-words.RData", "item", "rt", "lexical decision, words"),
    "flp-pseudowords": NormSet(
        "flp-pseudowords.RData", "item", "rt", "lexical decision, pseudowords"
    ),
    "megalex-visual": NormSet("Megalex-visual.RData", "rt.m", "rt.sd", "visual lexical decision"),
    "megalex-auditory": NormSet(
        "Megalex-auditory.RData", "rt.m", "rt.sd", "auditory lexical decision"
    ),
    "chronolex": NormSet("Chronolex.RData", "item", "LDTrt", "lexical decision, short words"),
}


@dataclass(frozen=True)
class Measured:
    """Items with what was measured of people. `texts` numbers the text of each word, if any."""

    items: list[str]
    measure: np.ndarray
    label: str  # of the measure, for a figure
    texts: np.ndarray | None = None


def read_measured(
    source: str, item: str | None = None, measure: str | None = None, text: str | None = None
) -> Measured:
    """Items and measures of a published set or of a table; rows that lack one are left out."""
    label = measure or TIME
    if source in NORM_SETS:
        known = NORM_SETS[source]
        table = _rdata(folder_of(FOLDER) / known.file)
        item, measure = item or known.item, measure or known.measure
    else:
        if not Path(source).exists() and not Path(source).suffix:
            raise AccordError(f"unknown norms '{source}'{nearest(source, NORM_SETS)}")
        item = item or "item"
        table = read_table(Path(source), item)
        if measure is None:
            raise AccordError("--measure: expected the column of what was measured")
    for option, column in (("--item", item), ("--measure", measure), ("--text", text)):
        if column is not None and column not in table:
            raise AccordError(
                f"{option}: unknown column '{column}'{nearest(column, map(str, table))}"
            )
    numbers = pd.to_numeric(table[measure], errors="coerce").to_numpy(float)
    is_whole = np.isfinite(numbers) & table[item].notna().to_numpy()
    is_whole &= table[item].astype(str).str.contains(r"\w").to_numpy()
    if lacking := int((~is_whole).sum()):
        say(f"norms: {counted(lacking, 'row')} left out, without an item or a number in {measure}")
    if is_whole.sum() < FEWEST:
        raise AccordError(f"expected at least {FEWEST} items with {measure}, got {is_whole.sum()}")
    if text is None:
        kept = table[is_whole]
        return Measured(kept[item].astype(str).str.strip().tolist(), numbers[is_whole], label)
    # Words without a measure are read all the same: others stand behind them.
    of_text = pd.factorize(table[text])[0]
    numbers = np.where(is_whole, numbers, np.nan)
    words = table[item].fillna("").astype(str).str.strip().tolist()
    return Measured(words, numbers, label, of_text)


def _rdata(path: Path) -> pd.DataFrame:
    """The one table of a file of R."""
    try:
        import rdata
    except ImportError:
        raise AccordError(
            "norms: `pip install 'accord-lm[norms]'` brings what reads R's files"
        ) from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of classes that tables of the tidyverse have beside
        return next(iter(rdata.read_rda(path).values()))


def surprisal_of(scorer: Scorer, measured: Measured, drop_spelled: bool = False) -> np.ndarray:
    """Return the bits of each item: the sum of its words, in its text or in a sentence of its own.

    With `drop_spelled`, an item that the character model spelled has NaN.
    """
    reader = Reader(scorer)
    bits = np.zeros(len(measured.items))

    def add(words: ReadWords, item: np.ndarray) -> None:
        nats = np.where(words.spelled & drop_spelled, np.nan, words.nats)[~words.is_end]
        np.add.at(bits, item, BITS * nats)

    if measured.texts is None:
        for words in reader.read(measured.items):
            add(words, words.sentence[~words.is_end])
        return bits
    for text in range(measured.texts.max() + 1):
        at = np.flatnonzero(measured.texts == text)
        words = [measured.items[place] for place in at]
        starts = np.cumsum([0, *(len(word) + 1 for word in words[:-1])])
        read = reader.read_text(" ".join(words))
        add(read, at[np.searchsorted(starts, read.start[~read.is_end], side="right") - 1])
    return bits


def baseline(measured: Measured) -> dict[str, np.ndarray]:
    """Length in letters, log₁₀ of the frequency per million, both squared; the word before."""
    length = np.array([sum(map(str.isalnum, item)) for item in measured.items], float)
    # `l'homme` has the frequency of its longest word.
    heads = [max(words, key=len, default="") for words in tokens(measured.items)]
    frequency = np.log10(per_million(heads) + RARE)
    found = {"length": length, "frequency": frequency}
    if measured.texts is not None:
        found |= {f"previous_{name}": _before(each, measured.texts) for name, each in found.items()}
    squares = {f"{name}_squared": found[name] ** 2 for name in ("length", "frequency")}
    return found | squares


def _before(values: np.ndarray, texts: np.ndarray) -> np.ndarray:
    """The value of the word before in the same text, NaN for the first."""
    goes_on = np.r_[False, texts[1:] == texts[:-1]]
    return np.where(goes_on, np.roll(values, 1), np.nan)


@dataclass(frozen=True)
class Explained:
    """What one predictor explains beyond others."""

    name: str
    items: int
    gain: float  # ΔLogLik on the items themselves
    p: float  # of a gain as large by chance: the likelihood-ratio test
    slope: float  # of the measure, per bit; NaN of a predictor that has its square beside it
    t: float
    held_out: float  # ΔLogLik per 1,000 items that were held out
    low: float
    high: float

    @property
    def row(self) -> dict[str, str]:
        return {
            "predictor": self.name,
            "items": f"{self.items:,}",
            "ΔLogLik": f"{self.gain:,.1f}",
            "p": f"{self.p:.2g}" if self.p >= 1e-300 else "< 1e-300",
            "per bit": "–" if math.isnan(self.slope) else f"{self.slope:+.2f}",
            "t": "–" if math.isnan(self.t) else f"{self.t:+.1f}",
            "held out, per 1,000 items": f"{self.held_out:+.2f}",
            "95 %": f"{self.low:+.2f} to {self.high:+.2f}",
        }


def explained(
    name: str,
    y: np.ndarray,
    below: Sequence[np.ndarray],
    added: Sequence[np.ndarray],
    groups: np.ndarray,
) -> Explained:
    """What `added` columns explain of y beyond those `below`; the first of them has the slope.

    `groups` are held out whole: the items, or the texts whose words they are.
    """
    ones = np.ones(len(y))
    first = np.column_stack([ones, *map(_standardised, below)])
    second = np.column_stack([first, *added])
    residuals = [y - columns @ _fitted(columns, y) for columns in (first, second)]
    squares = [float(each @ each) for each in residuals]
    gain = len(y) / 2 * math.log(squares[0] / squares[1])
    slope = float(_fitted(second, y)[first.shape[1]])
    others = np.delete(second, first.shape[1], axis=1)
    apart = second[:, first.shape[1]]
    apart = apart - others @ _fitted(others, apart)
    spread = math.sqrt(squares[1] / (len(y) - np.linalg.matrix_rank(second)) / (apart @ apart))
    gains = _held_out_gains(first, second, y, groups)
    of_group = np.bincount(groups, gains), np.bincount(groups)
    kept = of_group[1] > 0
    held_out = paired_bootstrap(of_group[0][kept], of_group[1][kept], RESAMPLES)
    return Explained(
        *(name, len(y), gain, _p(2 * gain, len(added)), slope, slope / spread),
        *(1000 * value for value in (held_out.nats, held_out.low, held_out.high)),
    )


def _held_out_gains(
    first: np.ndarray, second: np.ndarray, y: np.ndarray, groups: np.ndarray
) -> np.ndarray:
    """How much more log-density each item has under the second regression, not fitted to it."""
    order = np.random.default_rng(1).permutation(groups.max() + 1)
    fold = order[groups] % FOLDS
    gains = np.zeros(len(y))
    for number in range(FOLDS):
        out, rest = fold == number, fold != number
        densities = []
        for columns in (first, second):
            weights = _fitted(columns[rest], y[rest])
            variance = np.mean((y[rest] - columns[rest] @ weights) ** 2)
            error = (y[out] - columns[out] @ weights) ** 2
            densities.append(-0.5 * (np.log(2 * np.pi * variance) + error / variance))
        gains[out] = densities[1] - densities[0]
    return gains


def _fitted(columns: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.linalg.lstsq(columns, y, rcond=None)[0]


def _standardised(column: np.ndarray) -> np.ndarray:
    spread = column.std()
    return (column - column.mean()) / (spread if spread > 0 else 1)


def _p(statistic: float, degrees: int) -> float:
    """P(χ² ≥ statistic), by the recursion over degrees of freedom, two at a time."""
    half = max(statistic, 0) / 2
    first = 2 - degrees % 2
    p = math.erfc(math.sqrt(half)) if first == 1 else math.exp(-half)
    for k in range(first, degrees, 2):
        p += half ** (k / 2) * math.exp(-half) / math.gamma(k / 2 + 1)
    return min(p, 1.0)


@dataclass(frozen=True)
class HeldAgainst:
    """Models held against one measure."""

    table: pd.DataFrame  # a row for each predictor, as `Explained.row`
    explained: list[Explained]
    data: pd.DataFrame  # the items with measure and predictors
    partial: dict[str, pd.DataFrame]  # surprisal and measure, less what the baseline explains
    label: str  # of the measure


def norms(
    source: str,
    models: Scorer | Mapping[str, Scorer],
    *,
    item: str | None = None,
    measure: str | None = None,
    text: str | None = None,
    drop_spelled: bool = False,
) -> HeldAgainst:
    """What frequency and the surprisal of each model explain of a measure of people.

    `source` is the name of a published set (`NORM_SETS`) or the path of a table. With `text`, a
    column that names the text of each word, words are read in their texts. `drop_spelled` leaves
    out items that the character model of any of these models spelled.
    """
    measured = read_measured(source, item, measure, text)
    below = baseline(measured)
    bits = {
        name or SURPRISAL: surprisal_of(scorer, measured, drop_spelled)
        for name, scorer in by_name(models).items()
    }
    if dropped := int(np.isnan(np.sum([*bits.values()], axis=0)).sum()):
        say(f"norms: {counted(dropped, 'item')} left out, spelled by the character model")
    data = pd.DataFrame({"item": measured.items, "measure": measured.measure, **below})
    for name, each in bits.items():
        data[_column(name)] = each
        if measured.texts is not None:
            data[f"previous_{_column(name)}"] = _before(each, measured.texts)
    groups = np.arange(len(data)) if measured.texts is None else measured.texts
    is_whole = data.notna().all(axis=1).to_numpy()
    data, groups = data[is_whole].reset_index(drop=True), groups[is_whole]
    groups = np.unique(groups, return_inverse=True)[1]
    y, columns = data["measure"].to_numpy(), {name: data[name].to_numpy() for name in data}
    of_frequency = [name for name in below if "frequency" in name]
    rest = [columns[name] for name in below if name not in of_frequency]
    found = []
    if columns["frequency"].std() > 0:
        own = [columns[name] for name in of_frequency]
        of_all = explained("frequency", y, rest, own, groups)
        found.append(replace(of_all, slope=math.nan, t=math.nan))
    else:
        say("norms: no item has a frequency, so that length alone is the baseline")
    partial = {}
    all_below = [columns[name] for name in below]
    for name in bits:
        own = [columns[_column(name)]]
        if measured.texts is not None:
            own.append(columns[f"previous_{_column(name)}"])
        found.append(explained(name, y, all_below, own, groups))
        partial[name] = _partial(y, all_below, own[0])
    table = pd.DataFrame([each.row for each in found])
    return HeldAgainst(table, found, data, partial, measured.label)


def _column(model: str) -> str:
    """The column of a model's surprisal."""
    return SURPRISAL if model == SURPRISAL else f"{SURPRISAL}_{model}"


def _partial(y: np.ndarray, below: Sequence[np.ndarray], bits: np.ndarray) -> pd.DataFrame:
    """Surprisal and measure, each less what the baseline explains of it."""
    columns = np.column_stack([np.ones(len(y)), *map(_standardised, below)])
    rest = {
        name: each - columns @ _fitted(columns, each) for name, each in (("bits", bits), ("y", y))
    }
    return pd.DataFrame(rest)
