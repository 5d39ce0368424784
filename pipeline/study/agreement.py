"""Suites, model by model, and pair by pair."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from accord.errors import AccordError
from accord.models.common.arrays import load_array
from accord.models.common.checks import nearest
from accord.pipeline.ask.scorer import Scorer, load
from accord.pipeline.base.messages import say, short_names
from accord.pipeline.data.encoded import Suite, read_encoded_suite
from accord.pipeline.evaluation.agreement import (
    SCORINGS,
    Z,
    credit,
    is_tie,
    margins,
    regions,
    wilson,
)
from accord.pipeline.evaluation.critical_words import CriticalWords
from accord.pipeline.evaluation.suites import (
    Pair,
    WrittenSuite,
    encode_suite,
    is_made_of,
    lowercased,
    pair_table,
    read_suite,
    suite_name,
    words_of,
)
from accord.pipeline.model import find as resolve
from accord.pipeline.study.scored_models import Scored, find_all, named

# The first distance or number of attractors of each row.
STEPS = {"distance": (0, 1, 2, 4, 8), "attractors": (0, 1, 2)}
FEWEST_PEOPLE = 10  # pairs, below which a correlation says nothing
LENGTH = "length"  # a group that no suite has to name


class JudgedSuite(NamedTuple):
    """A suite in a model's vocabulary, and by how many nats it prefers the right of each pair."""

    suite: Suite
    margins: np.ndarray  # pairs × scores
    scores: tuple[str, ...] = SCORINGS
    same: int = 0  # pairs that differ in case alone, which this model does not read


def judged(
    runs: Sequence[Path], suite: WrittenSuite, words: CriticalWords | None = None
) -> dict[str, JudgedSuite]:
    """Judge every trained model of some runs on a suite; stored results are read.

    An exported model may stand for a run. With `words`, these have a score of their own, the last
    one.
    """
    alone = {run: _is_alone(run) for run in runs}
    exported = _named(run for run in runs if alone[run])
    models = named(find_all(str(run) for run in runs if not alone[run]))
    if both := sorted(exported.keys() & models.keys()):
        raise AccordError(
            f"expected models with a name of their own each, got two that are called {both[0]}: "
            f"{exported[both[0]]} and one of {models[both[0]].place}"
        )
    return {name: _asked(load(run), name, suite, words) for name, run in exported.items()} | {
        name: (None if words else _stored(model, suite))
        or _asked(load(model.place, model.name), name, suite, words)
        for name, model in models.items()
    }


def _is_alone(run: Path) -> bool:
    """Whether this is a single model and not a run."""
    return any(model.kind not in ("run", "packed") for model in resolve.find(run))


def _named(exported: Iterable[Path]) -> dict[str, Path]:
    """Exported models, each once, by the shortest ends of their paths that differ."""
    different = {run.absolute().parts: run for run in exported}
    return dict(zip(short_names([*different]), different.values(), strict=True))


def _stored(model: Scored, written: WrittenSuite) -> JudgedSuite | None:
    """The result of the stage `evaluate`, if its suite has these pairs."""
    name = suite_name(written.source)
    path = model.scores / f"{name}.margins.npy"
    if not path.exists():
        return None
    suite, _ = read_encoded_suite(model.folders["encode"], name)
    margins = load_array(path)
    if margins.shape[1] != len(SCORINGS) or not is_made_of(suite, written.pairs):
        return None
    return JudgedSuite(suite, margins)


def _asked(
    scorer: Scorer, name: str, suite: WrittenSuite, words: CriticalWords | None = None
) -> JudgedSuite:
    pairs: Sequence[Pair] = suite.pairs
    if scorer.lowercase:
        pairs = [*map(lowercased, pairs)]
    same = [line.where for line, pair in zip(suite.lines, pairs, strict=True) if _is_same(pair)]
    if same:
        say(f"pairs left out, as {name or 'the model'} reads no case: {len(same):,}; {same[0]}")
    encoded = encode_suite(pairs, scorer.vocabulary)
    text = scorer.written(encoded.forms.tolist(), encoded.form)
    spans = (words.good, words.bad) if words else None
    found = margins(scorer.model, scorer.spelling, encoded, text, spans)
    scores = (*SCORINGS, words.score) if words else SCORINGS
    return JudgedSuite(encoded, found, scores, len(same))


def _is_same(pair: Pair) -> bool:
    return pair.good == pair.bad


def agree(model: Scorer, suite: str, by: str = "construction") -> pd.DataFrame:
    """How often one model finds the right sentence of a pair likelier as a whole, by group."""
    written = read_suite(suite)
    asked = {"": _asked(model, "", written)}
    return accuracy(asked, groups(written, by), scoring=0).drop(columns="model")


