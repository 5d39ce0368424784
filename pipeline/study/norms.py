"""Models held against people: does surprisal explain what people do, beyond length and frequency?

A table has a measure of people for each item: a reaction time, a reading time, a rating. An item is
a word or a pseudoword by itself, or a word of a text. Two linear regressions are fitted to the
measure y, by least squares:

    y = β·(1, length, length², frequency, frequency²) + ε                  (1)
    y = β·(1, length, length², frequency, frequency², surprisal) + ε       (2)

For words of a text both also have length and frequency of the previous word, and (2) its surprisal.
Both may have the crossed factors of a design. With RSS the sum of squared residuals,
ΔLogLik = n/2 · log(RSS₁ / RSS₂) says how much likelier (2) makes the n measures. A larger model
always gains something on its own data. So ten folds are held out one by one too: there ΔLogLik is
the gain on items that neither regression was fitted to.
"""

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from accord.errors import AccordError
from accord.models.common.checks import nearest
from accord.pipeline.ask.scorer import BITS, Reader, ReadWords, Scorer, by_name, tokens
from accord.pipeline.ask.split import OF_PARTS
from accord.pipeline.ask.surprisal import per_million
from accord.pipeline.base.messages import counted, say
from accord.pipeline.base.tables import read_table
from accord.pipeline.data.catalogue import folder_of
from accord.pipeline.model.comparison import paired_bootstrap

FOLDER = "openlexicon"
RARE = 0.01  # occurrences per million that are added: a word that Lexique lacks has log₁₀ −2
FOLDS = 10
RESAMPLES = 1000
SURPRISAL = "surprisal"
TIME = "reaction time, ms"
FEWEST = 50  # items, below which a regression with six coefficients says nothing


# Published sets of lexical decision times: the file, the columns of the items and of the measure.
# The header of Megalex is shifted by one: the column `rt.m` holds the words, `rt.sd` the times.
NORM_SETS = {
    "flp-words": ("flp-words.RData", "item", "rt"),
    "flp-pseudowords": ("flp-pseudowords.RData", "item", "rt"),
    "megalex-visual": ("Megalex-visual.RData", "rt.m", "rt.sd"),
    "megalex-auditory": ("Megalex-auditory.RData", "rt.m", "rt.sd"),
    "chronolex": ("Chronolex.RData", "item", "LDTrt"),  # short words
}


@dataclass(frozen=True)
class Measured:
    """Items and a measure of people. `texts` numbers the text of each word, if any."""

    items: list[str]
    measure: np.ndarray
    label: str  # of the measure, for a figure
    texts: np.ndarray | None = None
    factors: list[str] | None = None  # the cell of the design that each item is of


def read_measured(
    source: str,
    item: str | None = None,
    measure: str | None = None,
    text: str | None = None,
    by: Sequence[str] = (),
) -> Measured:
    """Read items and measures of a published set or of a table; rows that lack one are left out."""
    label = measure or TIME
    if source in NORM_SETS:
        file, *columns = NORM_SETS[source]
        table = _rdata(folder_of(FOLDER) / file)
        item, measure = item or columns[0], measure or columns[1]
    else:
        if not Path(source).exists() and not Path(source).suffix:
            raise AccordError(f"unknown norms '{source}'{nearest(source, NORM_SETS)}")
        item = item or "item"
        table = read_table(Path(source), item)
        if measure is None:
            raise AccordError("--measure: expected the column of what was measured")
    options = [("--item", item), ("--measure", measure), ("--text", text)]
    for option, column in options + [("--by", column) for column in by]:
        if column is not None and column not in table:
            raise AccordError(
                f"{option}: unknown column '{column}'{nearest(column, map(str, table))}"
            )
    needed = [item, *by, *([text] if text else [])]
    numbers = pd.to_numeric(table[measure], errors="coerce").to_numpy(float)
    is_given = table[needed].notna() & (table[needed].astype(str) != "")
    is_whole = np.isfinite(numbers) & is_given.all(axis=1).to_numpy()
    is_whole &= table[item].astype(str).str.contains(r"\w").to_numpy()
    if lacking := int((~is_whole).sum()):
        names = ", ".join(["an item", *needed[1:]])
        say(f"norms: {counted(lacking, 'row')} left out, without {names} or a number in {measure}")
    if is_whole.sum() < FEWEST:
        raise AccordError(f"expected at least {FEWEST} items with {measure}, got {is_whole.sum()}")
    # Words without a measure are read with their text all the same: others stand behind them.
    is_read = is_whole if text is None else is_given[text].to_numpy()
    table = table[is_read]
    return Measured(
        table[item].fillna("").astype(str).str.strip().tolist(),
        np.where(is_whole, numbers, np.nan)[is_read],
        label,
        None if text is None else pd.factorize(table[text])[0],
        table[[*by]].astype(str).agg(", ".join, axis=1).tolist() if by else None,
    )


