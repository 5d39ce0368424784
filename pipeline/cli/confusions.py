"""Words taken for others: `accord correct` and `accord corrections`."""

import json as jsons
from typing import TYPE_CHECKING, Annotated

import pandas as pd
import typer

from accord.lexicon.dictionaries.lexique import Homophones
from accord.pipeline.cli.console import command
from accord.pipeline.cli.options import Model, TrainedRun, load_model
from accord.pipeline.cli.score import Text, numbered_sentences
from accord.pipeline.data.folders import folder_of
from accord.pipeline.display.messages import counted, echo, say, track
from accord.pipeline.display.tables import print_table
from accord.pipeline.evaluation.suites import read_suite

if TYPE_CHECKING:
    from accord.pipeline.correction.correct import Reasons


MARGIN = 5.0  # nats; about what planted homophones in UD French are found best with
SHOWN = 4  # so many reasons are printed


@command
def correct(
    text: Text,
    run: TrainedRun = None,
    model: Model = None,
    margin: Annotated[
        float,
        typer.Option(help="Nats that a sentence must gain from a word for it to be suggested."),
    ] = MARGIN,
    json: Annotated[
        bool, typer.Option("--json", help="Print a JSON object for each sentence.")
    ] = False,
) -> None:
    """Suggest words that agree better, or that sound the same and fit better, and say why."""
    from accord.pipeline.correction.correct import Corrector, rows

    sentences = numbered_sentences(text)
    corrector, found = Corrector(load_model(run, model), homophones()), []
    for number, sentence in track(sentences, "sentences", len(sentences)):
        suggestions = rows(corrector, sentence, margin)
        found += [{"line": number} | each for each in suggestions]
        if json:
            line = {"line": number, "text": sentence, "suggestions": suggestions}
            echo(jsons.dumps(line, ensure_ascii=False))
    if json:
        return
    if found:
        table = pd.DataFrame(found).drop(columns=["start", "end"])
        shown = {"gain": table["gain"].map("{:+.2f}".format), "why": table["why"].map(_shown)}
        print_table(table.assign(**shown))
    echo(f"{counted(len(found), 'suggestion')} in {counted(len(sentences), 'sentence')}")


@command
def corrections(
    suite: Annotated[
        str,
        typer.Argument(
            metavar="SUITE", help="Right and wrong sentences: a suite of `accord suite`, or a path."
        ),
    ],
    tune: Annotated[
        str | None,
        typer.Option(metavar="SUITE", help="Other such sentences, to tune the margin on."),
    ] = None,
    run: TrainedRun = None,
    model: Model = None,
    margin: Annotated[
        float, typer.Option(help="Nats that a sentence must gain, if nothing is tuned.")
    ] = MARGIN,
) -> None:
    """Measure `accord correct` on planted errors: how many it repairs, how often it is wrong."""
    from accord.pipeline.correction.correct import Corrector, JudgedCorrections, readable

    pairs, development = read_suite(suite).pairs, read_suite(tune).pairs if tune else ()
    corrector = Corrector(load_model(run, model), homophones())
    if tune:
        margin = JudgedCorrections.of(readable(development, corrector.scorer), corrector).tuned()
    known = readable(pairs, corrector.scorer)
    if len(known) < len(pairs):
        say(f"pairs left out, with words the model does not know: {len(pairs) - len(known):,}")
    table = JudgedCorrections.of(known, corrector).table(margin)
    shares = {name: table[name].map("{:.1%}".format) for name in table.columns[1:]}
    print_table(table.astype({"planted": int}).assign(**shares).rename_axis("error").reset_index())
    echo(f"margin: {margin:.2f} nats; half of the sentences have one error, half have none")


def _shown(reasons: "Reasons") -> str:
    """The largest reasons, and how much all others give together."""
    first, others = list(reasons.items())[:SHOWN], list(reasons.values())[SHOWN:]
    rest = [("others", sum(others))] if others else []
    return ", ".join(f"{name} {nats:+.2f}" for name, nats in [*first, *rest])


def homophones() -> "Homophones":
    return Homophones.load(folder_of)
