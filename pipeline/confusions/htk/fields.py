r"""The fields of a line in HTK's lattices, NAME=VALUE.

A value with blanks is in quotes; `\` stands before a character that would end it, or before three
octal digits of a byte. A single letter is the short form of some names.
"""

import math
import re

SHORT = {
    **{"UTTERANCE": "U", "SUBLAT": "S", "NODES": "N", "LINKS": "L"},
    **{"START": "S", "END": "E", "WORD": "W", "acoustic": "a", "language": "l", "ngram": "n"},
}
VALUE = r"""("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|(?!["'])(?:\\.|[^\s\\])+)(?=\s|$)"""
FIELD = re.compile(rf"(\w+)={VALUE}\s*", re.ASCII)
ESCAPE = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
TO_ESCAPE = re.compile(r"^[\"']|[\\\s\x00-\x1f\x7f]", re.ASCII)


def fields_of(line: str) -> dict[str, str]:
    """The values of a line by their short names; it ends where a `#` begins a comment."""
    found: dict[str, str] = {}
    at = 0
    while at < len(line) and line[at] != "#":
        field = FIELD.match(line, at)
        if field is None:
            raise ValueError(f"expected NAME=VALUE, found {line[at : at + 40]!r}")
        name = SHORT.get(field[1], field[1])
        if name in found:
            raise ValueError(f"expected {name}= once in a line")
        found[name] = _plain(field[2])
        at = field.end()
    return found


def escaped(value: str) -> str:
    """As it stands in a field."""
    return TO_ESCAPE.sub(lambda found: f"\\{ord(found[0]):03o}", value)


def number_of(name: str, value: str) -> float:
    try:
        number = math.nan if "_" in value else float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"expected a finite number, found {name}={value[:40]}")
    return number


def whole_number_of(name: str, fields: dict[str, str]) -> int:
    value = fields.get(name, "nothing")
    if not value.isdecimal() or len(value) > 18:
        raise ValueError(f"expected {name}= and a whole number, found {value[:40]}")
    return int(value)


def _plain(value: str) -> str:
    """Without quotes and escapes, and with single blanks."""
    inside = value[1:-1] if value[0] in "\"'" else value
    try:
        plain = ESCAPE.sub(_meant, inside.encode()).decode()
    except ValueError:
        raise ValueError(f"expected bytes of UTF-8, found {value[:40]!r}") from None
    return " ".join(plain.split())


def _meant(escape: re.Match[bytes]) -> bytes:
    return bytes([int(escape[1], 8)]) if len(escape[1]) == 3 else escape[1]
