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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isnan, nan
from typing import Any, NoReturn

import pandas as pd

from accord.errors import AccordError
from accord.models.common.checks import nearest
from accord.pipeline.ask.texts import CONTEXT
from accord.pipeline.base.messages import counted, say
from accord.pipeline.evaluation.metrics import wilson

BAR = "|"  # between two regions of a sentence: 'Le chien | du voisin | aboie.'


def without_bars(sentence: str) -> str:
    """What is read: as long as the sentence, so that every word stands where it stood."""
    return sentence.replace(BAR, " ")


class StimulusRegions:
    """The regions of each sentence: from where, and their names, numbers where none are given.

    `names` has those of each sentence, separated by bars or by spaces: one for each part between
    the sentence's bars or, if it has none, for each word between its spaces.
    """

    names: Sequence[Sequence[int | str]]
    of_context: int | str = 0  # the region of what is read before a row

    def __init__(self, sentences: Sequence[str], names: Sequence[str] | None = None):
        self.starts = [
            list(_parts(sentence, by_space=names is not None and BAR not in sentence))
            for sentence in sentences
        ]
        if names is None:
            self.names = [range(1, len(starts) + 1) for starts in self.starts]
            return
        given = [_split(each) for each in names]
        self.names, self.of_context = given, CONTEXT
        for number, (starts, own) in enumerate(zip(self.starts, given, strict=True), start=1):
            if len(starts) != len(own):
                raise AccordError(
                    f"row {number}: expected {len(starts)} names of regions, as the sentence has "
                    f"parts; got {len(own)}: {', '.join(own)}"
                )

    def at(self, sentence: int, place: int) -> int | str:
        """Return the region of a place in a sentence."""
        starts = self.starts[sentence]
        return self.names[sentence][max(sum(start <= place for start in starts) - 1, 0)]


def _parts(sentence: str, by_space: bool) -> Iterator[int]:
    """Where each part begins that holds more than spaces."""
    borders = [n for n, c in enumerate(sentence) if (c.isspace() if by_space else c == BAR)]
    for before, after in pairwise([-1, *borders, len(sentence)]):
        if sentence[before + 1 : after].strip():
            yield before + 1


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
    """One row for each region of each row of the stimuli, from the table of their words."""
    if "region" not in words:
        raise AccordError(
            "expected regions: put bars between them, 'Le chien | du voisin | aboie.', or name a "
            "column of them"
        )
    own = list(words.columns[: words.columns.get_loc("sentence_number")])
    keys = [name for name in ("model", "row") if name in words] + ["region"]
    grouped = words.groupby(keys, sort=False)
    bits = grouped["surprisal"]
    found = grouped[[name for name in own if name not in keys]].first()
    found["words"], found["spelled"] = bits.size(), grouped["spelled"].sum()
    found["surprisal"] = bits.sum()
    found["mean_surprisal"], found["first_surprisal"] = bits.mean(), bits.first()
    firsts = words.loc[grouped.head(1).index].set_index(keys)  # `first` would pass missing ones
    kept = ["previous_surprisal", "previous_surprisal_2", "entropy"]
    for name in [*kept, *(name for name in words if name.startswith("p_"))]:
        if name in firsts:
            found[name] = firsts[name]
    found = found.reset_index()
    return found[[*own, *(name for name in found if name not in own)]]


@dataclass(frozen=True)
class Prediction:
    """A formula and the items for which it holds."""

    formula: str
    # item (and model), the surprisal of each place that it names, by how much the first side is
    # larger (NaN of several formulas), success
    items: pd.DataFrame

    @property
    def summary(self) -> pd.DataFrame:
        """The share of items for which it holds, with Wilson's interval of 95 %, and the mean
        difference of its two sides in bits, with its standard error; NaN of several formulas."""
        models = self.items.groupby("model", sort=False) if "model" in self.items else None
        rows = []
        for name, own in models if models is not None else [(None, self.items)]:
            low, high = wilson(int(own["success"].sum()), len(own))
            mean, error = own["difference"].mean(), own["difference"].sem()
            rows.append(
                ({"model": name} if name is not None else {})
                | {
                    "prediction": self.formula,
                    "items": len(own),
                    "holds": int(own["success"].sum()),
                    "share": own["success"].mean(),
                    "low": low,
                    "high": high,
                    "difference": mean,
                    "SE": error,
                }
            )
        return pd.DataFrame(rows)


def records(checked: Sequence[Prediction]) -> list[dict[str, Any]]:
    """The summaries of predictions for JSON; None for what a prediction has not."""
    if not checked:
        return []
    return json.loads(_summaries(checked).to_json(orient="records", double_precision=6))


def _summaries(checked: Sequence[Prediction]) -> pd.DataFrame:
    return pd.concat([each.summary for each in checked], ignore_index=True)


def shown(checked: Sequence[Prediction]) -> pd.DataFrame:
    """The summaries of predictions as a person reads them."""
    summary = _summaries(checked)
    found = summary[[name for name in ("model", "prediction") if name in summary]].copy()
    found["items"] = summary["items"].astype(str)
    of_items = zip(summary["holds"], summary["share"], strict=True)
    found["holds"] = [f"{holds}: {share:.3f}" for holds, share in of_items]
    bounds = zip(summary["low"], summary["high"], strict=True)
    found["95 %"] = [f"{low:.3f} to {high:.3f}" for low, high in bounds]
    found["difference"] = ["" if isnan(e) else f"{e:+.2f} bits" for e in summary["difference"]]
    found["SE"] = ["" if isnan(each) else f"{each:.2f}" for each in summary["SE"]]
    return found


