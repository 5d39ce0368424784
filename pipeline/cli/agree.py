"""What models know of agreement: `accord agree` and `accord suite make`."""

from pathlib import Path
from typing import Annotated

import typer

from pipeline.cli.console import command, print_table

app = typer.Typer()
suite_app = typer.Typer(help="Make agreement suites from sentences of your own.")


@command(app)
def agree(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN…", help="Folders of runs, such as runs/closed.")
    ],
    suite: Annotated[
        str,
        typer.Option(
            metavar="NAME|PATH",
            help="A suite: a folder of texts in the form of CLAMS, of tables with the columns good "
            "and bad or of JSON lines with sentence_good and sentence_bad; or one such file.",
        ),
    ] = "clams-fr",
    by: Annotated[
        str,
        typer.Option(
            help="Rows: construction; or what else the suite says of its pairs, such as distance."
        ),
    ] = "construction",
    items: Annotated[
        Path | None, typer.Option(metavar="CSV", help="Write the margins of every pair.")
    ] = None,
) -> None:
    """Show how often models find the right sentence of a minimal pair likelier, side by side."""
    from pipeline.compare import agreement_items
    from pipeline.compare.agree import groups, judged, side_by_side
    from pipeline.display.progress import say

    rows = [groups(suite, by)]
    if by != "construction":
        rows.append(groups(suite, by, pooled=True))
    asked = judged(runs, suite)
    for scoring in agreement_items.telling(asked):
        for of_pairs in rows:
            print_table(side_by_side(asked, of_pairs, scoring))
            print()
    print_table(agreement_items.summary(asked, rows[0]))
    if items:
        agreement_items.items(asked, suite).to_csv(items, index=False)
        say(f"margins: {items}")
    if count := agreement_items.of_different_lengths(asked):
        say(f"pairs with sentences of different lengths: {count:,}; a whole favours the shorter")
    say("intervals take pairs for independent; those made from a few templates are not")


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

    chain = lexicons.load(lexicon.split(","), folder=folder_of)
    pairs = make_suite(corpus, chain, to).groupby("construction")
    table = pairs.agg(
        pairs=("distance", "size"),
        farthest=("distance", "max"),
        with_attractors=("attractors", lambda counts: int((counts > 0).sum())),
    )
    print_table(table.rename(columns={"with_attractors": "with attractors"}).reset_index())
    print(f"written to {to}; `accord agree RUN --suite {to}` asks models")
