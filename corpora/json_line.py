"""A line of JSON, whatever is wrong with it being one kind of error."""

import json
import re
from typing import Any

HALF = re.compile("[\ud800-\udfff]")  # of a character: no text has it, but an escape can write it


def parse_line(line: str) -> Any:
    """What the line holds, or a ValueError, if it is nested too deeply or holds halves too."""
    try:
        found = json.loads(line)
        halves = "\\ud" in line.lower() and HALF.search(json.dumps(found, ensure_ascii=False))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if halves:
        raise ValueError("it holds half of a character, a single surrogate")
    return found
