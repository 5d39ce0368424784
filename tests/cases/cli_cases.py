"""The command line, in this process and in one of its own."""

import os
import subprocess
import sys
from typing import Any

from typer.testing import CliRunner

from accord.pipeline.cli.main import app


def invoked(*words: object, **options: Any) -> Any:
    """Run a command in this process: starting one takes seconds."""
    return CliRunner().invoke(app, [*map(str, words)], **options)


def answered(*words: object, **options: Any) -> Any:
    """Run a command that ends well."""
    done = invoked(*words, **options)
    assert done.exit_code == 0, done.output
    return done


def started(*words: str, text: bool = True, **environment: str) -> subprocess.CompletedProcess:
    """Run a command in a process of its own."""
    command = [sys.executable, "-m", "accord.pipeline.cli.main", *words]
    environment = os.environ | environment
    return subprocess.run(command, capture_output=True, text=text, env=environment)
