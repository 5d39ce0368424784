"""What finished runs show: `accord audit`, `compare`, `significance` and `tables`."""

from pathlib import Path
from typing import Annotated

import typer

from pipeline.console import Runs, Seeds, Set, command, print_table

app = typer.Typer()

Finished = Annotated[
    Path, typer.Argument(metavar="RUN", help="The folder of a run, such as runs/paper.")
]


@command(app)
def audit(run: Finished) -> None:
    """Show from which splits the vocabulary, φ and b of a run were computed: is the test known?"""
    from pipeline import audit as auditing

    print_table(auditing.audit(run))
    for name in auditing.texts_in_lexicons(run):
        print(
            f"φ also comes from the lexicon '{name}', which is made of a text: that text is known."
        )


@command(app)
def compare(
    places: Annotated[
        list[str], typer.Argument(metavar="RUN|CONFIG…", help="Folders of runs, or presets to run.")
    ],
    set: Set = None,
    seeds: Seeds = 1,
    runs: Runs = Path("runs"),
    to: Annotated[
        Path | None, typer.Option(help="A folder for table and figure; default: in the runs'.")
    ] = None,
) -> None:
    """Set the models of several runs in one table, training those that are not yet trained."""
    from pipeline import compare as comparing

    found = comparing.find_or_run(places, set=set or (), seeds=seeds, runs=runs)
    scores = comparing.gather(found)
    shown = comparing.table(scores)
    folder = to or runs / "comparison"
    comparing.write(scores, shown, folder)
    print_table(shown)
    print(f"figure: {folder / 'time.png'}")


@command(app)
def significance(
    run: Finished,
    against: Annotated[
        str | None, typer.Option(metavar="MODEL", help="Compare with it; default: the first.")
    ] = None,
) -> None:
    """Show which differences between a run's models are real, by a paired bootstrap."""
    from pipeline.significance import compare as compare_pairs

    print_table(compare_pairs(run, against))


@command(app)
def tables(run: Finished) -> None:
    """Set the tables of the LL-RNN paper beside a run of the preset `paper`."""
    from pipeline import paper

    print(paper.tables(run), end="")
