"""Regions of stimuli: where they are, their surprisal, and whether it is as a person predicted.

A prediction is a formula over conditions and regions, as in SyntaxGym (Gauthier et al. 2020):

    bad.verb > good.verb
    bad_far.verb - good_far.verb > bad_near.verb - good_near.verb

`bad.verb` is the surprisal of the region `verb` in the row of an item that has the condition `bad`.
An item is a success if the formula holds for it. `&` joins formulas that must hold together.
"""

import ast
import json
import operator
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import nan
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from accord.errors import AccordError
from accord.models.common.checks import nearest
from accord.pipeline.ask.split import OF_PARTS
from accord.pipeline.ask.texts import CONTEXT
from accord.pipeline.base.messages import counted, say
from accord.pipeline.model.metrics import wilson

BAR = "|"  # between two regions of a sentence: 'Le chien | du voisin | aboie.'


def without_bars(sentence: str) -> str:
    """Return the sentence with spaces for bars, so that every word keeps its place."""
    return sentence.replace(BAR, " ")


class StimulusRegions:
    """The regions of each sentence: from where, and their names, numbers where none are given.

    `names` has those of each sentence, separated by bars or by spaces: one for each part between
    the sentence's bars or, if it has none, for each word between its spaces.
    """

    names: Sequence[Sequence[int | str]]
    of_context: int | str = 0  # the region of the context of a row

    def __init__(self, sentences: Sequence[str], names: Sequence[str] | None = None):
        self.starts = [
            list(_parts(sentence, by_space=names is not None and BAR not in sentence))
            for sentence in sentences
        ]
        if names is None:
            self.names = [range(1, len(starts) + 1) for starts in self.starts]
            return
        of_rows = [_split(text) for text in names]
        self.names, self.of_context = of_rows, CONTEXT
        for number, (starts, of_row) in enumerate(zip(self.starts, of_rows, strict=True), start=1):
            if len(starts) != len(of_row):
                raise AccordError(
                    f"row {number}: expected {len(starts)} names of regions, as the sentence has "
                    f"parts; got {len(of_row)}: {', '.join(of_row)}"
                )

    def region_at(self, sentence: int, place: int) -> int | str:
        """Return the region of a place in a sentence."""
        starts = self.starts[sentence]
        return self.names[sentence][max(sum(start <= place for start in starts) - 1, 0)]


def _parts(sentence: str, by_space: bool) -> Iterator[int]:
    """Yield where each part begins that holds more than spaces."""
    borders = [n for n, c in enumerate(sentence) if (c.isspace() if by_space else c == BAR)]
    for last, next_border in pairwise([-1, *borders, len(sentence)]):
        if sentence[last + 1 : next_border].strip():
            yield last + 1


def _split(names: str) -> list[str]:
    parts = names.split(BAR) if BAR in names else names.split()
    return [part.strip() for part in parts if part.strip()]


REGION_MEASURES = {
    "region": "the region",
    "words": "how many words it has",
    "spelled": "how many of them the character model spelled",
    "surprisal": "the sum of its words' surprisal, in bits",
    "mean_surprisal": "the mean of its words' surprisal",
    "first_surprisal": "the surprisal of its first word",
    "previous_surprisal": "surprisal of the word before the region, for spill-over",
    "previous_surprisal_2": "surprisal of the word before that one",
    "entropy": "entropy of the next word before the region is read",
}


