"""`accord verify`: is a run still what was written?"""

import typer

from pipeline.cli_results import Finished
from pipeline.console import FAILED, command

app = typer.Typer()


@command(app)
def verify(run: Finished) -> None:
    """Read every file of a run and of its artefacts, and name each that was changed or damaged."""
    from pipeline.verify import faults

    found = list(dict.fromkeys(faults(run)))
    for fault in found:
        print(fault)
    if found:
        raise typer.Exit(FAILED)
    print(f"{run}: all files are as they were written")
