"""How each word of the vocabulary is written, letter by letter, for networks that read letters."""

from collections.abc import Sequence

import numpy as np

from accord.pipeline.prepared.special_words import is_special

LONGEST = 32  # letters of a word that are kept: of a longer one the last, which say its grammar
BEGIN, END = "<word>", "</word>"  # longer than any letter, hence none


def spelled(forms: Sequence[str]) -> np.ndarray:
    """The letters of each word by number (V × L), between its begin and its end; 0 after it.

    A special word is written with one symbol, which no other has.
    """
    rows = [[f] if is_special(f) else [BEGIN, *f[-LONGEST:], END] for f in forms]
    symbols = sorted({symbol for row in rows for symbol in row})
    number = {symbol: place for place, symbol in enumerate(symbols, start=1)}
    table = np.zeros((len(rows), max(map(len, rows))), np.uint16)
    for place, row in enumerate(rows):
        table[place, : len(row)] = [number[symbol] for symbol in row]
    return table
