"""Models on suites of minimal pairs: by group of pairs, pair by pair, and against people.

`--score` compares log p of one word. Where the subject varies and the verb does not,

    le chat que les voisins voient dort      les chats que les voisins voient dort

the words that differ are not the ones to compare, nor is the word behind them. The verb is further
on: its form is the same in both sentences, and it agrees with the subject of the right one only. A
model that knows this finds log p(dort | le chat …) larger than log p(dort | les chats …). The word
is named by a column of the suite's table, or it is the verb that a lexicon finds.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from accord.corpora.tokenise import tokenised
from accord.errors import AccordError
from accord.lexicon import Analysis, Lexicon
from accord.models.common.arrays import load_array
from accord.models.common.checks import nearest
from accord.pipeline.ask.scorer import Scorer, load
from accord.pipeline.base.messages import say, short_names
from accord.pipeline.data.encoded import Suite, read_encoded_suite
from accord.pipeline.model import find as resolve
from accord.pipeline.model import metrics, suites
from accord.pipeline.model.comparison import Scored, find_all, named
from accord.pipeline.model.suites import Pair, WrittenSuite, words_of

VERB, WORD = "verb", "word:"  # values of --score; a column follows WORD
# Each of these begins a clause whose verb agrees with another subject: it is passed over.
# `qui` does not: its verb agrees with the noun before it, which is often the subject itself.
OPENERS = {"que", "qu'", "dont", "où", "quand", "lorsque", "lorsqu'", "puisque", "puisqu'"}
# Adjectives that stand before their noun: after `la petite`, `ferme` is a noun.
BEFORE_NOUNS = {"petit", "grand", "gros", "bon", "mauvais", "beau", "joli", "jeune", "vieux"}
BEFORE_NOUNS |= {"nouveau", "ancien", "autre", "même", "premier", "dernier", "seul", "long"}

Span = tuple[int, int]
Spans = tuple[Span, Span]  # of a word in the right sentence and in the wrong one
Readings = tuple[Analysis, ...]


class CriticalWords(NamedTuple):
    """The spans of the word of each pair in both sentences (P × 2); −1 where it was not found."""

    score: str
    good: np.ndarray
    bad: np.ndarray


def find_words(suite: WrittenSuite, score: str, lexicon: Lexicon | None) -> CriticalWords:
    """Find the word of each pair for `verb` or `word:COLUMN`."""
    if score.startswith(WORD):
        spans = _named_words(suite, score.removeprefix(WORD))
    elif score == VERB and lexicon is not None:
        spans = [_verb(pair, lexicon) for pair in suite.pairs]
    else:
        raise AccordError(f"--score: expected {VERB} or {WORD}COLUMN, got {score!r}")
    if not any(spans):
        raise AccordError(
            f"--score {score}: expected a word that both sentences of a pair have, from where they "
            f"begin to differ; found none in {suite.source}"
        )
    array = np.array([of_pair or ((-1, -1), (-1, -1)) for of_pair in spans], np.int64)
    return CriticalWords(score, array[:, 0], array[:, 1])


def _named_words(suite: WrittenSuite, column: str) -> list[Spans | None]:
    """Find the words of a column, each at its first position from the difference on."""
    table = suites.pair_table(suite)
    if column not in table:
        raise AccordError(
            f"--score {WORD}{column}: {suite.source} has no such column; found "
            f"{', '.join(map(str, table.columns))}"
        )
    cells = tokenised(table[column].fillna("").map(str).tolist())
    spans: list[Spans | None] = []
    for pair, cell in zip(suite.pairs, cells, strict=True):
        word, first = [token.lower() for token in cell], pair.first_difference()
        good, bad = (_span(words_of(text.lower()), word, first) for text in (pair.good, pair.bad))
        spans.append((good, bad) if good and bad else None)
    return spans


def _span(words: list[str], word: list[str], first: int) -> Span | None:
    starts = range(first, len(words) - len(word) + 1) if word else ()
    spans = ((start, start + len(word)) for start in starts)
    return next((span for span in spans if words[slice(*span)] == word), None)


def _verb(pair: Pair, lexicon: Lexicon) -> Spans | None:
    """Find the first finite verb after the difference that agrees with the right subject."""
    good, bad = words_of(pair.good), words_of(pair.bad)
    first = pair.first_difference()
    shared = metrics.shared_end(np.array(good[first:], str), np.array(bad[first:], str))
    if not shared or first >= min(len(good), len(bad)):
        return None
    subjects = lexicon.analyses(good[first]), lexicon.analyses(bad[first])
    open_clauses = 0  # whose verb has not come yet
    noun_due = False  # after a determiner or a preposition
    for position, word in enumerate(good[-shared:]):
        readings = lexicon.analyses(word)
        kinds = {reading.upos for reading in readings}
        finite = [reading for reading in readings if reading.features.get("VerbForm") == "Fin"]
        if finite and not word[:1].isupper() and (not noun_due or kinds <= {"VERB", "AUX"}):
            if open_clauses:
                open_clauses -= 1
            elif _agrees(finite, *subjects):
                one, other = (len(words) - shared + position for words in (good, bad))
                return (one, one + 1), (other, other + 1)
        open_clauses += word.lower() in OPENERS
        before_noun = noun_due and any(reading.lemma in BEFORE_NOUNS for reading in readings)
        noun_due = bool(kinds & {"DET", "ADP", "NUM"}) or before_noun
    return None


def _agrees(verb: Sequence[Analysis], good: Readings, bad: Readings) -> bool:
    """Return whether a reading has the number and person that only the right subject has."""

    def values(readings: Readings, name: str) -> set[str]:
        return {reading.features[name] for reading in readings if name in reading.features}

    only_right = {name: values(good, name) - values(bad, name) for name in ("Number", "Person")}
    return any(
        all(reading.features.get(n) in (None, *right) for n, right in only_right.items() if right)
        for reading in verb
    )


class JudgedSuite(NamedTuple):
    """A suite in a model's vocabulary, and by how many nats it prefers the right of each pair."""

    suite: Suite
    margins: np.ndarray  # pairs × scores
    scores: tuple[str, ...] = metrics.SCORINGS
    same: int = 0  # pairs that differ in case alone, which this model does not read


