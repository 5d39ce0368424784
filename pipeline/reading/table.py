"""From a table of sentences to a table of their words: surprisal and what else is known there."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from accord.pipeline.display.progress import meter, say
from accord.pipeline.inference.scorer import Scorer
from accord.pipeline.reading.expect import by_name
from accord.pipeline.reading.frequency import log_frequency
from accord.pipeline.reading.reader import Reader, Words, probabilities
from accord.pipeline.reading.stimuli import Regions, read_table, sentences, without_bars

BITS = 1 / math.log(2)  # in a nat
MEASURES = {
    "position": "of the word in its sentence, from 1",
    "word": "as it is written",
    "start": "where it begins in the sentence, from 0",
    "end": "where it ends",
    "region": "where the table marks regions",
    "surprisal": "−log2 p of the word, in bits",
    "rank": "of the word among all known ones, 1 being the likeliest",
    "entropy": "of the next word before this one was read, in bits; unknown words by their classes",
    "entropy_reduction": "by how many bits less is unsure of what follows the word",
    "log_frequency": "log10 of occurrences in a million words of French, by Lexique",
    "spelled": "whether the model had to spell it",
    "previous_surprisal": "that of the word before, which may spill over",
}


def surprisal(
    table: pd.DataFrame | str | Path,
    models: Scorer | Mapping[str, Scorer],
    *,
    column: str = "sentence",
    regions: str | None = None,
    expect: Sequence[str] = (),
) -> pd.DataFrame:
    """A row for each word of each sentence: the table's own columns, then those of MEASURES.

    The table may be the path of one, or of a text with a sentence a line, as `read_table` reads it.
    `regions` is a column with names of regions; bars in a sentence mark them too. `expect` adds
    columns with the probability of each value of features before the word: `Number`, `pos=NOUN`.
    Of several models, by name, each has its rows.
    """
    table = _table(table, column)
    found = sentences(table, column)
    if regions is not None and regions not in table:
        raise ValueError(f"expected a column '{regions}' of regions; there are {', '.join(table)}")
    kept = table.drop(columns=regions) if regions else table
    if taken := [name for name in ("model", "row", *MEASURES) if name in kept]:
        raise ValueError(f"the table has a column '{taken[0]}', as the result has: rename it")
    marked = None
    if regions or any("|" in sentence for sentence in found):
        marked = Regions(found, table[regions].astype(str).tolist() if regions else None)
    texts = [without_bars(sentence) for sentence in found]
    parts = []
    for name, scorer in by_name(models).items():
        advance = meter("sentences", len(texts))
        reader, read = Reader(scorer, expect), []
        for words in reader.read(texts):
            read.append(_rows(reader, words, texts, marked))
            advance(int(words.is_end.sum()))
        advance(0)
        if reader.next_word is None:
            say("a model of subwords lists no words: it has no rank and no entropy of the next")
        rows = pd.concat(read, ignore_index=True)
        rows["log_frequency"] = log_frequency(rows["log_frequency"], scorer.lowercase)
        parts.append(rows.assign(model=name))
    rows = pd.concat(parts, ignore_index=True)
    number = rows.pop("sentence").to_numpy()
    of_table = kept.iloc[number].reset_index(drop=True)
    of_table.insert(0, "row", number + 1)
    if not isinstance(models, Scorer):
        of_table.insert(0, "model", rows["model"])
    return pd.concat([of_table, rows.drop(columns="model")], axis=1)


def of_sentences(
    model: Scorer, text: str | Sequence[str] | Path | pd.DataFrame, **options: Any
) -> pd.DataFrame:
    """The same for one model, which is asked a sentence or several as well as a table."""
    if isinstance(text, str):
        text = [text]
    if isinstance(text, Sequence):
        text = pd.DataFrame({options.get("column", "sentence"): [*text]})
    return surprisal(text, model, **options)


def _table(given: pd.DataFrame | str | Path, column: str) -> pd.DataFrame:
    if isinstance(given, pd.DataFrame):
        return given
    if not isinstance(given, str | Path):
        raise ValueError(f"expected a table or the path of one, got a {type(given).__name__}")
    return read_table(Path(given), column)


def _rows(
    reader: Reader, words: Words, texts: Sequence[str], regions: Regions | None
) -> pd.DataFrame:
    """The words without the sentences' ends, which are read only for what is expected there."""
    at = np.flatnonzero(~words.is_end)
    bits = words.nats * BITS
    first = np.r_[True, words.is_end[:-1]]
    places = list(zip(words.sentence[at], words.start[at], words.end[at], strict=True))
    columns = {
        "sentence": words.sentence[at],
        "position": _positions(first)[at],
        "word": [texts[sentence][start:end] for sentence, start, end in places],
        "start": words.start[at],
        "end": words.end[at],
    }
    if regions:
        columns["region"] = [regions.of(sentence, start) for sentence, start, _ in places]
    columns["surprisal"] = bits[at]
    if words.expected:
        entropy = words.expected.entropy * BITS
        columns["rank"] = words.expected.rank[at]
        columns["entropy"] = entropy[at]
        columns["entropy_reduction"] = entropy[at] - entropy[at + 1]
    columns["log_frequency"] = [words.form[place] for place in at]  # of these, asked together
    columns["spelled"] = words.spelled[at]
    columns["previous_surprisal"] = np.where(first, np.nan, np.roll(bits, 1))[at]
    return pd.DataFrame(columns | dict(probabilities(reader, words).iloc[at].items()))


def _positions(first: np.ndarray) -> np.ndarray:
    """Counted from 1 at each beginning."""
    place = np.arange(len(first))
    return place - np.maximum.accumulate(np.where(first, place, 0)) + 1
