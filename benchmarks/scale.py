"""The cost of preparing real text, at once and in shards.

Each stage runs in a process of its own. The operating system reports its CPU seconds, those of its
workers included, and the largest peak among these processes.
"""

import json
import lzma
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from accord.corpora.sources import CORPORA
from accord.pipeline.base.artefact import ARTEFACTS, hashes_of
from accord.pipeline.data.catalogue import data_folders, folder_of

STAGES = ("corpus", "tokenise", "analyse", "featurise", "background", "encode")
SOURCES = {"orangesum": "article", "eltec": "text"}  # and the key of a document's text
LEXICONS = "[closed, lefff, dela, lexique, guesser]"
HELD_OUT = 300  # sentences of validation and of test, so that a text of any size can be split


class StageCost(NamedTuple):
    """The time and memory of a stage."""

    way: str
    stage: str
    seconds: float
    cpu: float
    mebibytes: float


def cut(words: int, folder: Path) -> None:
    """Write the first documents of both sources, with about so many words together.

    All other data is linked.
    """
    for data in reversed(data_folders()):
        for path in data.iterdir() if data.is_dir() else ():
            if path.name not in SOURCES:
                (folder / path.name).unlink(missing_ok=True)
                (folder / path.name).symlink_to(path.resolve())
    for source, key in SOURCES.items():
        [name] = CORPORA[source].files
        (folder / source).mkdir()
        left = words / len(SOURCES)
        with (
            lzma.open(folder_of(source) / name, "rt", encoding="utf-8") as whole,
            lzma.open(folder / source / name, "wt", encoding="utf-8", preset=0) as part,
        ):
            for line in whole:
                if left <= 0:
                    break
                part.write(line)
                left -= len(json.loads(line)[key].split())


def measure(
    ways: Mapping[str, Sequence[str]], data: Path, folder: Path
) -> Iterator[StageCost | str]:
    """Prepare the text of a data folder in several ways; each must have the same bytes."""
    settings = {
        "corpus.source": f"[{', '.join(SOURCES)}]",
        "corpus.valid": HELD_OUT,
        "corpus.test": HELD_OUT,
        "analyse.lexicon": LEXICONS,
        "analyse.suites": "[]",
        "tokenise.processes": 1,
    }
    changes = [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]
    command = [sys.executable, "-m", "accord.pipeline.cli.main", "--quiet", "run", "open"]
    made = {}
    for way, options in ways.items():
        for stage in STAGES:
            chosen = [*changes, "--models", "ll-rnn", "--runs", folder / way, "--until", stage]
            cost = run_measured([*command, *chosen, *options], ACCORD_DATA=str(data))
            yield StageCost(way, stage, *cost)
        made[way] = hashes_of(folder / way / ARTEFACTS)
        first = next(iter(made))
        same = made[way] == made[first]
        yield f"{way}: {len(made[way])} files, {'the same as' if same else 'OTHER than'} {first}"


def run_measured(command: Sequence[object], **environment: str) -> tuple[float, float, float]:
    """Run a command that must succeed; return its seconds, CPU seconds and peak in MiB."""
    start = time.monotonic()
    process = subprocess.Popen([*map(str, command)], env={**os.environ, **environment})
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{command[-1]} failed: see above")
    return time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024
