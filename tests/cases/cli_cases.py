"""The command line in a process of its own, and commands of another package."""

import os
import subprocess
import sys
from pathlib import Path


def started(*words: str, text: bool = True, **environment: str) -> subprocess.CompletedProcess:
    """Run a command in a process of its own."""
    command = [sys.executable, "-m", "accord.pipeline.cli.main", *words]
    environment = os.environ | environment
    return subprocess.run(command, capture_output=True, text=text, env=environment)


def offer_commands(folder: Path, package: str, code: str) -> None:
    """Install a package into a folder whose COMMANDS are an entry point."""
    (folder / f"{package}.py").write_text(code)
    about = folder / f"{package}-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1\n")
    (about / "entry_points.txt").write_text(f"[accord.commands]\n{package} = {package}:COMMANDS\n")
