"""Make small mistakes in the core, one by one, and see whether the tests notice.

Each is made in a copy of the checkout, and the tests of its module are run there until one fails. A
mutation that no test notices has survived. The tests of the copy have a cache of their own.
"""

import compileall
import os
import py_compile
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from benchmarks.mutations import HERE, MUTATIONS, Mutation, noticing_tests

LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "runs", "results", "notebooks")
PASSED, FAILED, BROKEN = 0, 1, 2  # what pytest returns; the last where a test cannot be imported
LONGEST = 1200  # seconds that the tests of a mutation may take


class Outcome(NamedTuple):
    mutation: Mutation
    line: int
    killed_by: str | None  # the test that failed first; None of a survivor
    seconds: float


def tried(chosen: Sequence[Mutation]) -> Iterator[Outcome]:
    """Make each mistake by itself; a test that also fails without it is an error."""
    with TemporaryDirectory() as folder:
        copy = Path(folder) / "checkout"
        shutil.copytree(HERE, copy, symlinks=True, ignore=LEFT_OUT)
        # Compiled files are known by what the source holds: two mutations may be written in a
        # second, and have the same length.
        by_content = py_compile.PycInvalidationMode.CHECKED_HASH
        compileall.compile_dir(copy, quiet=2, invalidation_mode=by_content)
        for mutation in chosen:
            line, path, began = mutation.line(copy), copy / mutation.file, time.monotonic()
            text = path.read_text(encoding="utf-8")
            path.write_text(text.replace(mutation.right, mutation.wrong), encoding="utf-8")
            killed_by = first_failure(copy, noticing_tests(mutation.file, copy))
            path.write_text(text, encoding="utf-8")
            if killed_by and first_failure(copy, [killed_by]):
                raise RuntimeError(f"expected {killed_by} to pass without a mutation; it fails")
            yield Outcome(mutation, line, killed_by, time.monotonic() - began)


def first_failure(copy: Path, tests: Sequence[str]) -> str | None:
    """Return the first of some tests that fails in a copy of the checkout."""
    with TemporaryDirectory() as scratch:
        environment = {
            "PYTHONPATH": str(copy),
            "PYTHONDONTWRITEBYTECODE": "1",
            "XDG_CACHE_HOME": scratch,
        }
        options = ["-q", "-x", "-p", "no:cacheprovider", f"--basetemp={scratch}/tests"]
        command = [sys.executable, "-m", "pytest", *options, *tests]
        try:
            done = subprocess.run(
                command,
                cwd=copy,
                env=os.environ | environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=LONGEST,
            )
        except subprocess.TimeoutExpired:
            raise RuntimeError(f"{' '.join(command)} took more than {LONGEST} s") from None
    if done.returncode == PASSED:
        return None
    failure = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", done.stdout, re.MULTILINE)
    if done.returncode not in (FAILED, BROKEN) or not failure:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}")
    return failure[1]


def report(only: str) -> list[Outcome]:
    """Try the mutations of files whose names have a text; print each, and return the survivors."""
    survivors = []
    for outcome in tried([mutation for mutation in MUTATIONS if only in mutation.file]):
        mutation, line, killed_by, seconds = outcome
        fate = f"killed by {killed_by}" if killed_by else "SURVIVED"
        print(f"{mutation.file}:{line}: {mutation.mistake}: {fate} ({seconds:.0f} s)", flush=True)
        survivors += [] if killed_by else [outcome]
    return survivors
