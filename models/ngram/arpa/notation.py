"""What those who read ARPA files and those who write them agree on."""

import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from accord.models.ngram.counts import END

START, STOP, UNKNOWN = "<s>", "</s>", "<unk>"
NEVER = -99.0  # the logarithm by which ARPA files say that a word is never predicted


def check_forms(forms: Sequence[str], words: int) -> None:
    if len(forms) != words or len(set(forms)) != words:
        raise ValueError(
            f"forms: expected {words} different words, got {len(set(forms))} among {len(forms)}"
        )
    if forms[END] != STOP:
        raise ValueError(f"forms: expected '{STOP}' for word {END}, got '{forms[END]}'")
    for number, form in enumerate(forms):
        if not form or form == START or any(character in " \t\r\n\0" for character in form):
            raise ValueError(
                f"forms: expected words without blanks, and no {START}, as ARPA separates words "
                f"by blanks; got {form!r} for word {number}"
            )


def open_arpa(path: Path, mode: str) -> BinaryIO:
    return (gzip.open if path.suffix == ".gz" else open)(path, mode)
