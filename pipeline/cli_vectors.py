"""What a trained model's word vectors know: `accord nearest` and `accord inflection`."""

from typing import Annotated

import typer

from pipeline.cli_model import DEFAULT_RUN, Model, TrainedRun, load_model
from pipeline.console import command, print_table

app = typer.Typer()


@command(app)
def nearest(
    word: Annotated[str, typer.Argument(metavar="WORD")],
    run: TrainedRun = DEFAULT_RUN,
    model: Model = None,
    most: Annotated[int, typer.Option(min=1, help="So many neighbours.")] = 10,
) -> None:
    """Show the words whose vectors are nearest to a word's own."""
    from pipeline.vectors import Vectors

    table = Vectors(load_model(run, model)).nearest(word, most)
    print_table(table.assign(cosine=table["cosine"].map("{:.3f}".format)))


@command(app)
def inflection(run: TrainedRun = DEFAULT_RUN, model: Model = None) -> None:
    """Show how often vector arithmetic finds another form of a lemma, judged by the lexicon."""
    import pandas as pd

    from pipeline.vectors import Vectors
    from pipeline.vectors import inflection as measure

    scorer = load_model(run, model)
    analyses = pd.read_parquet(scorer.artefacts["analyse"] / "analyses.parquet")
    table = measure(Vectors(scorer), analyses)
    shares = table.columns[3:]
    print_table(table.assign(**{name: table[name].map("{:.1%}".format) for name in shares}))