def _rdata(path: Path) -> pd.DataFrame:
    """Read the one table of a file of R."""
    try:
        import rdata
    except ImportError:
        raise AccordError(
            "norms: `pip install 'accord-lm[norms]'` brings the reader of R's files"
        ) from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of classes that tables of the tidyverse have beside
        return next(iter(rdata.read_rda(path).values()))


def surprisal_of(
    scorer: Scorer, measured: Measured, drop_spelled: bool = False, split: bool = False
) -> np.ndarray:
    """Return the bits of each item, in its text or in a sentence of its own, then their parts.

    An item has the sum of its words: (N × 1), with `split` (N × 6). With `drop_spelled`, an item
    that the character model spelled has NaN.
    """
    reader = Reader(scorer, split=split)
    bits = np.zeros((len(measured.items), 1 + split * len(OF_PARTS)))

    def add(words: ReadWords, item: np.ndarray) -> None:
        nats = np.column_stack([words.nats, *(() if words.parts is None else words.parts.T)])
        nats[words.spelled & drop_spelled] = np.nan
        np.add.at(bits, item, BITS * nats[~words.is_end])

    if measured.texts is None:
        for words in reader.read(measured.items):
            add(words, words.sentence[~words.is_end])
    for text in () if measured.texts is None else range(measured.texts.max() + 1):
        rows = np.flatnonzero(measured.texts == text)
        words = [measured.items[row] for row in rows]
        starts = np.cumsum([0, *(len(word) + 1 for word in words[:-1])])
        read = reader.read_text(" ".join(words))
        add(read, rows[np.searchsorted(starts, read.start[~read.is_end], side="right") - 1])
    return bits


def baseline(measured: Measured) -> dict[str, np.ndarray]:
    """Return the columns of regression (1) but the constant, by name."""
    length = np.array([sum(map(str.isalnum, item)) for item in measured.items], float)
    # `l'homme` has the frequency of its longest word.
    heads = [max(words, key=len, default="") for words in tokens(measured.items)]
    frequency = np.log10(per_million(heads) + RARE)
    columns = {"length": length, "frequency": frequency}
    if measured.texts is not None:
        columns |= {f"previous_{n}": _previous(v, measured.texts) for n, v in columns.items()}
    columns |= {f"{name}_squared": columns[name] ** 2 for name in ("length", "frequency")}
    if measured.factors is not None:
        cells = pd.get_dummies(pd.Series(measured.factors), drop_first=True, dtype=float)
        columns |= {f"by_{cell}": cells[cell].to_numpy() for cell in cells}
    return columns


def _previous(values: np.ndarray | pd.Series, texts: np.ndarray) -> np.ndarray:
    """Return the value of the previous word of the same text, NaN for the first."""
    return pd.Series(values).groupby(texts).shift().to_numpy()


@dataclass(frozen=True)
class Explained:
    """The gain of one predictor beyond others."""

    name: str
    items: int
    gain: float  # ΔLogLik on the items themselves
    p: float  # of a gain as large by chance: the likelihood-ratio test
    slope: float  # of the measure, per bit; NaN of a predictor with its square
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
    """Return what `added` columns explain of y beyond those `below`; the first has the slope.

    `groups` are held out whole: the items, or the texts whose words they are.
    """
    first = _with_constant(below)
    second, column = np.column_stack([first, *added]), first.shape[1]
    residuals = (_residual(columns, y) for columns in (first, second))
    squares = [float(residual @ residual) for residual in residuals]
    gain = len(y) / 2 * math.log(squares[0] / squares[1])
    slope = float(_fitted(second, y)[column])
    alone = _residual(np.delete(second, column, axis=1), second[:, column])
    spread = math.sqrt(squares[1] / (len(y) - np.linalg.matrix_rank(second)) / (alone @ alone))
    gains = _held_out_gains(first, second, y, groups)
    held_out = paired_bootstrap(np.bincount(groups, gains), np.bincount(groups), RESAMPLES)
    return Explained(
        *(name, len(y), gain, _p(2 * gain, len(added)), slope, slope / spread),
        *(1000 * value for value in (held_out.nats, held_out.low, held_out.high)),
    )


def _held_out_gains(
    first: np.ndarray, second: np.ndarray, y: np.ndarray, groups: np.ndarray
) -> np.ndarray:
    """Return how much more log-density the second regression gives to each held-out item."""
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


def _residual(columns: np.ndarray, y: np.ndarray) -> np.ndarray:
    return y - columns @ _fitted(columns, y)


