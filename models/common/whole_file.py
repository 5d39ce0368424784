"""Files that are whole or not there, whenever the writing is interrupted."""

import os
from pathlib import Path

PARTIAL = ".*.partial"  # what a killed writer may leave behind


def write_whole(path: Path, content: bytes) -> None:
    """Write beside the old file, down to the disk, and put the new one in its place."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with partial.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)  # on a full disk, what there was room for
