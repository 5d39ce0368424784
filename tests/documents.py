"""README and docs/: their commands are run, and the outputs that they show are real ones.

    python -m tests.documents --write  writes outputs, commands.md, columns.md and tables anew

A page is read as a person reads it, from top to bottom, in one folder:

    ```sh             is run, line by line, unless its first line is a comment. The comment then
                      says why: it takes long, downloads much, or waits. Its commands must parse.
    ```python         is run; the blocks of a page share their names.
    ```csv title="x"  is written to the file x. So is any other block with a title.
    ```yaml           is a valid configuration.
    ```text           right below a block that is run is what the block prints.
"""

import argparse
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command
from typer.testing import CliRunner

from accord.pipeline.cli.main import app
from accord.pipeline.config.configuration import load_config

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.DOTALL | re.MULTILINE)
SHELL, PYTHON, YAML, OUTPUT = "sh", "python", "yaml", "text"
WIDTH = "100"  # columns of the terminal in which commands are run
# Trained here and not bundled: other machines give other digits, and every run other times.
TRAINED = re.compile(r"\bruns/|\baccord run\b|\blexicon compare\b")
NUMBER = re.compile(r"[-−+]?\d[\d,]*(?:\.\d+)?")
UsageError: type[Exception] = typer.BadParameter.__bases__[0]  # that of click, typer's or not
NEEDS_A_SHELL = re.compile(r"[|<>]")


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    language: str
    title: str | None  # the file that it is written to
    body: str
    span: tuple[int, int]  # of the body in the page
    output: "Block | None"  # right below it

    @property
    def is_run(self) -> bool:
        return self.language in (SHELL, PYTHON) and not self.body.startswith("#")

    @property
    def is_the_same_everywhere(self) -> bool:
        return not TRAINED.search(self.body)

    @property
    def sources(self) -> list[str]:
        """The data that it fetches."""
        found = re.findall(r"^accord fetch (.+)$", self.body, re.MULTILINE)
        return found if self.is_run else []


def blocks(text: str) -> list[Block]:
    """The blocks of a page; an output is part of the block above it."""
    found: list[Block] = []
    after: Block | None = None
    for match in reversed([*FENCE.finditer(text)]):
        block = Block(match[1], match[2], match[3], match.span(3), None)
        if block.language in (SHELL, PYTHON) and after and after.language == OUTPUT:
            between = text[match.end() : after.span[0]].removesuffix(f"```{OUTPUT}\n")
            if not between.strip():
                block = Block(*match.groups(), match.span(3), after)
                found.remove(after)
        found.append(block)
        after = block
    return found[::-1]


def printed(block: Block, names: dict[str, Any]) -> str:
    """Run a block in the current folder and return what it prints to standard output."""
    if block.language == PYTHON:
        with redirect_stdout(io.StringIO()) as out:
            exec(block.body, names)
        return out.getvalue()
    return "".join(map(_printed_by_command, block.body.splitlines()))


def _printed_by_command(command: str) -> str:
    """By the shell if it needs one; else in this process, as starting takes seconds."""
    here = str(Path(sys.executable).parent)
    environment = {
        "COLUMNS": WIDTH,
        "PATH": f"{here}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),  # the shell's `accord` is this one, whatever is installed
    }
    if not command.startswith("accord ") or NEEDS_A_SHELL.search(command):
        done = subprocess.run(
            command, shell=True, env=os.environ | environment, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        return done.stdout
    done = CliRunner().invoke(app, shlex.split(command)[1:], env=environment)
    assert done.exit_code == 0, f"{command}\n{done.output}"
    return done.stdout


def check_syntax(block: Block) -> None:
    """Its commands are ones that Accord has, with options that they take."""
    for line in block.body.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ["accord"]:
            _parse(words[1:])
        elif words[:1] == ["make"]:
            targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
            assert {*words[1:]} <= {*targets}, line


def _parse(arguments: list[str]) -> None:
    command: Any = get_command(app)
    while isinstance(command, TyperGroup):
        with command.make_context("accord", [*arguments]) as context:
            _, command, arguments = command.resolve_command(context, arguments)
    command.make_context("accord", arguments).close()


def read_page(path: Path) -> Iterator[tuple[Block, str]]:
    """Do all that a page says in the current folder; each block that is run, and its output."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks(path.read_text(encoding="utf-8")):
        if block.title:
            Path(block.title).write_text(block.body, encoding="utf-8")
        if block.is_run:
            yield block, printed(block, names)
        elif block.language == SHELL:
            check_syntax(block)
        elif block.language == YAML:
            copy = Path(block.title or "page.yaml")
            copy.write_text(block.body, encoding="utf-8")
            assert load_config(str(copy)).models


def prepare(folder: Path) -> None:
    """A place that looks like the root of the repository, with the run that pages look at."""
    shutil.copytree(ROOT / "tests" / "data", folder / "tests" / "data", dirs_exist_ok=True)
    with chdir(folder):
        _printed_by_command("accord run tiny")


def differences(shown: str, real: str) -> str | None:
    """The first line that differs; a number may differ by one in its last digit."""
    lines, others = lines_of(shown), lines_of(real)
    for line, other in zip(lines, others, strict=False):
        if not _is_close(line, other):
            return f"shown:   {line}\nprinted: {other}"
    if len(lines) != len(others):
        return f"{len(lines)} lines are shown, {len(others)} are printed"
    return None


def lines_of(output: str) -> list[str]:
    """Without spaces at the ends of lines, and without empty lines at the end."""
    return [line.rstrip() for line in output.rstrip().splitlines()]


def _is_close(line: str, other: str) -> bool:
    if NUMBER.sub("0", line) != NUMBER.sub("0", other):
        return False
    for pair in zip(NUMBER.findall(line), NUMBER.findall(other), strict=True):
        digits = len(pair[0].partition(".")[2])
        first, second = (float(each.replace(",", "").replace("−", "-")) for each in pair)
        if abs(first - second) > 1.01 * 10**-digits * bool(digits):
            return False
    return True


def with_outputs(path: Path) -> str:
    """The text of a page with what its blocks print now."""
    text = path.read_text(encoding="utf-8")
    changes = [
        (block.output.span, output) for block, output in read_page(path) if block.output is not None
    ]
    for (begin, end), output in reversed(changes):
        text = text[:begin] + "".join(f"{line}\n" for line in lines_of(output)) + text[end:]
    return text


def write() -> None:
    from tests.reference import REFERENCE

    for path, made in REFERENCE.items():
        path.write_text(made(), encoding="utf-8")
    with TemporaryDirectory() as folder:
        prepare(Path(folder, "prepared"))
        for path in PAGES:
            with chdir(shutil.copytree(Path(folder, "prepared"), Path(folder, path.stem))):
                path.write_text(with_outputs(path), encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", required=True)
    parser.parse_args()
    write()