def groups(suite: WrittenSuite, by: str, pooled: bool = False) -> pd.Series:
    """The row of the table that each pair of a suite belongs to.

    This is its construction and its value in a column of `pairs.csv` or of the suite's own table;
    `pooled`, the value alone.

    By `length`, which sentence of the pair is the shorter, unless the suite has such a column.
    """
    table = pair_table(suite)
    names = table["construction"].astype(str)
    if by == "construction":
        return names
    if by == LENGTH and LENGTH not in table:
        table[LENGTH] = [_lengths(pair) for pair in suite.pairs]
    if by not in table:
        raise AccordError(
            f"--by: {suite.source} does not say {by!r} of its pairs{nearest(by, table.columns)}"
        )
    values = table[by].map(str) if by not in STEPS else _in_steps(by, table[by])
    shown = f"{by} " + values
    return shown if pooled else names + ", " + shown


def _lengths(pair: Pair) -> str:
    good, bad = len(words_of(pair.good)), len(words_of(pair.bad))
    return "equal" if good == bad else "right one shorter" if good < bad else "right one longer"


def _in_steps(by: str, numbers: pd.Series) -> pd.Series:
    steps = np.array(STEPS[by])
    counts = pd.to_numeric(numbers, errors="coerce")
    if not (counts >= 0).all():
        wrong = numbers[~(counts >= 0)].iloc[0]
        raise AccordError(f"--by {by}: expected numbers from 0 on, got {wrong!r}")
    first = np.searchsorted(steps, counts, side="right") - 1
    shown = [str(a) if a + 1 == b else f"{a}–{b - 1}" for a, b in pairwise(steps)]
    shown.append(f"{steps[-1]}+")
    return pd.Series([shown[place] for place in first], index=numbers.index)


def accuracy(asked: dict[str, JudgedSuite], rows: pd.Series, scoring: int) -> pd.DataFrame:
    """How many pairs of each group each model judged, its ties, the share judged rightly.

    A tie counts one half, in the share and in its interval.
    """
    found = []
    for model, each in asked.items():
        margin = each.margins[:, scoring]
        judged = pd.DataFrame({"right": credit(margin), "tie": is_tie(margin)})[~np.isnan(margin)]
        for group, own in judged.groupby(rows[~np.isnan(margin)]):
            right, pairs = own["right"].sum(), len(own)
            interval = wilson(right, pairs)
            found.append((group, model, pairs, own["tie"].sum(), right / pairs, *interval))
    return pd.DataFrame(found, columns=["group", "model", "pairs", "ties", "share", "low", "high"])


def with_people(asked: dict[str, JudgedSuite], suite: WrittenSuite, column: str) -> pd.DataFrame:
    """How each model's margins go with what people said of each pair: a row a model and score.

    `column` of the suite's table has the share of people who chose the right sentence, or a
    rating. r is Pearson's correlation with its interval of 95 % (Fisher 1921), ρ is Spearman's.
    """
    table = pair_table(suite)
    if column not in table:
        raise AccordError(
            f"--people: {suite.source} does not say {column!r} of its pairs"
            f"{nearest(column, table.columns)}"
        )
    people = pd.to_numeric(table[column], errors="coerce").to_numpy(float)
    found = []
    for model, each in asked.items():
        for score, margin in zip(each.scores, each.margins.T, strict=True):
            both = np.isfinite(margin) & np.isfinite(people)
            if both.sum() < FEWEST_PEOPLE:
                raise AccordError(
                    f"--people: expected numbers in {column!r} for at least {FEWEST_PEOPLE} pairs, "
                    f"got {both.sum()}"
                )
            pair = pd.DataFrame({"margin": margin[both], "people": people[both]})
            r, rank = (_correlation(each) for each in (pair, pair.rank()))
            z, reach = np.arctanh(min(r, 1 - 1e-12)), Z / np.sqrt(len(pair) - 3)
            low, high = np.tanh([z - reach, z + reach])
            shown = {"r": f"{r:.3f}", "95 %": f"{low:.3f} to {high:.3f}", "ρ": f"{rank:.3f}"}
            found.append({"model": model, "score": score, "pairs": f"{len(pair):,}", **shown})
    return pd.DataFrame(found)


def _correlation(pair: pd.DataFrame) -> float:
    return float(np.corrcoef(pair["margin"], pair["people"])[0, 1])