Judged = dict[str, JudgedSuite]  # by model


def judged(runs: Sequence[Path], suite: WrittenSuite, words: CriticalWords | None = None) -> Judged:
    """Judge every trained model of some runs on a suite; stored results are read.

    An exported model may stand for a run. `words` have a score of their own, the last one.
    """
    exported = [run for run in runs if any(model.kind != "run" for model in resolve.find(run))]
    names = short_names([run.absolute().parts for run in exported])
    folders = dict(zip(names, exported, strict=True))
    models = named(find_all(str(run) for run in runs if run not in exported))
    if both := sorted(folders.keys() & models.keys()):
        raise AccordError(
            f"expected models with a name of their own each, got two that are called {both[0]}: "
            f"{folders[both[0]]} and one of {models[both[0]].place}"
        )
    results = {name: judge(load(run), name, suite, words) for name, run in folders.items()}
    for name, model in models.items():
        scorer = load(model.place, model.name)
        stored = None if words else _stored(model, _pairs_as_read(scorer, suite), suite)
        results[name] = stored or judge(scorer, name, suite, words)
    return results


def _pairs_as_read(scorer: Scorer, suite: WrittenSuite) -> list[Pair]:
    return [suites.lowercased(pair) if scorer.lowercase else pair for pair in suite.pairs]


def _stored(model: Scored, pairs: Sequence[Pair], written: WrittenSuite) -> JudgedSuite | None:
    """Read the result of the stage `evaluate`, if its suite has these pairs."""
    name = suites.suite_name(written.source)
    path = model.scores / f"{name}.margins.npy"
    if not path.exists():
        return None
    suite, _ = read_encoded_suite(model.folders["encode"], name)
    return JudgedSuite(suite, load_array(path)) if suites.is_made_of(suite, pairs) else None


def judge(
    scorer: Scorer, name: str, suite: WrittenSuite, words: CriticalWords | None = None
) -> JudgedSuite:
    """Score the pairs of a suite by one model."""
    pairs = _pairs_as_read(scorer, suite)
    lines = zip(suite.lines, pairs, strict=True)
    if same := [line.where for line, pair in lines if pair.good == pair.bad]:
        say(f"pairs left out, as {name or 'the model'} reads no case: {len(same):,}; {same[0]}")
    encoded = suites.encode_suite(pairs, scorer.vocabulary)
    text = scorer.written(encoded.forms.tolist(), encoded.form)
    spans = (words.good, words.bad) if words else None
    scores = (*metrics.SCORINGS, words.score) if words else metrics.SCORINGS
    nats = metrics.margins(scorer.model, scorer.spelling, encoded, text, spans)
    return JudgedSuite(encoded, nats, scores, len(same))


def agree(model: Scorer, suite: str, by: str = "construction") -> pd.DataFrame:
    """Return how often one model finds the right sentence likelier as a whole, by group."""
    written = suites.read_suite(suite)
    results = {"": judge(model, "", written)}
    return accuracy(results, groups(written, by), scoring=0).drop(columns="model")