def predicted(regions: pd.DataFrame, formula: str, condition: str, item: str) -> Prediction:
    """For which items a formula holds; those that lack a condition or region are counted."""
    for option, column in (("--by", condition), ("--item", item)):
        if column not in regions:
            there = nearest(column, map(str, regions))
            raise AccordError(f"{option}: expected the column of a prediction, '{column}'{there}")
    known = _distinct(regions[condition]), _distinct(regions["region"])
    tree, used = _parsed(formula, *known)
    keys = ["model", item] if "model" in regions else [item]
    place = regions[condition].astype(str) + "." + regions["region"].astype(str)
    wide = regions.assign(place=place)
    if wide.duplicated([*keys, "place"]).any():
        twice = wide[wide.duplicated([*keys, "place"])].iloc[0]
        raise AccordError(
            f"--expects: expected one row per item and condition; item {twice[item]} has several "
            f"with {condition} {twice[condition]}"
        )
    in_order = pd.MultiIndex.from_frame(wide[keys].drop_duplicates())
    wide = wide.set_index([*keys, "place"])["surprisal"].unstack().reindex(columns=used)
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
    values = [dict(zip(used, row, strict=True)) for row in wide.to_numpy()]
    found = wide.reset_index().assign(
        difference=[_difference(tree, each) for each in values],
        success=[_holds(tree, each) for each in values],
    )
    return Prediction(formula, found)


def _distinct(values: pd.Series) -> list[str]:
    return sorted({*values.astype(str)}, key=len, reverse=True)


def _parsed(formula: str, conditions: list[str], regions: list[str]) -> tuple[ast.expr, list[str]]:
    """The formula as a tree in which each CONDITION.REGION is a name, and those that it uses."""
    used: list[str] = []

    def named(found: re.Match) -> str:
        if found[0] not in used:
            used.append(found[0])
        return f" v{used.index(found[0])} "

    names = [f"{condition}.{region}" for condition in conditions for region in regions]
    longest = sorted(names, key=len, reverse=True)
    text = re.sub(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest))})(?!\w)", named, formula)
    text = re.sub(r"&+", " and ", text)
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        is_formula = _is_formula(tree)
    except SyntaxError:
        is_formula = False
    if not is_formula:
        if unknown := PLACE.search(re.sub(r"\bv\d+\b", " ", text)):
            _refuse_place(unknown, conditions, regions)
        raise AccordError(
            f"--expects: expected a formula such as 'bad.verb > good.verb', got {formula!r}; "
            f"conditions are {', '.join(sorted(conditions)):.200}, "
            f"regions are {', '.join(sorted(regions)):.200}"
        )
    return _renamed(tree, used), used


PLACE = re.compile(r"([^\W\d]\w*)\.(\w+)")  # CONDITION.REGION, as it is mostly written


def _refuse_place(place: re.Match, conditions: list[str], regions: list[str]) -> NoReturn:
    """Say which name of a place is unknown."""
    for kind, name, there, option in (
        ("condition", place[1], conditions, "--by names their column"),
        ("region", place[2], regions, "--regions names a column of their names"),
    ):
        if name not in there:
            raise AccordError(
                f"--expects: {place[0]} names the {kind} {name!r}{nearest(name, there)}; "
                f"{kind}s are {', '.join(sorted(there)):.200} ({option})"
            )
    raise AccordError(f"--expects: expected an operator beside {place[0]}")


ARITHMETIC = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}
COMPARED = {ast.Gt: operator.gt, ast.Lt: operator.lt, ast.GtE: operator.ge, ast.LtE: operator.le}


def _is_formula(tree: ast.expr) -> bool:
    """Whether it is a comparison of sums of surprisals, or several, and nothing else."""
    if isinstance(tree, ast.BoolOp):
        return isinstance(tree.op, ast.And) and all(map(_is_formula, tree.values))
    is_one = isinstance(tree, ast.Compare) and len(tree.ops) == 1 and type(tree.ops[0]) in COMPARED
    if not is_one:
        return False
    for node in (each for side in (tree.left, *tree.comparators) for each in ast.walk(side)):
        is_sum = isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC
        is_name = isinstance(node, ast.Name) and re.fullmatch(r"v\d+", node.id)
        is_number = isinstance(node, ast.Constant) and type(node.value) in (int, float)
        is_sign = isinstance(node, ast.operator | ast.expr_context)
        if not (is_sum or is_name or is_number or is_sign):
            return False
    return True


def _renamed(tree: ast.expr, used: list[str]) -> ast.expr:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            node.id = used[int(node.id[1:])]
    return tree


def _holds(tree: ast.expr, values: Mapping[str, float]) -> bool:
    if isinstance(tree, ast.BoolOp):
        return all(_holds(part, values) for part in tree.values)
    left, right = _value(tree.left, values), _value(tree.comparators[0], values)
    return bool(COMPARED[type(tree.ops[0])](left, right))


def _difference(tree: ast.expr, values: Mapping[str, float]) -> float:
    """By how much the first side of a formula is larger; NaN of several that are joined."""
    if isinstance(tree, ast.BoolOp):
        return nan
    return _value(tree.left, values) - _value(tree.comparators[0], values)


def _value(node: ast.expr, values: Mapping[str, float]) -> float:
    if isinstance(node, ast.Name):
        return values[node.id]
    if isinstance(node, ast.Constant):
        return float(node.value)
    return ARITHMETIC[type(node.op)](_value(node.left, values), _value(node.right, values))
