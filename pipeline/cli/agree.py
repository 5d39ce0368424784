"""What models know of agreement: `accord agree` and `accord suite make`."""

from pathlib import Path
from typing import Annotated

import typer

from pipeline.cli.console import Group, command, listed, print_table

app = typer.Typer()
suite_app = typer.Typer(cls=Group, help="Make agreement suites out of sentences of your own.")


@command(app)
def agree(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN", help="Folders of the runs to ask, such as runs/closed."),
    ],
    suite: Annotated[
        str,
        typer.Option(
            metavar="NAME|PATH",
            help="Suite to ask, in the form of CLAMS: the name of a data folder, or a path.",
        ),
    ] = "clams-fr",
    by: Annotated[
        str,
        typer.Option(
            help="What the rows stand for: construction; or distance or attractors, which the "
            "suites of `accord suite make` tell."
        ),
    ] = "construction",
) -> None:
    """Show how often each model finds the right sentence of a minimal pair the likelier one."""
    from pipeline.compare.agree import SCORINGS, groups, judged, side_by_side

    rows = groups(suite, by)
    asked = judged(runs, suite)
    for scoring in range(len(SCORINGS)):
        print_table(side_by_side(asked, rows, scoring))
        print()


@command(suite_app)
def make(
    corpus: Annotated[
        str,
        typer.Argument(metavar="CORPUS", help="Treebank or text to use: its name, or its path."),
    ],
    to: Annotated[Path, typer.Option(help="Folder to write the suite to.")],
    lexicon: Annotated[
        str,
        typer.Option(
            help="Lexicons that know the forms of words: names or paths, separated by commas."
        ),
    ] = "closed,dela",
) -> None:
    """Make minimal pairs: real sentences, and the same with a word that no longer agrees."""
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
