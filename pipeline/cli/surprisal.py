"""From sentences to tables, and to people: `accord surprisal`, `expect` and `norms`."""

from collections.abc import Callable, Iterable
from contextlib import nullcontext
from enum import StrEnum
from importlib import import_module
from itertools import chain, repeat
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from accord.errors import AccordError, NotFoundError
from accord.pipeline.ask import surprisal as measured
from accord.pipeline.ask.provenance import check_sidecar, citation, write_sidecar
from accord.pipeline.ask.scorer import CONTEXT, Context, Scorer
from accord.pipeline.ask.scorer import expect as expectations
from accord.pipeline.base.messages import counted, echo, say
from accord.pipeline.base.tables import (
    TABLES,
    csv,
    print_table,
    read_table,
    rounded,
    table_writer,
    write_table,
)
from accord.pipeline.cli.console import command, is_path, listed, make_room
from accord.pipeline.cli.model import conditioned, expect_words, load_model
from accord.pipeline.model.find import find

DRAWN = (".png", ".svg")
CONDITION = "condition"


class Punctuation(StrEnum):
    """How marks are counted."""

    separate = "own"
    joined = "joined"


class Per(StrEnum):
    """What a row of a table is."""

    word = "word"
    region = "region"


@command
def surprisal(
    table: Annotated[Path | None, typer.Argument()] = None,
    column: str = "sentence",
    regions: str | None = None,
    expect: str | None = None,
    split: bool = False,
    context: Context | None = None,
    keep_context: bool = False,
    run: Path | None = None,
    model: str | None = None,
    models: str | None = None,
    lexicon: Path | None = None,
    condition: list[str] | None = None,
    prime: Path | None = None,
    prime_weight: float | None = None,
    prime_tune: Path | None = None,
    to: Path | None = None,
    spreadsheet: bool = False,
    plot: Path | None = None,
    by: Annotated[str | None, typer.Option(show_default=CONDITION)] = None,
    item: str = "item",
    punctuation: Punctuation = Punctuation.separate,
    skip_empty: bool = False,
    drop_spelled: bool = False,
    per: Per = Per.word,
    expects: list[str] | None = None,
    cite: bool = False,
) -> None:
    """Turn a table of sentences into a table of words with their surprisal in bits.

    The columns of the table are kept. Without --to the words are printed as CSV, or the results of
    --expects. With --to words.csv, words.json says which model made the table, when, and what its
    columns mean.

    A row is a text of one or several sentences. It is read after the sentences of its column
    'context', if the table has one; the words of these are left out unless --keep-context is given.
    Rows know nothing of each other.

    Args:
        table (TABLE): CSV, TSV, Parquet or Excel (.xlsx) with a column of sentences, or lines of
            text. With --cite, a table that this command wrote.
        column: The column of sentences.
        regions: A column with names of regions, for the parts between the bars of a sentence,
            'Le chien | du voisin | aboie.', or for the words between its spaces.
        expect: Add the probability of features before the word: Number,pos=NOUN.
        split: Add the parts of the surprisal: part of speech, inflection, lemma, form, ambiguity.
        keep_context: Also write the words of the column 'context'.
        lexicon (TABLE): Table of words that the model is to know, or to analyse otherwise: form,
            lemma, upos, feats, perhaps frequency (per million words).
        by: The column of conditions, for --plot and --expects; two columns with a comma between
            them make conditions such as bad_far.
        item: The column of items, for intervals within items and --expects.
        punctuation: With `joined`, marks count with the word that they stand by.
        skip_empty: Leave out rows without a sentence, and name them.
        per: With `region`, also write a row per region: NAME.regions.csv.
        expects (FORMULA): Prediction over conditions and regions, such as 'bad.verb > good.verb';
            the command prints for how many items it holds. Can be repeated.
        cite: Print sentences for the Methods section of a paper, and BibTeX: of the model, or of
            the table that it made.
    """
    if cite:
        echo(citation(load_model(run, model), table))
        return
    if table is None:
        raise AccordError("expected a TABLE of sentences, found none")
    _check_files(to, plot, table)
    if to:
        check_sidecar(to)
    if not is_path(str(table)):
        raise NotFoundError(f"no file {table}; for a sentence itself there is `accord score`")
    stimuli = read_table(table, column)
    if skip_empty:
        stimuli = measured.without_empty(stimuli, column)
    factors = _factors(by, list(stimuli), table)
    if item in factors:
        raise AccordError(f"--by and --item: expected two columns, got {item!r} for both")
    conditions = " × ".join(factors)
    named = condition, prime, prime_weight, prime_tune
    scorers = _chosen(run, model, models, *named, lexicon=lexicon)
    rows, stimuli = stimuli.index.to_numpy() + 1, stimuli.reset_index(drop=True)  # as in the file
    features = listed(expect or "")
    pieces = measured.surprisal_pieces(
        stimuli, scorers, column, regions, features, split, context, keep_context
    )
    if punctuation == Punctuation.joined:
        pieces = map(measured.with_joined_punctuation, pieces)
    names = measured.MEASURES
    pieces = (
        rounded(piece.assign(row=rows[piece["row"] - 1]), [*names, *measured.further(piece)])
        for piece in pieces
    )
    per_region = per == Per.region
    by_region = per_region or bool(expects)
    with table_writer(to, spreadsheet) if to else nullcontext(_printer(spreadsheet)) as write:
        write_words = write if to or not by_region else lambda piece: None
        result = _measured(pieces, write_words, drop_spelled, bool(plot), by_region)
        counts, words, of_regions = result
        # Before the table gets its name: an invalid formula leaves no file.
        predictions = [
            measured.predicted(_crossed(of_regions, factors), formula, conditions, item)
            for formula in expects or ()
        ]
    if drop_spelled and counts["spelled"]:
        say(f"left out: {counted(counts['spelled'], 'word')} spelled by the character model")
        counts["spelled"] = 0
    if to:
        of_sentences = counted(counts["sentences"], "sentence")
        echo(f"{counted(counts['words'], 'word')} of {of_sentences}: {to}")
        of_words = measured.OF_PARTS | measured.OF_FEATURES
        columns = {"word": measured.MEASURES | of_words}
        files = [to]
        if per_region:
            columns["region"] = measured.REGION_MEASURES | of_words
            label = counted(len(of_regions), "region")
            files.append(_write_further(of_regions, to, "regions", label, spreadsheet))
        for number, predicted in enumerate(predictions, 1):
            name, label = f"prediction{number}", predicted.formula
            files.append(_write_further(predicted.items, to, name, label, spreadsheet))
        about = {
            "files": [path.name for path in (*files, *filter(None, [plot]))],
            "counts": counts,
            "log_frequency": measured.FREQUENCIES,
            "predictions": measured.records(predictions),
        }
        # A column of contexts is read by default, whatever the model was trained for.
        read_in = context or (Context.text if CONTEXT in stimuli else None)
        echo(f"where it comes from: {write_sidecar(to, scorers, table, columns, about, read_in)}")
    elif per_region:
        echo(csv(of_regions, spreadsheet=spreadsheet), end="")
    if predictions:
        print_table(measured.shown(predictions))
    if plot:
        from accord.pipeline.base.figures import draw, surprisal_by_region

        draw(surprisal_by_region(_crossed(words, factors), conditions or None, item), plot)
        (echo if to else say)(f"figure: {plot}")  # not among the rows of a CSV


