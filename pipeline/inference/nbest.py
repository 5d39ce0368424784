"""n-best lists: what a recogniser or translator thinks may have been said, and how sure it is.

As text, a line for each hypothesis, `ID ||| HYPOTHESIS ||| SCORE`; further scores may follow, after
blanks or `|||`, and are added up. `ID ||| WORDS ||| reference` tells what was said. As JSON lines,
a line for each list: {"id": …, "hypotheses": [{"text": …, "score": …}, …], "reference": …}.
Scores are logarithms, the more the better; a reference is needed to tune weights and count errors.
"""

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from accord.corpora.text import lines, parse_line

REFERENCE = "reference"


@dataclass
class NBest:
    """The hypotheses for one utterance with their scores, and what was said if it is known."""

    id: str
    texts: list[str] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    reference: str | None = None


def read_nbest(path: Path) -> list[NBest]:
    """The lists of a file, in order; what is wrong with it is named by line."""
    lists: dict[str, NBest] = {}
    for number, line in enumerate(lines(path), start=1):
        line = line.removeprefix("\ufeff") if number == 1 else line
        if not line.strip():
            continue
        try:
            for name, text, score in _from_json(line) if line.startswith("{") else _from_text(line):
                found = lists.setdefault(name, NBest(name))
                if not isinstance(text, str) or not text.split():
                    raise ValueError("expected words in a hypothesis, found none")
                if score is None:
                    if found.reference not in (None, text):
                        raise ValueError(f"expected one reference of '{name}', found another")
                    found.reference = text
                else:
                    found.texts.append(text)
                    found.scores.append(score)
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: {error}") from None
    without = next((found.id for found in lists.values() if not found.texts), None)
    if without is not None or not lists:
        where = f"'{without}' has" if lists else "there is"
        raise ValueError(f"{path}: expected hypotheses, but {where} none")
    return list(lists.values())


def write_nbest(path: Path, lists: Iterable[NBest]) -> None:
    """Lists as JSON lines."""
    with path.open("w", encoding="utf-8") as file:
        for found in lists:
            scored = zip(found.texts, found.scores, strict=True)
            hypotheses = [{"text": text, "score": score} for text, score in scored]
            line = {"id": found.id, "reference": found.reference, "hypotheses": hypotheses}
            print(json.dumps(line, ensure_ascii=False), file=file)


def _from_text(line: str) -> Iterator[tuple[str, str, float | None]]:
    name, *fields = (part.strip() for part in line.split("|||"))
    if not name or len(fields) < 2:
        raise ValueError(f"expected ID ||| HYPOTHESIS ||| SCORE, found {line!r}")
    text, *scores = fields
    yield name, text, None if scores == [REFERENCE] else _sum(" ".join(scores).split())


def _from_json(line: str) -> Iterator[tuple[str, str, float | None]]:
    try:
        content = parse_line(line)
        name, hypotheses = str(content["id"]), content["hypotheses"]
        pairs = [(each["text"], [each["score"]]) for each in hypotheses]
    except ValueError as error:
        raise ValueError(f"expected JSON, but {error}") from None
    except (KeyError, TypeError) as missing:
        expected = 'expected {"id", "hypotheses": [{"text", "score"}, …]}'
        raise ValueError(f"{expected}, but {missing} is missing or wrong") from None
    yield from ((name, text, _sum(scores)) for text, scores in pairs)
    if content.get("reference") is not None:
        yield name, content["reference"], None


def _sum(scores: list) -> float:
    try:
        total = sum(float(score) for score in scores)
    except (TypeError, ValueError, OverflowError):
        total = math.nan
    if not scores or not math.isfinite(total):
        found = " ".join(map(str, scores)) or "nothing"
        raise ValueError(f"expected finite numbers as scores, or '{REFERENCE}'; found {found}")
    return total
