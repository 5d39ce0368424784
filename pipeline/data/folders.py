"""Where fetched corpora and lexicons lie: one folder each, under ACCORD_DATA or the user's cache.

A folder that is already there is used as it is. ACCORD_DATA may be read-only: what it lacks is
then fetched into the cache, which is searched after it.
"""

import os
import stat
from pathlib import Path


def cache_home() -> Path:
    """The user's cache folder for Accord."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "accord"


def data_folders() -> list[Path]:
    """The folders that are searched for data, in order."""
    named = os.environ.get("ACCORD_DATA")
    return [*([Path(named)] if named else []), cache_home() / "data"]


def writable_data_folder() -> Path:
    """The first data folder that can be written to; it is made if it is not there."""
    for folder in data_folders():
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if folder.stat().st_mode & stat.S_IWUSR and os.access(folder, os.W_OK):
            return folder  # the mode is asked too, because an administrator may write anywhere
    raise PermissionError(f"no data folder can be written: {[str(f) for f in data_folders()]}")


class MissingData(FileNotFoundError):
    """A source's data is in none of the data folders."""

    def __init__(self, source: str):
        looked = " or ".join(str(folder / source) for folder in data_folders())
        super().__init__(
            f"the data of '{source}' is not here: expected a folder {looked}.\n"
            f"Online, `accord fetch {source}` brings it."
        )
        self.source = source


def folder_of(source: str) -> Path:
    """The folder that holds a source's data, or an error that says how to get it."""
    for folder in data_folders():
        if (folder / source).is_dir():
            return folder / source
    raise MissingData(source)