def side_by_side(asked: dict[str, JudgedSuite], rows: pd.Series, scoring: int) -> pd.DataFrame:
    """A row for each group of pairs, their mean, the ties and the pairs that could not be judged.

    There is a column for each model.
    """
    table = pd.DataFrame({"pairs": rows.value_counts().sort_index()})
    judged = accuracy(asked, rows, scoring)
    for model in asked:
        found = judged[judged["model"] == model]
        shown = [f"{row.share:.3f} [{row.low:.3f}, {row.high:.3f}]" for row in found.itertuples()]
        table[model] = pd.Series(shown, index=found["group"], dtype=object)
        table.loc["mean of the rows", model] = f"{found['share'].mean():.3f}" if shown else "–"
        table.loc["ties", model] = f"{found['ties'].sum():,}" if shown else "–"
        for reason, count in _not_judged(asked[model], scoring).items():
            table.loc[reason, model] = f"{count:,}"
    table["pairs"] = [f"{n:,.0f}" if n == n else "" for n in table["pairs"]]
    return table.fillna("–").reset_index(names=_scores(asked)[scoring])


def _not_judged(asked: JudgedSuite, scoring: int) -> dict[str, int]:
    """How many pairs a model could not judge, by the reason."""
    unknown = ~asked.suite.known
    found = {"pairs with unknown words": int(unknown.sum()) - asked.same}
    if asked.same:
        found["pairs that differ in case alone"] = asked.same
    without = int((np.isnan(asked.margins[:, scoring]) & ~unknown).sum())
    if without:
        found["pairs without such a word"] = without
    return found


def _scores(asked: dict[str, JudgedSuite]) -> tuple[str, ...]:
    """The names of the columns of the margins, which are those of every model."""
    return next(iter(asked.values())).scores


def summary(asked: dict[str, JudgedSuite], rows: pd.Series) -> pd.DataFrame:
    """By every scoring, each model's share over all pairs and as mean over groups, ties, margin."""
    found = []
    for scoring, name in enumerate(_scores(asked)):
        shares = accuracy(asked, rows, scoring)
        for model, each in asked.items():
            margin = each.margins[:, scoring]
            own, judged = shares[shares["model"] == model], margin[~np.isnan(margin)]
            mean = (own["share"] * own["pairs"]).sum() / max(own["pairs"].sum(), 1)
            figures = mean, own["share"].mean(), np.median(judged) if len(judged) else np.nan
            shown = ("–" if x != x else f"{x:.3f}" for x in figures)
            found.append((name, model, *shown, f"{own['ties'].sum():,}"))
    columns = ["score", "model", "all pairs", "mean of the rows", "median margin, nats", "ties"]
    return pd.DataFrame(found, columns=columns)


def items(
    asked: dict[str, JudgedSuite], suite: WrittenSuite, words: CriticalWords | None = None
) -> pd.DataFrame:
    """A row for each model and pair: its sentences, what the suite says of it, margins in nats.

    Beside each margin stands whether it is right: 1, 0, or 0.5 for a tie. With `words`, the word
    that is compared is a column too.
    """
    table = pair_table(suite).assign(
        good=[line.good for line in suite.lines], bad=[line.bad for line in suite.lines]
    )
    if words:
        chosen = zip(suite.pairs, words.good.tolist(), strict=True)
        table["word compared"] = [
            " ".join(words_of(pair.good)[begin:end]) if begin >= 0 else ""
            for pair, (begin, end) in chosen
        ]
    parts = []
    for model, each in asked.items():
        own = pd.DataFrame(each.margins, columns=each.scores)
        right = pd.DataFrame(credit(each.margins), columns=[f"{name}, right" for name in own])
        parts.append(pd.concat([table, own, right], axis=1).assign(model=model))
    found = pd.concat(parts, ignore_index=True)
    found.insert(0, "model", found.pop("model"))
    return found


def telling(asked: dict[str, JudgedSuite]) -> list[int]:
    """The scorings that differ from those before them on pairs that some model judged."""
    shown = {0, 1, 4}
    for suite, *_ in asked.values():
        good, bad = suite.good[suite.known], suite.bad[suite.known]
        if (suite.lengths[good] != suite.lengths[bad]).any():
            shown.add(2)
        found, first = regions(suite), suite.critical
        if ((found.good_end - first > 1) | (found.bad_end - first > 1))[suite.known].any():
            shown.add(3)
    return sorted(shown)


def of_different_lengths(asked: dict[str, JudgedSuite]) -> int:
    """How many pairs have a sentence that is longer than the other."""
    return max(
        int((suite.lengths[suite.good] != suite.lengths[suite.bad])[suite.known].sum())
        for suite, *_ in asked.values()
    )
