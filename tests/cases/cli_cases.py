"""The command line in a process of its own."""

import os
import subprocess
import sys


def started(*words: str, text: bool = True, **environment: str) -> subprocess.CompletedProcess:
    """Run a command in a process of its own."""
    command = [sys.executable, "-m", "accord.pipeline.cli.main", *words]
    environment = os.environ | environment
    return subprocess.run(command, capture_output=True, text=text, env=environment)