def by_region(words: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each region of each row of the stimuli, from the table of their words."""
    if "region" not in words:
        raise AccordError(
            "expected regions: put bars between them, 'Le chien | du voisin | aboie.', or name a "
            "column of them"
        )
    of_stimuli = list(words.columns[: words.columns.get_loc("sentence_number")])
    keys = [name for name in ("model", "row") if name in words] + ["region"]
    grouped = words.groupby(keys, sort=False)
    bits = grouped["surprisal"]
    regions = grouped[[name for name in of_stimuli if name not in keys]].first()
    regions["words"], regions["spelled"] = bits.size(), grouped["spelled"].sum()
    regions["surprisal"] = bits.sum()
    regions["mean_surprisal"], regions["first_surprisal"] = bits.mean(), bits.first()
    firsts = words.loc[grouped.head(1).index].set_index(keys)  # `first` would pass missing ones
    kept = ["previous_surprisal", "previous_surprisal_2", "entropy"]
    for name in [*kept, *(name for name in words if name.startswith("p_"))]:
        if name in firsts:
            regions[name] = firsts[name]
    for name in filter(words.columns.__contains__, OF_PARTS):
        regions[name] = grouped[name].sum()
    regions = regions.reset_index()
    return regions[[*of_stimuli, *(name for name in regions if name not in of_stimuli)]]


@dataclass(frozen=True)
class Prediction:
    """A formula and the items for which it holds."""

    formula: str
    # item (and model), the surprisal of each place that it names, by how much the first side is
    # larger (NaN of several formulas), success
    items: pd.DataFrame

    @property
    def summary(self) -> pd.DataFrame:
        """Return the share of items for which it holds, with Wilson's interval of 95 %.

        `difference` and `SE` are the mean difference of the two sides in bits and its standard
        error; NaN of several formulas.
        """
        has_models, rows = "model" in self.items, []
        models = self.items.groupby("model", sort=False) if has_models else [("", self.items)]
        for name, items in models:
            holds = int(items["success"].sum())
            low, high = wilson(holds, len(items))
            row = {"model": name, "prediction": self.formula, "items": len(items), "holds": holds}
            row |= {"share": holds / len(items), "low": low, "high": high}
            rows.append(row | {"difference": items["difference"].mean()})
            rows[-1]["SE"] = items["difference"].sem()
        return pd.DataFrame(rows).drop(columns=[] if has_models else "model")


def records(predictions: Sequence[Prediction]) -> list[dict[str, Any]]:
    """Return the summaries of predictions for JSON, with None for NaN."""
    if not predictions:
        return []
    return json.loads(_summaries(predictions).to_json(orient="records", double_precision=6))


def _summaries(predictions: Sequence[Prediction]) -> pd.DataFrame:
    return pd.concat([prediction.summary for prediction in predictions], ignore_index=True)


def shown(predictions: Sequence[Prediction]) -> pd.DataFrame:
    """Return the summaries of predictions as a person reads them."""
    table = _summaries(predictions)
    numbers = table.drop(columns="prediction").to_dict("records")
    text = {
        "items": [str(row["items"]) for row in numbers],
        "holds": [f"{row['holds']}: {row['share']:.3f}" for row in numbers],
        "95 %": [f"{row['low']:.3f} to {row['high']:.3f}" for row in numbers],
        "difference": [f"{row['difference']:+.2f} bits" for row in numbers],
        "SE": [f"{row['SE']:.2f}" for row in numbers],
    }
    shown = table.assign(**text)
    shown.loc[table["difference"].isna(), "difference"] = ""
    shown.loc[table["SE"].isna(), "SE"] = ""
    names = ["model"] * ("model" in table) + ["prediction", *text]
    return shown[names]


def predicted(regions: pd.DataFrame, formula: str, condition: str, item: str) -> Prediction:
    """Return the items for which a formula holds; those without a condition or region are named."""
    for option, column in (("--by", condition), ("--item", item)):
        if column not in regions:
            there = nearest(column, map(str, regions))
            raise AccordError(f"{option}: expected the column of a prediction, '{column}'{there}")
    comparisons, used = _parsed(
        formula, sorted({*regions[condition].astype(str)}), sorted({*regions["region"].astype(str)})
    )
    keys = ["model", item] if "model" in regions else [item]
    place = regions[condition].astype(str) + "." + regions["region"].astype(str)
    table = regions.assign(place=place)
    if table.duplicated([*keys, "place"]).any():
        twice = table[table.duplicated([*keys, "place"])].iloc[0]
        raise AccordError(
            f"--expects: expected one row per item and condition; item {twice[item]} has several "
            f"with {condition} {twice[condition]}"
        )
    in_order = pd.MultiIndex.from_frame(table[keys].drop_duplicates())
    wide = table.set_index([*keys, "place"])["surprisal"].unstack().reindex(columns=used)
    wide = wide.reindex(in_order if len(keys) > 1 else in_order.get_level_values(0))
    lacking = wide.isna().any(axis=1)
    if lacking.all():
        raise AccordError(f"--expects: no item has all of {', '.join(used)}")
    if lacking.any():
        without = [name for name in used if wide[name].isna().any()]
        names = ", ".join(map(str, wide.index[lacking].get_level_values(-1).unique()))
        say(
            f"--expects: {counted(int(lacking.sum()), 'item')} left out, without "
            f"{' or '.join(without)}: {names:.200}"
        )
    wide = wide[~lacking]
    numbered = wide.set_axis([f"v{number}" for number in range(len(used))], axis=1)
    sides = [
        [
            numbered.eval(ast.unparse(side), engine="python")
            for side in (tree.left, *tree.comparators)
        ]
        for tree in comparisons
    ]
    holds = [
        COMPARED[type(tree.ops[0])](*pair) for tree, pair in zip(comparisons, sides, strict=True)
    ]
    difference = sides[0][0] - sides[0][1] if len(sides) == 1 else nan
    items = wide.assign(difference=difference, success=np.logical_and.reduce(holds))
    return Prediction(formula, items.reset_index())


PLACE = re.compile(r"([^\W\d]\w*)\.(\w+)")  # CONDITION.REGION, as it is mostly written
COMPARED = {ast.Gt: operator.gt, ast.Lt: operator.lt, ast.GtE: operator.ge, ast.LtE: operator.le}
ARITHMETIC = (ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Name, ast.Load, ast.Constant)


def _parsed(
    formula: str, conditions: list[str], regions: list[str]
) -> tuple[list[ast.Compare], list[str]]:
    """Return the comparisons of a formula, and the places CONDITION.REGION that they name.

    A place is named by its number in the comparisons: `v0 - v1 > 2`.
    """
    used: list[str] = []

    def named(place: re.Match) -> str:
        if place[0] not in used:
            used.append(place[0])
        return f" v{used.index(place[0])} "

    names = [f"{condition}.{region}" for condition in conditions for region in regions]
    longest = sorted(names, key=len, reverse=True)
    text = re.sub(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest))})(?!\w)", named, formula)
    try:
        trees = [ast.parse(part.strip(), mode="eval").body for part in re.split("&+", text)]
        is_formula = all(map(_is_comparison, trees))
    except SyntaxError:
        is_formula = False
    if not is_formula:
        if unknown := PLACE.search(re.sub(r"\bv\d+\b", " ", text)):
            _refuse_place(unknown, conditions, regions)
        raise AccordError(
            f"--expects: expected a formula such as 'bad.verb > good.verb', got {formula!r}; "
            f"conditions are {', '.join(conditions):.200}, regions are {', '.join(regions):.200}"
        )
    return trees, used


def _refuse_place(place: re.Match, conditions: list[str], regions: list[str]) -> NoReturn:
    """Raise an error that says which name of a place is unknown."""
    for kind, name, there, option in (
        ("condition", place[1], conditions, "--by names their column"),
        ("region", place[2], regions, "--regions names a column of their names"),
    ):
        if name not in there:
            raise AccordError(
                f"--expects: {place[0]} names the {kind} {name!r}{nearest(name, there)}; "
                f"{kind}s are {', '.join(there):.200} ({option})"
            )
    raise AccordError(f"--expects: expected an operator next to {place[0]}")


def _is_comparison(tree: ast.expr) -> bool:
    """Return whether a tree compares two sums of surprisals, and nothing else."""
    if not (isinstance(tree, ast.Compare) and len(tree.ops) == 1 and type(tree.ops[0]) in COMPARED):
        return False
    for node in (*ast.walk(tree.left), *ast.walk(tree.comparators[0])):
        is_number = type(getattr(node, "value", 0)) in (int, float)
        is_place = re.fullmatch(r"v\d+", getattr(node, "id", "v0"))
        if not (isinstance(node, ARITHMETIC) and is_number and is_place):
            return False
    return True
