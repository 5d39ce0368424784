"""Flip one bit of one file that Accord reads, ask again, and put the bit back.

A flip is found if an error names it, made anew if a cache is written again, harmless if the answer
is the same. Any other answer is wrong, and any other exception is a traceback.
"""

import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from accord.pipeline.run.pack import pack, unpack

import accord
from accord import lexicon
from accord.pipeline.base.artefact import _digest_once
from accord.pipeline.base.store import faults
from accord.pipeline.model.find import bundled

SENTENCE = "La petite fille mange une blouguette."
WORDS = ["petite", "Les", "1999", "blouguettes", "du", "fille"]
BRIEF = {"train.epochs": 2}
FOUND, ANEW, HARMLESS, WRONG, TRACEBACK = "found", "made anew", "harmless", "WRONG", "TRACEBACK"


class Found(ValueError):
    """`accord verify` names a file."""


@dataclass(frozen=True)
class Target:
    """A folder that is read, and what is asked of it."""

    name: str
    folder: Path
    ask: Callable[[], object]

    def files(self) -> list[Path]:
        """All files but code and what is only for people."""
        paths = sorted(path for path in self.folder.rglob("*") if path.is_file())
        return [path for path in paths if path.suffix != ".py" and path.stat().st_size]


def targets(scratch: Path) -> list[Target]:
    """A run, its model exported in both forms, the bundled model, the caches, a packed folder."""
    runs, packed = scratch / "runs", scratch / "packed"
    run = accord.run("tiny", set=BRIEF, runs=runs).folder
    plain = accord.export(run, "ll-rnn", scratch / "plain")
    compact = accord.export(run, "ll-rnn", scratch / "compact", compact=True)
    french = Path(shutil.copytree(bundled(), scratch / "french"))
    pack("tiny", packed, set=BRIEF, models=["ll-rnn"], runs=scratch / "other")
    sweep = [sys.executable, "-m", "accord.pipeline.run.sweep", str(packed)]
    subprocess.run(sweep, check=True, stdout=subprocess.DEVNULL)

    def verified() -> object:
        for fault in faults(run):
            raise Found(fault)
        return score(run)

    def taken_in() -> object:
        return score(packed), unpack(packed, runs=scratch / "unpacked")

    return [
        Target("run", runs, verified),
        Target("export", plain, lambda: score(plain)),
        Target("compact export", compact, lambda: score(compact)),
        Target("bundled model", french, lambda: score(french)),
        Target("lexicon cache", scratch / "cache" / "accord", looked_up),
        Target("packed folder", packed, taken_in),
    ]


def score(model: Path) -> object:
    """What a model says of a sentence, and why."""
    scorer = accord.load(model)
    return scorer.score(SENTENCE), scorer.explain("la petite …").to_csv()


def looked_up() -> object:
    chain = lexicon.load(["closed", "tiny", "guesser"], folder=None)
    return chain.lookup(WORDS).to_csv()


@contextmanager
def flipped(path: Path, bit: int) -> Iterator[None]:
    """A file with one bit changed, and afterwards as it was."""
    before = path.read_bytes()
    damaged = bytearray(before)
    damaged[bit // 8] ^= 1 << bit % 8
    path.write_bytes(damaged)
    _digest_once.cache_clear()
    try:
        yield
    finally:
        path.write_bytes(before)
        _digest_once.cache_clear()


def outcome(target: Target, path: Path, bit: int, expected: object) -> tuple[str, str]:
    """What one flip leads to, and what was said."""
    with flipped(path, bit):
        damaged = path.read_bytes()
        try:
            answer = target.ask()
        except (ValueError, OSError, LookupError) as error:
            return FOUND, str(error)
        except Exception as error:
            return TRACEBACK, repr(error)
        if answer != expected:
            return WRONG, str(answer)
        return (ANEW if path.read_bytes() != damaged else HARMLESS), ""


def measure(count: int, seed: int, scratch: Path) -> tuple[dict[str, Counter[str]], list[str]]:
    """The outcomes of so many flips by target, and every flip that was neither found nor harmless.

    Targets take turns; a file of a target and a bit of the file are drawn.
    """
    os.environ["XDG_CACHE_HOME"] = str(scratch / "cache")
    generator = random.Random(seed)
    chosen = targets(scratch)
    looked_up()
    expected = {target.name: target.ask() for target in chosen}
    found: dict[str, Counter[str]] = {target.name: Counter() for target in chosen}
    bad = []
    for number in range(count):
        target = chosen[number % len(chosen)]
        shutil.rmtree(scratch / "unpacked", ignore_errors=True)
        path = generator.choice(target.files())
        bit = generator.randrange(8 * path.stat().st_size)
        what, said = outcome(target, path, bit, expected[target.name])
        found[target.name][what] += 1
        if what in (WRONG, TRACEBACK):
            bad.append(f"{target.name}: {path.relative_to(target.folder)} bit {bit}: {what} {said}")
    return found, bad