# The first distance or number of attractors of each row.
STEPS = {
    "distance": {"0": 0, "1": 1, "2–3": 2, "4–7": 4, "8+": 8},
    "attractors": {"0": 0, "1": 1, "2+": 2},
}
FEWEST_PEOPLE = 10  # pairs, below which a correlation says nothing
LENGTH = "length"  # a group that no suite has to name


def groups(suite: WrittenSuite, by: str, pooled: bool = False) -> pd.Series:
    """Return the row of the table that each pair of a suite belongs to.

    A row is a construction and a value of each column that `by` names, separated by commas:
    columns of `pairs.csv` or of the suite's own table; `pooled`, the values alone. By `length` is
    by which sentence of the pair is shorter, unless the suite has such a column.
    """
    table = suites.pair_table(suite)
    names = table["construction"].astype(str)
    columns = [column.strip() for column in by.split(",")]
    if columns == ["construction"]:
        return names
    if LENGTH in columns and LENGTH not in table:
        table[LENGTH] = [_lengths(pair) for pair in suite.pairs]
    shown = [] if pooled else [names]
    for column in columns:
        values = _column(table, suite, column, "--by")
        values = _in_steps(column, values) if column in STEPS else values.map(str)
        shown.append(f"{column} " + values)
    return shown[0].str.cat(shown[1:], sep=", ")


def _column(table: pd.DataFrame, suite: WrittenSuite, column: str, option: str) -> pd.Series:
    """Return a column of a suite's table; reject a name that it lacks."""
    if column not in table:
        raise AccordError(
            f"{option}: {suite.source} does not say {column!r} of its pairs"
            f"{nearest(column, table.columns)}"
        )
    return table[column]


def _lengths(pair: Pair) -> str:
    good, bad = len(words_of(pair.good)), len(words_of(pair.bad))
    return "equal" if good == bad else "right one shorter" if good < bad else "right one longer"


def _in_steps(by: str, numbers: pd.Series) -> pd.Series:
    counts = pd.to_numeric(numbers, errors="coerce")
    if not (counts >= 0).all():
        wrong = numbers[~(counts >= 0)].iloc[0]
        raise AccordError(f"--by {by}: expected numbers from 0 on, got {wrong!r}")
    bounds, labels = [*STEPS[by].values(), np.inf], [*STEPS[by]]
    return pd.cut(counts, bounds, right=False, labels=labels).astype(str)


def accuracy(results: Judged, rows: pd.Series, scoring: int) -> pd.DataFrame:
    """Return each model's judged pairs, ties and share judged rightly, for each group of pairs.

    A tie counts one half, in the share and in its interval.
    """
    shares = []
    for model, result in results.items():
        nats = pd.Series(result.margins[:, scoring], rows.index).dropna()
        for group, of_group in nats.groupby(rows):
            right, count = metrics.credit(of_group).sum(), len(of_group)
            ties, interval = metrics.is_tie(of_group).sum(), metrics.wilson(right, count)
            shares.append((group, model, count, ties, right / count, *interval))
    return pd.DataFrame(shares, columns=["group", "model", "pairs", "ties", "share", "low", "high"])


def with_people(results: Judged, suite: WrittenSuite, column: str) -> pd.DataFrame:
    """Correlate each model's margins with people's judgements: a row for each model and score.

    `column` of the suite's table has the share of people who chose the right sentence, or a
    rating. r is Pearson's correlation with its interval of 95 % (Fisher 1921), ρ is Spearman's.
    """
    judgements = _column(suites.pair_table(suite), suite, column, "--people")
    people = pd.to_numeric(judgements, errors="coerce").to_numpy(float)
    rows = []
    for model, result in results.items():
        for score, nats in zip(result.scores, result.margins.T, strict=True):
            pairs = pd.DataFrame({"margin": nats, "people": people})
            pairs = pairs[np.isfinite(pairs).all(axis=1)]
            if len(pairs) < FEWEST_PEOPLE:
                raise AccordError(
                    f"--people: expected numbers in {column!r} for at least {FEWEST_PEOPLE} pairs, "
                    f"got {len(pairs)}"
                )
            r, rank = (np.corrcoef(values.T)[0, 1] for values in (pairs, pairs.rank()))
            z, reach = np.arctanh(min(r, 1 - 1e-12)), metrics.Z / np.sqrt(len(pairs) - 3)
            low, high = np.tanh([z - reach, z + reach])
            shown = {"r": f"{r:.3f}", "95 %": f"{low:.3f} to {high:.3f}", "ρ": f"{rank:.3f}"}
            rows.append({"model": model, "score": score, "pairs": f"{len(pairs):,}", **shown})
    return pd.DataFrame(rows)


def side_by_side(results: Judged, rows: pd.Series, scoring: int) -> pd.DataFrame:
    """Return a column for each model: its share in each group, their mean, its ties and gaps."""
    table = pd.DataFrame({"pairs": rows.value_counts().sort_index()})
    shares = accuracy(results, rows, scoring)
    for model, result in results.items():
        rates = shares[shares["model"] == model]
        shown = [f"{row.share:.3f} [{row.low:.3f}, {row.high:.3f}]" for row in rates.itertuples()]
        table[model] = pd.Series(shown, index=rates["group"], dtype=object)
        table.loc["mean of the rows", model] = f"{rates['share'].mean():.3f}" if shown else "–"
        table.loc["ties", model] = f"{rates['ties'].sum():,}" if shown else "–"
        for reason, count in _not_judged(result, scoring).items():
            table.loc[reason, model] = f"{count:,}"
    table["pairs"] = [f"{n:,.0f}" if n == n else "" for n in table["pairs"]]
    return table.fillna("–").reset_index(names=_scores(results)[scoring])


def _not_judged(result: JudgedSuite, scoring: int) -> dict[str, int]:
    """Count the pairs that a model could not judge, by the reason."""
    unknown = ~result.suite.known
    counts = {"pairs with unknown words": int(unknown.sum()) - result.same}
    if result.same:
        counts["pairs that differ in case alone"] = result.same
    if without := int((np.isnan(result.margins[:, scoring]) & ~unknown).sum()):
        counts["pairs without such a word"] = without
    return counts


def _scores(results: Judged) -> tuple[str, ...]:
    """Return the columns of the margins, which all models share."""
    return next(iter(results.values())).scores


def summary(results: Judged, rows: pd.Series) -> pd.DataFrame:
    """Return each model's share by every scoring, over all pairs and over groups."""
    figures = []
    for scoring, name in enumerate(_scores(results)):
        shares = accuracy(results, rows, scoring)
        for model, result in results.items():
            nats = result.margins[:, scoring]
            rates, nats = shares[shares["model"] == model], nats[~np.isnan(nats)]
            mean = (rates["share"] * rates["pairs"]).sum() / max(rates["pairs"].sum(), 1)
            means = mean, rates["share"].mean(), np.median(nats) if len(nats) else np.nan
            shown = ("–" if x != x else f"{x:.3f}" for x in means)
            figures.append((name, model, *shown, f"{rates['ties'].sum():,}"))
    columns = ["score", "model", "all pairs", "mean of the rows", "median margin, nats", "ties"]
    return pd.DataFrame(figures, columns=columns)


def items(results: Judged, suite: WrittenSuite, words: CriticalWords | None = None) -> pd.DataFrame:
    """Return a row for each model and pair: its sentences, its columns, margins in nats.

    Each margin has a column that says whether it is right: 1, 0, or 0.5 for a tie. With `words`,
    the compared word is a column too.
    """
    table = suites.pair_table(suite).assign(
        good=[line.good for line in suite.lines], bad=[line.bad for line in suite.lines]
    )
    if words:
        table["word compared"] = [
            " ".join(words_of(pair.good)[begin:end]) if begin >= 0 else ""
            for pair, (begin, end) in zip(suite.pairs, words.good.tolist(), strict=True)
        ]
    parts = {}
    for model, result in results.items():
        nats = pd.DataFrame(result.margins, columns=result.scores)
        nats[[f"{name}, right" for name in nats]] = metrics.credit(result.margins)
        parts[model] = pd.concat([table, nats], axis=1)
    return pd.concat(parts, names=["model"]).reset_index("model").reset_index(drop=True)


def distinct_scorings(results: Judged) -> list[int]:
    """Return the scorings that differ from those before them on pairs that some model judged."""
    shown = {0, 1, 4}
    for suite, *_ in results.values():
        if _differ_in_length(suite).any():
            shown.add(2)
        regions, first = metrics.critical_regions(suite), suite.critical
        if ((regions.good_end - first > 1) | (regions.bad_end - first > 1))[suite.known].any():
            shown.add(3)
    return sorted(shown)


def of_different_lengths(results: Judged) -> int:
    """Count the pairs whose sentences differ in length."""
    return max(int(_differ_in_length(suite).sum()) for suite, *_ in results.values())


def _differ_in_length(suite: Suite) -> np.ndarray:
    return (suite.lengths[suite.good] != suite.lengths[suite.bad])[suite.known]
