"""One folder of a public repository, at one commit: no history, and no file outside it."""

import os
import subprocess
from pathlib import Path


def check_out(url: str, commit: str, path: str, into: Path) -> Path:
    """Fetch a folder at a commit, every object of it checked by its id; returns where it lies.

    A command of git that fails is a `CalledProcessError` with what git said.
    """
    into.mkdir()
    _git(into, "init", "--quiet")
    _git(into, "remote", "add", "origin", url)
    # The commit and its trees first; the checkout then asks for the folder's files all at once.
    _git(into, "fetch", "--quiet", "--depth=1", "--filter=blob:none", "origin", commit)
    _git(into, "sparse-checkout", "set", "--no-cone", f"/{path}/")
    _git(into, "-c", "core.autocrlf=false", "checkout", "--quiet", "--detach", commit)
    return into / path


def tree_id(checkout: Path) -> str:
    """The id that git gives the content of a folder that was checked out."""
    return _git(checkout, "rev-parse", "HEAD:./").strip()


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments],
        cwd=folder,
        env=os.environ | {"GIT_TERMINAL_PROMPT": "0"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout
