"""A table of sentences becomes a table of words, and of regions on which predictions are tested.

A row may have several sentences and may be read after others, its context. A sentence may mark its
regions by bars, which count as spaces: `Le chien | du voisin | aboie.` A prediction is a formula
over conditions and regions, as in SyntaxGym (Gauthier et al. 2020):

    bad.verb > good.verb
    bad_far.verb - good_far.verb > bad_near.verb - good_near.verb

`bad.verb` is the surprisal of the region `verb` in the row of an item that has the condition `bad`.
An item is a success if the formula holds for it. `&` joins formulas that must hold together.
"""

import ast
import json
import operator
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import chain, repeat
from math import nan
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from accord.corpora.tokenise import normalise
from accord.errors import AccordError
from accord.lexicon.homophones import Homophones
from accord.models.common.checks import nearest
from accord.pipeline.ask.scorer import (
    BITS,
    CONTEXT,
    Context,
    Reader,
    ReadWords,
    Scorer,
    SplitTexts,
    by_name,
    probabilities,
    split_texts,
)
from accord.pipeline.ask.split import OF_PARTS
from accord.pipeline.base.messages import counted, meter, say
from accord.pipeline.base.names import END_ID
from accord.pipeline.base.tables import TABLES, read_table
from accord.pipeline.model.metrics import wilson

BAR = "|"  # between two regions of a sentence: 'Le chien | du voisin | aboie.'
FREQUENCIES = "Lexique 3.83 and, for words that it lacks, the training text"


def per_million(forms: Sequence[str]) -> np.ndarray:
    """Return how often forms occur in Lexique, per million words; 0 of forms that it lacks.

    The counts come with Accord. An elided word counts with its full form: *j'* with *je*.
    """
    return np.array([Homophones.bundled().count(form.lower()) for form in forms])


class Frequency:
    """log₁₀ of the occurrences of forms per million words: of Lexique, or of the training text."""

    def __init__(self, scorer: Scorer):
        self.known = scorer.vocabulary.known
        counts = scorer.parts.words.column("count").astype(float)
        counts[END_ID] = 0
        self.in_training = counts * (1e6 / max(counts.sum(), 1))

    def of_forms(self, forms: Sequence[str]) -> np.ndarray:
        """Return Lexique's if it has the form, else the training text's; NaN if both lack it."""
        distinct, which = np.unique(np.asarray(forms, dtype=object), return_inverse=True)
        in_training = self.in_training[[self.known.get(form, END_ID) for form in distinct]]
        in_french = per_million(distinct.tolist())
        frequency = np.where(in_french > 0, in_french, in_training)
        return np.log10(np.where(frequency > 0, frequency, np.nan))[which]


def sentences(table: pd.DataFrame, column: str) -> list[str]:
    """Return the sentences of a table; an error names every row that has none."""
    if column not in table:
        raise AccordError(
            f"expected a column '{column}' of sentences{nearest(column, map(str, table))}"
        )
    if (empty := _is_empty(table[column])).any():
        raise AccordError(
            f"expected a sentence in '{column}', found none in row {_numbers(empty)}; "
            f"the first row below the header is 1. --skip-empty leaves such rows out"
        )
    if not len(table):
        raise AccordError(f"expected sentences in '{column}', found no row")
    return table[column].tolist()