def _printer(spreadsheet: bool) -> Callable[[pd.DataFrame], None]:
    """Return a function that prints tables as one CSV."""
    headers = chain([True], repeat(False))
    return lambda piece: echo(csv(piece, spreadsheet=spreadsheet, header=next(headers)), end="")


def _measured(
    pieces: Iterable[pd.DataFrame],
    write: Callable[[pd.DataFrame], None],
    drop_spelled: bool,
    keeps_words: bool,
    by_region: bool,
) -> tuple[dict[str, int], pd.DataFrame, pd.DataFrame]:
    """Write the rows of words; return their counts, the words if they are kept, and the regions.

    Rows are kept only for figures and regions: otherwise memory does not grow.
    """
    counts = {"sentences": 0, "words": 0, "spelled": 0}
    words, regions = [pd.DataFrame()], [pd.DataFrame()]
    for piece in pieces:
        if by_region:
            names = [*measured.REGION_MEASURES, *measured.further(piece)]
            regions.append(rounded(measured.by_region(piece), names))
        counts["sentences"] += len(piece[["row", "sentence_number"]].drop_duplicates())
        counts["spelled"] += int(piece["spelled"].sum())
        if drop_spelled:
            piece = piece[~piece["spelled"]]
        counts["words"] += len(piece)
        write(piece)
        if keeps_words:
            words.append(piece)
    table = pd.concat(regions[1:] or regions, ignore_index=True)
    if drop_spelled and by_region:
        table = table[table["spelled"] == 0].reset_index(drop=True)
    return counts, pd.concat(words[1:] or words, ignore_index=True), table


def _factors(by: str | None, columns: list[str], table: Path) -> list[str]:
    """Return the column of conditions, or the two whose combinations are the conditions."""
    if by is None:
        return [CONDITION] if CONDITION in columns else []
    factors = [by] if by in columns else listed(by)
    unknown = [name for name in factors if name not in columns]
    if unknown or not 1 <= len(factors) <= 2:
        raise AccordError(
            f"--by: expected a column of {table}, or two: {', '.join(columns)}; got {by!r}"
        )
    return factors


def _crossed(table: pd.DataFrame, factors: list[str]) -> pd.DataFrame:
    """Return the table with a column of the combinations of two factors: `bad_far`."""
    if len(factors) < 2:
        return table
    first, second = (table[name].astype(str) for name in factors)
    return table.assign(**{" × ".join(factors): first + "_" + second})


