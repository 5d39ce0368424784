"""What a finished run shows: `accord audit`, `accord compare` and `accord tables`."""

from pathlib import Path
from typing import Annotated

import typer

from pipeline.console import command, print_table

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
    run: Finished,
    against: Annotated[
        str | None, typer.Option(metavar="MODEL", help="Compare with it; default: the first.")
    ] = None,
) -> None:
    """Show which differences between a run's models are real, by a paired bootstrap."""
    from pipeline import significance

    print_table(significance.compare(run, against))


@command(app)
def tables(run: Finished) -> None:
    """Set the tables of the LL-RNN paper beside a run of the preset `paper`."""
    from pipeline import paper

    print(paper.tables(run), end="")
