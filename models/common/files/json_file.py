"""JSON from disk: an error names the file, however wrong, deep or large its content is."""

import json
from pathlib import Path
from typing import Any

LARGEST = 1 << 28  # bytes; what Accord writes as JSON is far smaller
CALLED = {dict: "an object", list: "a list"}


def load_json(path: Path, kind: type) -> Any:
    """What a file holds, which is to be of that kind: `dict` or `list`."""
    if path.stat().st_size > LARGEST:
        raise ValueError(f"{path}: expected at most {LARGEST:,} bytes, got {path.stat().st_size:,}")
    try:
        content = json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: expected JSON, but {error}") from None
    if not isinstance(content, kind):
        raise ValueError(f"{path}: expected {CALLED[kind]}, got {type(content).__name__}")
    return content


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number")