def _write_further(table: pd.DataFrame, to: Path, name: str, label: str, spreadsheet: bool) -> Path:
    """Write a table beside the one of words, such as words.regions.csv; return its path."""
    path = to.with_name(f"{to.stem}.{name}{to.suffix}")
    write_table(table, path, spreadsheet)
    echo(f"{label}: {path}")
    return path


@command
def expect(
    text: str,
    features: str = "Number,Gender,pos",
    run: Path | None = None,
    model: str | None = None,
    models: str | None = None,
    condition: list[str] | None = None,
    context: Context | None = None,
    to: Path | None = None,
    spreadsheet: bool = False,
    plot: Path | None = None,
) -> None:
    """Show the probability of each gender, number or part of speech before every word.

    Over the values of a feature, 'none' among them, they sum to one.

    Args:
        features: Features of the lexicon, pos, or one value: Number=Plur.
    """
    expect_words(text)
    _check_files(to, plot)
    table = expectations(text, _chosen(run, model, models, condition), listed(features), context)
    if to:
        write_table(table, to, spreadsheet)
    for feature in dict.fromkeys(name.partition("=")[0] for name in listed(features)):
        print_table(_of_feature(table, feature))
        echo()
    if plot:
        from accord.pipeline.base import figures

        figures.draw(figures.expectations(table, listed(features)), plot)
        echo(f"figure: {plot}")


@command
def norms(
    source: str,
    item: str | None = None,
    measure: str | None = None,
    text: str | None = None,
    by: str | None = None,
    run: Path | None = None,
    model: str | None = None,
    models: str | None = None,
    drop_spelled: bool = False,
    split: bool = False,
    to: Path | None = None,
    plot: Path | None = None,
) -> None:
    """Hold models against people: what surprisal explains beyond length and frequency.

    Two regressions are fitted, with and without surprisal. The table shows how much likelier
    surprisal makes the measures (ΔLogLik), on all items and on items that were held out. --to
    writes the items with their predictors, --plot draws the partial effect of surprisal.

    Args:
        source (TABLE): A CSV, TSV or Parquet table with an item and a measure in each row; or
            flp-words, flp-pseudowords, megalex-visual, megalex-auditory, chronolex.
        item: The column of words; `item` by default.
        measure: The column of what was measured: a time, a rating.
        text: The column that names the text of each word. Words are then read in their texts, in
            the order of the rows, and the previous word counts too.
        by (COLUMN,…): Columns of the table that are factors of both regressions, crossed: two
            columns for a 2 × 2 design.
        split: The parts of surprisal are predictors too: all together, and each beyond the others.
    """
    from accord.pipeline.study.norms import norms as hold

    _check_files(to, plot, Path(source))
    result = hold(
        source,
        _chosen(run, model, models, None),
        item=item,
        measure=measure,
        text=text,
        by=listed(by or ""),
        drop_spelled=drop_spelled,
        split=split,
    )
    print_table(result.table)
    if text is None:
        echo("Each item was read by itself, as the first word of a sentence: not as in reading.")
    if to:
        write_table(result.data, to)
        echo(f"{counted(len(result.data), 'item')}: {to}")
    if plot:
        from accord.pipeline.base.figures import draw, partial_effects

        draw(partial_effects(result.partial, result.label), plot)
        echo(f"figure: {plot}")


def _of_feature(table: pd.DataFrame, feature: str) -> pd.DataFrame:
    """Return the values of one feature, without values that are 0.000 before each word."""
    words = table[[name for name in ("model", "before") if name in table]]
    values = table[[name for name in table if name.startswith(f"{feature}=")]]
    return words.join(values.loc[:, values.max() >= 0.0005].map("{:.3f}".format))


def _chosen(
    run: Path | None,
    model: str | None,
    models: str | None,
    *conditions: Any,
    lexicon: Path | None = None,
) -> Scorer | dict[str, Scorer]:
    """Return one model, or several by name, each under the same conditions.

    A name is that of a model of the run, or stands for any other model.
    """
    if not models:
        return conditioned(load_model(run, model, lexicon), *conditions)
    if model:
        raise AccordError(f"expected --model or --models, got both: {model} and {models}")
    of_run = [model.name for model in find(run)] if run else []
    return {
        name: conditioned(
            load_model(*((run, name) if name in of_run else (Path(name), None)), lexicon),
            *conditions,
        )
        for name in listed(models)
    }


def _check_files(to: Path | None, plot: Path | None, source: Path | None = None) -> None:
    """Reject files that cannot be written before anything is computed; make their folders."""
    if to and source and to.resolve() == source.resolve():
        raise AccordError(f"--to: {to} is the table that is read; choose another name")
    if plot:
        import_module("matplotlib")  # or say now that it is missing
    if to and to.suffix not in TABLES:
        raise AccordError(f"--to: expected a name that ends in {', '.join(TABLES)}; got {to}")
    if plot and plot.suffix not in DRAWN:
        raise AccordError(f"--plot: expected a name that ends in {' or '.join(DRAWN)}; got {plot}")
    make_room(to, plot)
