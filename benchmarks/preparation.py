"""What preparing a corpus costs in memory, on generated texts of which one is ten times the other.

Words are drawn by Zipf's law from all forms of a lexicon and, beyond them, from words made up of
syllables: new ones keep coming as they do in a real text, a third of a percent of all. Each stage
runs in a process of its own, whose peak the operating system reports.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from accord import lexicon
from accord.pipeline.data.catalogue import folder_of

SYLLABLES = [consonant + vowel for consonant in "bcdfglmnprst" for vowel in "aeiou"]
EXPONENT = 1.4  # of Zipf's law: five million words then have 80,000 types, as in French
SENTENCE = (5, 30)  # words: the fewest and the most
AT_ONCE = 1000  # sentences


class PreparationCost(NamedTuple):
    """What a stage took for a text of so many words."""

    stage: str
    words: int
    mebibytes: float
    seconds: float


def generate(path: Path, words: int, source: str = "dela") -> None:
    """Write a text of at least so many words, one sentence a line."""
    generator = np.random.default_rng(1)
    # The chain that the stages load: if it has to be compiled, that is not a matter of the text.
    chain = lexicon.load(["closed", source, "guesser"], folder=folder_of, lowercase=True)
    forms = sorted(chain)
    generator.shuffle(forms)
    written = 0
    with path.open("w", encoding="utf-8") as file:
        while written < words:
            lengths = generator.integers(*SENTENCE, AT_ONCE, endpoint=True)
            ranks = iter((generator.zipf(EXPONENT, lengths.sum()) - 1).tolist())
            for length in lengths:
                sentence = " ".join(_word(next(ranks), forms) for _ in range(length))
                file.write(f"{sentence}.\n")
            written += int(lengths.sum()) + AT_ONCE  # the full stops are words too


def _word(rank: int, forms: Sequence[str]) -> str:
    if rank < len(forms):
        return forms[rank]
    syllables = []
    while rank:
        rank, syllable = divmod(rank, len(SYLLABLES))
        syllables.append(SYLLABLES[syllable])
    return "".join(syllables[:8])


def measure(words: int, overrides: Sequence[str], folder: Path) -> Iterator[PreparationCost]:
    """Prepare a generated text with the default preset, in a folder with room for it."""
    text = folder / f"{words}.txt"
    with ProcessPoolExecutor(
        1, get_context("spawn")
    ) as pool:  # a child's peak is also its parent's
        pool.submit(generate, text, words).result()
        stages = pool.submit(_preparation).result()
    changes = [f"corpus.source={text}", "corpus.limit=null", *overrides]
    command = [sys.executable, "-m", "accord.pipeline.cli.main", "--quiet", "run", "default"]
    command += [
        "--runs",
        str(folder / "runs"),
        *(part for each in changes for part in ("--set", each)),
    ]
    for stage in stages:
        start = time.monotonic()
        process = subprocess.Popen([*command, "--until", stage])
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise RuntimeError(f"{stage} failed on {text}: see above")
        yield PreparationCost(stage, words, usage.ru_maxrss / 1024, time.monotonic() - start)


def _preparation() -> list[str]:
    """The stages before training, found by another process, so that this one stays small."""
    from accord.pipeline.stages.table import above

    return above("train")


def compared(costs: Sequence[PreparationCost]) -> pd.DataFrame:
    """One row a stage: the peak and the time for each text, and the ratio of the peaks."""
    rows = []
    for stage in dict.fromkeys(cost.stage for cost in costs):
        short, long = sorted(
            (cost for cost in costs if cost.stage == stage), key=lambda cost: cost.words
        )
        row = {"stage": stage}
        for cost in (short, long):
            row[f"MiB, {cost.words:,} words"] = f"{cost.mebibytes:,.0f}"
            row[f"s, {cost.words:,} words"] = f"{cost.seconds:,.0f}"
        rows.append(row | {"ratio of MiB": f"{long.mebibytes / short.mebibytes:.2f}"})
    return pd.DataFrame(rows)