def without_empty(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return the rows that have a sentence, each with its index; the others are named."""
    if column not in table:
        return table  # which `sentences` rejects
    if (empty := _is_empty(table[column])).any():
        say(f"left out without a sentence in '{column}': row {_numbers(empty)}")
    return table[~empty]


def _is_empty(column: pd.Series) -> np.ndarray:
    """Return which rows have no sentence."""
    is_text = [isinstance(text, str) and normalise(without_bars(text)) != "" for text in column]
    return ~np.array(is_text, bool)


def _numbers(rows: np.ndarray) -> str:
    return ", ".join(map(str, np.flatnonzero(rows) + 1))


MEASURES = {
    "sentence_number": "number of the sentence in its row, from 1; 0 is the last sentence of the "
    "row's context, −1 the one before",
    "position": "position of the word in its sentence, from 1",
    "word": "the word as it is written",
    "start": "offset of its first character in the text of the row, from 0; bars between regions "
    "count",
    "end": "offset behind its last character",
    "region": "its region, if the table marks regions",
    "surprisal": "−log₂ p of the word, in bits",
    "rank": "rank of the word among all known words; the likeliest has 1",
    "entropy": "entropy of the next word before this one is read, in bits; all unknown words of a "
    "class count as one",
    "entropy_reduction": "entropy before this word minus entropy after it, in bits",
    "log_frequency": "log₁₀ of its occurrences per million words: of French, by the counts of "
    "Lexique 3.83 that Accord brings along; of the model's training text, if Lexique lacks the "
    "word; empty if both lack it",
    "spelled": "whether the character model spelled it, because it is not known",
    "previous_surprisal": "surprisal of the word before, for spill-over",
    "previous_surprisal_2": "surprisal of the word before that one",
}
OF_FEATURES = {"p_FEATURE_VALUE": "P(FEATURE=VALUE) before the word is read, for `expect`"}


def surprisal(
    table: pd.DataFrame | str | Path,
    models: Scorer | Mapping[str, Scorer] | None = None,
    *,
    column: str = "sentence",
    regions: str | None = None,
    expect: Sequence[str] = (),
    split: bool = False,
    context: str | None = None,
    keep_context: bool = False,
    drop_spelled: bool = False,
) -> pd.DataFrame:
    """Return a table with a row for each word of each sentence.

    `table` is a DataFrame, the path of a table, or the path of a text with one sentence per line.
    Its own columns come first, then those of `MEASURES`. `column` names the column of sentences.
    `regions` names a column with names of regions; bars in a sentence mark them. `expect` lists
    features, such as `Number` or `pos=NOUN`: each value becomes a column with its probability
    before the word. `split` adds the parts of the surprisal, `OF_PARTS`. If `models` maps names to
    models, each model has its own rows. `drop_spelled` leaves out words spelled by the character
    model; other words keep their place and context.

    The text of a row may have several sentences. With the `context` "text" a word is conditioned
    on all words before it in its row, with "none" on those of its own sentence. By default a model
    that was trained on documents reads "text", any other "none". If the table has a column
    `context`, every row is read after the sentences there, unless `context` is "none".
    `keep_context` writes the words of the column too.
    """
    if isinstance(table, str | Path):
        table = read_table(Path(table), column)
    if not isinstance(table, pd.DataFrame):
        raise AccordError(f"expected a table or the path of one, got a {type(table).__name__}")
    pieces = surprisal_pieces(table, models, column, regions, expect, split, context, keep_context)
    words = pd.concat(pieces, ignore_index=True)
    return words[~words["spelled"]].reset_index(drop=True) if drop_spelled else words


def surprisal_pieces(
    table: pd.DataFrame,
    models: Scorer | Mapping[str, Scorer] | None,
    column: str = "sentence",
    regions: str | None = None,
    expect: Sequence[str] = (),
    split: bool = False,
    context: str | None = None,
    keep_context: bool = False,
) -> Iterator[pd.DataFrame]:
    """Yield the same table, some sentences at a time, in constant memory."""
    texts = sentences(table, column)
    contexts = _contexts(table, context)
    if keep_context and contexts is None:
        raise AccordError(f"keep_context: expected a column '{CONTEXT}' that is read, found none")
    if regions is not None and regions not in table:
        raise AccordError(f"expected a column '{regions}' of regions; there are {', '.join(table)}")
    kept = table.drop(columns=regions) if regions else table
    if taken := [name for name in ("model", "row", *MEASURES, *OF_PARTS) if name in kept]:
        raise AccordError(f"the table has a column '{taken[0]}', as the result has: rename it")
    marked = None
    if regions or any(BAR in text for text in texts):
        marked = StimulusRegions(texts, table[regions].astype(str).tolist() if regions else None)
    stimuli = _stimuli([without_bars(text) for text in texts], contexts)
    parted = stimuli.split
    for name, scorer in by_name(models).items():
        in_context = scorer.in_context(context or (Context.text if contexts else None))
        documents = stimuli.row.tolist() if in_context else None
        advance = meter("sentences", len(parted.sentences))
        reader, frequency = Reader(scorer, expect, split), Frequency(scorer)
        if reader.next_word is None:
            say("a model of subwords lists no words: it has no rank and no entropy of the next")
        for words in reader.read(parted.sentences, documents, parted.start):
            rows = _rows(reader, words, stimuli, marked, keep_context, frequency)
            number = rows.pop("row").to_numpy()
            of_table = kept.iloc[number].reset_index(drop=True)
            of_table.insert(0, "row", number + 1)
            if isinstance(models, Mapping):
                of_table.insert(0, "model", name)
            yield pd.concat([of_table, rows.reset_index(drop=True)], axis=1)
            advance(int(words.is_end.sum()))
        advance(0)


def of_sentences(
    model: Scorer, text: str | Sequence[str] | Path | pd.DataFrame, **options: Any
) -> pd.DataFrame:
    """Return `surprisal` by one model for a sentence, several sentences or a table."""
    if isinstance(text, str):
        if text.endswith(TABLES) and Path(text).is_file():
            raise AccordError(f"expected a sentence, got the name of a table; pass Path({text!r})")
        text = [text]
    if isinstance(text, Sequence):
        text = pd.DataFrame({options.get("column", "sentence"): [*text]})
    return surprisal(text, model, **options)


def _contexts(table: pd.DataFrame, context: str | None) -> list[str] | None:
    """Return the text before each row, if the table has a column of them that is to be read."""
    if context == Context.none:
        return None
    if CONTEXT not in table:
        for name in get_close_matches(CONTEXT, map(str, table), n=1, cutoff=0.8):
            say(f"the column '{name}' is kept and not read; one that is read is called '{CONTEXT}'")
        return None
    contexts = [without_bars(text) if isinstance(text, str) else "" for text in table[CONTEXT]]
    count = sum(bool(text.strip()) for text in contexts)
    say(
        f"{count:,} of {len(contexts):,} rows are read after their column '{CONTEXT}'; "
        f"`--context none` reads every sentence alone"
    )
    return contexts


class Stimuli(NamedTuple):
    """The sentences of all rows, those of a row's context before its own."""

    split: SplitTexts
    row: np.ndarray  # of each sentence, from 0
    number: np.ndarray  # of the sentence in its row, from 1; 0, −1 … in the context


def _stimuli(texts: Sequence[str], contexts: Sequence[str] | None) -> Stimuli:
    """Return the sentences of the rows, each row read after its context."""
    split = split_texts(chain.from_iterable(zip(contexts or repeat(""), texts, strict=False)))
    row, is_own = np.divmod(np.array(split.text), 2)
    first = np.searchsorted(row, row)  # of the row's sentences
    of_context = np.bincount(row[is_own == 0], minlength=len(texts))[row]
    return Stimuli(split, row, np.arange(len(row)) - first - of_context + 1)


def _rows(
    reader: Reader,
    words: ReadWords,
    stimuli: Stimuli,
    regions: "StimulusRegions | None",
    keep_context: bool,
    frequency: Frequency,
) -> pd.DataFrame:
    """Return the words without the sentence ends, which count only for the entropy there."""
    row, number = stimuli.row[words.sentence], stimuli.number[words.sentence]
    at = np.flatnonzero(~words.is_end & (keep_context | (number > 0)))
    bits = words.nats * BITS
    is_first = np.r_[True, words.is_end[:-1]]
    place = np.arange(len(is_first))
    position = place - np.maximum.accumulate(np.where(is_first, place, 0)) + 1
    sentence, start, end = words.sentence[at], words.start[at], words.end[at]
    offset = np.array(stimuli.split.start)[sentence]
    spans = zip(sentence, start - offset, end - offset, strict=True)
    columns: dict[str, Any] = {
        "row": row[at],
        "sentence_number": number[at],
        "position": position[at],
        "word": [stimuli.split.sentences[text][first:last] for text, first, last in spans],
        "start": start,
        "end": end,
    }
    if regions:
        columns["region"] = [
            regions.region_at(of_row, first) if of_sentence > 0 else regions.of_context
            for of_row, of_sentence, first in zip(row[at], number[at], start, strict=True)
        ]
    columns["surprisal"] = bits[at]
    if words.parts is not None:
        columns |= dict(zip(OF_PARTS, words.parts[at].T * BITS, strict=True))
    if words.expected:
        entropy = words.expected.entropy * BITS
        columns["rank"] = words.expected.rank[at]
        columns["entropy"] = entropy[at]
        columns["entropy_reduction"] = entropy[at] - entropy[at + 1]
    columns["log_frequency"] = frequency.of_forms([words.form[place] for place in at])
    columns["spelled"] = words.spelled[at]
    for name, back in PREVIOUS.items():
        columns[name] = np.where(position > back, np.roll(bits, back), np.nan)[at]
    # P(Number=Plur) by a name that R keeps: p_Number_Plur.
    values = probabilities(reader, words).iloc[at]
    return pd.DataFrame(
        columns | {"p_" + re.sub(r"\W", "_", value): values[value] for value in values}
    )


def further(table: pd.DataFrame) -> list[str]:
    """Return the columns with parts of surprisal and with probabilities of features."""
    return [name for name in table if name in OF_PARTS or name.startswith("p_")]


PREVIOUS = {"previous_surprisal": 1, "previous_surprisal_2": 2}  # words back
OPENING = frozenset("«([{“‘—–-¿¡")
SUMMED = ("surprisal", *OF_PARTS, "entropy_reduction")


def with_joined_punctuation(words: pd.DataFrame) -> pd.DataFrame:
    """Return the table with marks joined to a word of their sentence, as a reader sees them.

    Opening marks go to the word behind them, all others to the word before. The joined word has
    the sum of the surprisals, and the expectations before its first part.
    """
    keys = [name for name in ("model", "row", "sentence_number") if name in words]
    is_word = words["word"].str.contains(r"\w")
    opens = words["word"].map(lambda word: {*word} <= OPENING) & ~is_word
    sentence = words.groupby(keys, sort=False).ngroup()
    is_first = sentence != sentence.shift()
    # A new group begins at a word that no opening mark precedes, and at an opening mark.
    begins = (is_word | opens) & ~(opens.shift(fill_value=False) & ~is_first) | is_first
    # Marks at the head of a sentence that open nothing still go to the word behind them.
    has_word = is_word.groupby(begins.cumsum()).transform("any")
    begins &= ~(is_word & ~has_word.shift(fill_value=True) & ~is_first)
    group = begins.cumsum()
    grouped = words.groupby(group, sort=False)
    joined = grouped.agg("first")
    for name in SUMMED:
        if name in words:
            joined[name] = grouped[name].sum()
    joined["end"], joined["spelled"] = grouped["end"].last(), grouped["spelled"].any()
    # The space before a part, unless it follows the one before it at once.
    is_apart = ~begins & (words["start"] != words["end"].shift())
    parts = is_apart.map({True: " ", False: ""}) + words["word"]
    joined["word"] = parts.groupby(group, sort=False).agg("".join)
    joined["log_frequency"] = words["log_frequency"][is_word].groupby(group[is_word]).first()
    joined = joined.reset_index(drop=True)
    by_sentence = joined.groupby(keys, sort=False)
    joined["position"] = by_sentence.cumcount() + 1
    for name, back in PREVIOUS.items():
        joined[name] = by_sentence["surprisal"].shift(back)
    return joined


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
        self.starts = []
        for sentence in sentences:
            part = r"[^|]+" if names is None or BAR in sentence else r"\S+"
            parts = re.finditer(part, sentence)
            self.starts.append([match.start() for match in parts if match[0].strip()])
        if names is None:
            self.names = [range(1, len(starts) + 1) for starts in self.starts]
            return
        parts_of = (text.split(BAR) if BAR in text else text.split() for text in names)
        of_rows = [[part.strip() for part in parts if part.strip()] for parts in parts_of]
        self.names, self.of_context = of_rows, CONTEXT
        for number, (starts, of_row) in enumerate(zip(self.starts, of_rows, strict=True), start=1):
            if len(starts) != len(of_row):
                raise AccordError(
                    f"row {number}: expected {len(starts)} names of regions, as the sentence has "
                    f"parts; got {len(of_row)}: {', '.join(of_row)}"
                )

    def region_at(self, sentence: int, place: int) -> int | str:
        """Return the region of a place in a sentence."""
        return self.names[sentence][max(bisect_right(self.starts[sentence], place) - 1, 0)]


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
    for name in [*PREVIOUS, "entropy", *further(words)]:
        if name in OF_PARTS:
            regions[name] = grouped[name].sum()
        elif name in firsts:
            regions[name] = firsts[name]
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
        rows = []
        models: list[tuple[dict, pd.DataFrame]] = [({}, self.items)]
        if "model" in self.items:
            by_model = self.items.groupby("model", sort=False)
            models = [({"model": name}, items) for name, items in by_model]
        for named, items in models:
            count, holds, difference = len(items), int(items["success"].sum()), items["difference"]
            row = named | {"prediction": self.formula, "items": count, "holds": holds}
            row["share"], (row["low"], row["high"]) = holds / count, wilson(holds, count)
            rows.append(row | {"difference": difference.mean(), "SE": difference.sem()})
        return pd.DataFrame(rows)


def records(predictions: Sequence[Prediction]) -> list[dict[str, Any]]:
    """Return the summaries of predictions for JSON, with None for NaN."""
    if not predictions:
        return []
    table = pd.concat([prediction.summary for prediction in predictions])
    return json.loads(table.to_json(orient="records", double_precision=6))


def shown(predictions: Sequence[Prediction]) -> pd.DataFrame:
    """Return the summaries of predictions as a person reads them."""
    rows = []
    for prediction in predictions:
        for row in prediction.summary.to_dict("records"):
            difference, error = row["difference"], row["SE"]
            text = {
                "items": str(row["items"]),
                "holds": f"{row['holds']}: {row['share']:.3f}",
                "95 %": f"{row['low']:.3f} to {row['high']:.3f}",
                "difference": f"{difference:+.2f} bits" if difference == difference else "",
                "SE": f"{error:.2f}" if error == error else "",
            }
            rows.append({name: row[name] for name in ("model", "prediction") if name in row} | text)
    return pd.DataFrame(rows)


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
    if (is_twice := table.duplicated([*keys, "place"])).any():
        twice = table[is_twice].iloc[0]
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
    holds, difference = [], nan
    for tree in comparisons:
        sides = (tree.left, tree.comparators[0])
        left, right = (numbered.eval(ast.unparse(side), engine="python") for side in sides)
        holds.append(COMPARED[type(tree.ops[0])](left, right))
        if len(comparisons) == 1:
            difference = left - right
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
        trees: list[Any] = [
            ast.parse(part.strip(), mode="eval").body for part in re.split("&+", text)
        ]
        is_formula = all(map(_is_comparison, trees))
    except SyntaxError:
        is_formula = False
    if not is_formula:
        if place := PLACE.search(re.sub(r"\bv\d+\b", " ", text)):
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
        raise AccordError(
            f"--expects: expected a formula such as 'bad.verb > good.verb', got {formula!r}; "
            f"conditions are {', '.join(conditions):.200}, regions are {', '.join(regions):.200}"
        )
    return trees, used


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
