"""Pairs of runs in one folder: `python runs_at_once.py FOLDER TIMES`.

One process loads all that a run computes with, and each run is a fork of it: they meet in the work
itself, not while they load, and nothing else takes time. What each prints stands in a file.
"""

import os
import random
import sys
import time
from pathlib import Path

from pipeline.cli.main import app

COMMAND = ("run", "tiny", "--set", "train.epochs=2", "--runs")
LATEST = 3  # seconds after the first that the second begins: most runs are not over by then


def start(runs: Path, printed: Path) -> int:
    """A process that runs into the folder."""
    child = os.fork()
    if not child:
        with printed.open("w") as file:
            os.dup2(file.fileno(), sys.stdout.fileno())
        app([*COMMAND, str(runs)])  # which exits
    return child


def exit_code(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main(folder: Path, times: int) -> None:
    app([*COMMAND, str(folder / "loaded")], standalone_mode=False)
    sys.stdout.flush()
    for number in range(times):
        runs = folder / str(number) / "runs"
        runs.mkdir(parents=True)
        pair = [start(runs, runs.with_name("first.txt"))]
        time.sleep(random.Random(number).uniform(0, LATEST) * bool(number))  # the first two at once
        pair.append(start(runs, runs.with_name("second.txt")))
        codes = [exit_code(child) for child in pair]
        if codes != [0, 0]:
            sys.exit(f"pair {number}: expected two runs that end well, found {codes}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
