"""What models know of agreement: `accord agree` and `accord suite make`."""

from pathlib import Path
from typing import Annotated

import typer

from pipeline.cli.console import command, listed, print_table

app = typer.Typer()
suite_app = typer.Typer(help="Make agreement suites from sentences of your own.")


@command(app)
def agree(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN…", help="Folders of runs, such as runs/closed.")
    ],
    suite: Annotated[
        str, typer.Option(metavar="NAME|PATH", help="A suite in the form of CLAMS.")
    ] = "clams-fr",
    by: Annotated[
        str, typer.Option(help="Rows: construction; and distance or attractors where known.")
    ] = "construction",
) -> None:
    """Show how often models find the right sentence of a minimal pair likelier, side by side."""
    from pipeline.compare.agree import SCORINGS, groups, judged, side_by_side

    rows = groups(suite, by)
    asked = judged(runs, suite)
    for scoring in range(len(SCORINGS)):
        print_table(side_by_side(asked, rows, scoring))
        print()


@command(suite_app)
def make(
    corpus: Annotated[
        str, typer.Argument(metavar="CORPUS", help="A treebank or a text: a name or a path.")
    ],
    to: Annotated[Path, typer.Option(help="The folder to write.")],
    lexicon: Annotated[
        str, typer.Option(help="Whose paradigms are used: names or paths, separated by commas.")
    ] = "closed,dela",
) -> None:
    """Take real sentences and flip number, gender or person of a word that has to agree."""
    import lexicon as lexicons
    from pipeline.data.folders import folder_of
    from pipeline.evaluation.suite_making import make_suite

    chain = lexicons.load(listed(lexicon), folder=folder_of)
    pairs = make_suite(corpus, chain, to).groupby("construction")
    table = pairs.agg(
        pairs=("distance", "size"),
        farthest=("distance", "max"),
        with_attractors=("attractors", lambda counts: int((counts > 0).sum())),
    )
    print_table(table.rename(columns={"with_attractors": "with attractors"}).reset_index())
    print(f"written to {to}; `accord agree RUN --suite {to}` asks models")
