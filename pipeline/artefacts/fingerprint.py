"""Hashes of what a stage depends on: files and values."""

import hashlib
import json
from pathlib import Path
from typing import Any


def of_file(path: Path) -> str:
    """The SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def of_value(value: Any) -> str:
    """The SHA-256 of a value in canonical JSON."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()