def _with_constant(columns: Sequence[np.ndarray]) -> np.ndarray:
    """Return 1 and the standardised columns."""
    standard = ((column - column.mean()) / (column.std() or 1) for column in columns)
    return np.column_stack([np.ones(len(columns[0])), *standard])


def _p(statistic: float, degrees: int) -> float:
    """Return P(χ² ≥ statistic), by the recursion over degrees of freedom, two at a time."""
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
    partial: dict[str, pd.DataFrame]  # surprisal and measure, less the baseline
    label: str  # of the measure


def norms(
    source: str,
    models: Scorer | Mapping[str, Scorer] | None = None,
    *,
    item: str | None = None,
    measure: str | None = None,
    text: str | None = None,
    by: Sequence[str] = (),
    drop_spelled: bool = False,
    split: bool = False,
) -> HeldAgainst:
    """Return what frequency and the surprisal of each model explain of a measure of people.

    `source` is the name of a published set (`NORM_SETS`) or the path of a table. With `text`, a
    column that names the text of each word, words are read in their texts. The columns `by` are
    factors of both regressions, crossed: two columns of two values make a 2 × 2 design.
    `drop_spelled` leaves out items that the character model of any of these models spelled. With
    `split` the parts of surprisal are predictors too, all of them together, and each beyond the
    others.
    """
    measured = read_measured(source, item, measure, text, by)
    below = baseline(measured)
    data = pd.DataFrame({"item": measured.items, "measure": measured.measure, **below})
    predictors = {}  # the columns of each model
    all_parts: dict[str, list[str]] = {}
    for name, scorer in by_name(models).items():
        ending = f"_{name}" if name and name != SURPRISAL else ""
        names = [column + ending for column in (SURPRISAL, *(OF_PARTS if split else ()))]
        bits = surprisal_of(scorer, measured, drop_spelled, split)
        data[names] = bits
        column, *all_parts[name or SURPRISAL] = names
        predictors[name or SURPRISAL] = [column]
        if measured.texts is not None:
            data[f"previous_{column}"] = _previous(data[column], measured.texts)
            predictors[name or SURPRISAL].append(f"previous_{column}")
    surprisals = [column for column, *_ in predictors.values()]
    data, groups = _whole_rows(data, measured.texts, surprisals)
    y = data["measure"].to_numpy()

    def columns(names: Iterable[str]) -> list[np.ndarray]:
        return [data[name].to_numpy() for name in names]

    gains = []
    if data["frequency"].std() > 0:
        of_frequency = [name for name in below if "frequency" in name]
        rest = [name for name in below if name not in of_frequency]
        of_all = explained("frequency", y, columns(rest), columns(of_frequency), groups)
        gains.append(replace(of_all, slope=math.nan, t=math.nan))
    else:
        say("norms: no item has a frequency, so that length alone is the baseline")
    partial, standard = {}, _with_constant(columns(below))
    for name, added in predictors.items():
        gains.append(explained(name, y, columns(below), columns(added), groups))
        residuals = {"bits": data[added[0]].to_numpy(), "y": y}
        partial[name] = pd.DataFrame({n: _residual(standard, v) for n, v in residuals.items()})
        rest = [*below, *added[1:]]
        if parts := all_parts[name]:
            of_all = explained(f"{name}: parts", y, columns(rest), columns(parts), groups)
            gains.append(replace(of_all, slope=math.nan, t=math.nan))
        for part in parts:
            others = [*rest, *(other for other in parts if other != part)]
            gains.append(explained(part, y, columns(others), columns([part]), groups))
    table = pd.DataFrame([gain.row for gain in gains])
    return HeldAgainst(table, gains, data, partial, measured.label)


def _whole_rows(
    data: pd.DataFrame, texts: np.ndarray | None, surprisals: Sequence[str]
) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the rows that the regressions can use, and the number of each row's text."""
    groups = np.arange(len(data)) if texts is None else texts
    is_whole = data.notna().all(axis=1).to_numpy()
    is_first = np.zeros(len(data), bool) if texts is None else ~pd.Series(texts).duplicated()
    is_spelled = data[surprisals].isna().any(axis=1)
    left_out = {
        "the first words of their texts": is_first,
        "spelled by the character model": is_spelled & ~is_first,
        "behind a word that it spelled": ~(is_whole | is_first | is_spelled),
    }
    for reason, rows in left_out.items():
        if count := int((rows & data["measure"].notna()).sum()):
            say(f"norms: {counted(count, 'item')} left out, {reason}")
    if is_whole.sum() < FEWEST:
        raise AccordError(f"expected at least {FEWEST} items, got {is_whole.sum()}")
    numbers = np.unique(groups[is_whole], return_inverse=True)[1]
    return data[is_whole].reset_index(drop=True), numbers
