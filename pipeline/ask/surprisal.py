"""A table of sentences becomes a table of words.

A row may have several sentences and may be read after others, its context. A sentence may mark its
regions by bars, which count as spaces: `Le chien | du voisin | aboie.`
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from accord import lexicon
from accord.corpora.tokenise import normalise
from accord.errors import AccordError
from accord.lexicon.analysis import Lexicon
from accord.models.common.checks import nearest
from accord.pipeline.ask.context import CONTEXT, Context, SplitTexts, split_texts
from accord.pipeline.ask.expectations import ReadWords, SentenceReader, by_name, probabilities
from accord.pipeline.ask.regions import BAR, StimulusRegions, without_bars
from accord.pipeline.ask.scorer import Scorer
from accord.pipeline.base.messages import INSTALL, meter, say
from accord.pipeline.base.names import END_ID
from accord.pipeline.data.catalogue import MissingData, folder_of
from accord.pipeline.data.user_tables import read_table

LEXICON = "lexique"


def lacking_frequencies() -> str:
    """What brings the frequencies of French; empty if they are there."""
    missing = [] if find_spec("pyarrow") else [f"`{INSTALL}`"]
    try:
        folder_of(LEXICON)
    except MissingData:
        missing.append(f"`accord fetch {LEXICON}`")
    return " and ".join(missing)


def frequency_source() -> str:
    """Where the column `log_frequency` comes from on this machine."""
    own = "the training text"
    return own if lacking_frequencies() else f"Lexique and, for words that it lacks, {own}"


class Frequency:
    """log10 of how often forms come in a million words: of Lexique, or of the training text."""

    def __init__(self, scorer: Scorer):
        self.lexicon: Lexicon | None = None
        self.known = scorer.vocabulary.known
        counts = scorer.parts.encoding.counts().astype(float)
        counts[END_ID] = 0
        self.per_million = counts * (1e6 / max(counts.sum(), 1))
        if lacking := lacking_frequencies():
            say(f"log_frequency is of the model's training text; that of French needs {lacking}")
        else:
            self.lexicon = lexicon.load([LEXICON], folder=folder_of, lowercase=scorer.lowercase)

    def of(self, forms: Sequence[str]) -> np.ndarray:
        """Lexique's if it has the form, else that of the training text; NaN if neither has it."""
        distinct, which = np.unique(np.asarray(forms, dtype=object), return_inverse=True)
        found = self.per_million[[self.known.get(form, END_ID) for form in distinct]]
        if self.lexicon is not None:
            of_french = np.asarray(self.lexicon.frequency(distinct.tolist()))
            found = np.where(of_french > 0, of_french, found)
        return np.log10(np.where(found > 0, found, np.nan))[which]


def sentences(table: pd.DataFrame, column: str) -> list[str]:
    """The sentences of a table; every row that has none is named."""
    if column not in table:
        raise AccordError(
            f"expected a column '{column}' of sentences{nearest(column, map(str, table))}"
        )
    found = table[column].tolist()
    empty = [
        str(number)
        for number, text in enumerate(found, start=1)
        if not isinstance(text, str) or not normalise(without_bars(text))
    ]
    if empty:
        raise AccordError(
            f"expected a sentence in '{column}', found none in row {', '.join(empty)}; "
            f"the first row below the header is 1. --skip-empty leaves such rows out"
        )
    if not found:
        raise AccordError(f"expected sentences in '{column}', found no row")
    return found


def without_empty(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """The rows that have a sentence, each with its index; the others are named."""
    if column not in table:
        return table  # which `sentences` refuses
    has = [isinstance(text, str) and bool(normalise(without_bars(text))) for text in table[column]]
    if lacking := [str(number) for number, each in enumerate(has, start=1) if not each]:
        say(f"left out without a sentence in '{column}': row {', '.join(lacking)}")
    return table[has]


BITS = 1 / math.log(2)  # in a nat
MEASURES = {
    "sentence_number": "number of the sentence in its row, from 1; 0 is the last sentence of the "
    "row's context, −1 the one before",
    "position": "position of the word in its sentence, from 1",
    "word": "the word as it is written",
    "start": "offset of its first character in the text of the row, from 0; bars between regions "
    "count",
    "end": "offset behind its last character",
    "region": "its region, if the table marks regions",
    "surprisal": "−log₂ p of the word, in bits",
    "rank": "rank of the word among all known words; the likeliest has 1",
    "entropy": "entropy of the next word before this one is read, in bits; all unknown words of a "
    "class count as one",
    "entropy_reduction": "entropy before this word minus entropy after it, in bits",
    "log_frequency": "log₁₀ of its occurrences per million words: of French, from Lexique; of the "
    "model's training text, if Lexique lacks the word; empty if both lack it",
    "spelled": "whether the character model spelled it, because it is not known",
    "previous_surprisal": "surprisal of the word before, for spill-over",
    "previous_surprisal_2": "surprisal of the word before that one",
}
OF_FEATURES = {"p_FEATURE_VALUE": "P(FEATURE=VALUE) before the word is read, for `expect`"}


def surprisal(
    table: pd.DataFrame | str | Path,
    models: Scorer | Mapping[str, Scorer],
    *,
    column: str = "sentence",
    regions: str | None = None,
    expect: Sequence[str] = (),
    context: str | None = None,
    keep_context: bool = False,
) -> pd.DataFrame:
    """A table with a row for each word of each sentence.

    `table` is a DataFrame, the path of a table, or the path of a text with one sentence per line.
    Its own columns come first, then those of `MEASURES`. `column` names the column of sentences.
    `regions` names a column with names of regions; bars in a sentence mark them. `expect` lists
    features, such as `Number` or `pos=NOUN`: each value becomes a column with its probability
    before the word. If `models` maps names to models, each model has its own rows.

    The text of a row may have several sentences. With the `context` "text" a word is conditioned
    on all words before it in its row, with "none" on those of its own sentence. By default a model
    that was trained on documents reads "text", any other "none". If the table has a column
    `context`, every row is read after the sentences there, unless `context` is "none".
    `keep_context` writes the words of the column too.
    """
    pieces = surprisal_pieces(
        _table(table, column),
        models,
        column=column,
        regions=regions,
        expect=expect,
        context=context,
        keep_context=keep_context,
    )
    return pd.concat(pieces, ignore_index=True)


def surprisal_pieces(
    table: pd.DataFrame,
    models: Scorer | Mapping[str, Scorer],
    *,
    column: str = "sentence",
    regions: str | None = None,
    expect: Sequence[str] = (),
    context: str | None = None,
    keep_context: bool = False,
) -> Iterator[pd.DataFrame]:
    """The same table piece by piece: so many sentences at a time, in memory that does not grow."""
    found = sentences(table, column)
    before = _contexts(table, context)
    if keep_context and before is None:
        raise AccordError(f"keep_context: expected a column '{CONTEXT}' that is read, found none")
    if regions is not None and regions not in table:
        raise AccordError(f"expected a column '{regions}' of regions; there are {', '.join(table)}")
    kept = table.drop(columns=regions) if regions else table
    if taken := [name for name in ("model", "row", *MEASURES) if name in kept]:
        raise AccordError(f"the table has a column '{taken[0]}', as the result has: rename it")
    marked = None
    if regions or any(BAR in sentence for sentence in found):
        marked = StimulusRegions(found, table[regions].astype(str).tolist() if regions else None)
    stimuli = Stimuli.of([without_bars(sentence) for sentence in found], before)
    for name, scorer in by_name(models).items():
        in_context = scorer.in_context(context or (Context.text if before else None))
        advance = meter("sentences", len(stimuli.sentences))
        reader, frequency = SentenceReader(scorer, expect), Frequency(scorer)
        if reader.next_word is None:
            say("a model of subwords lists no words: it has no rank and no entropy of the next")
        for words in reader.read(stimuli.sentences, stimuli.row if in_context else None):
            rows = _rows(reader, words, stimuli, marked, keep_context).reset_index(drop=True)
            rows["log_frequency"] = frequency.of(rows["log_frequency"])
            number = rows.pop("row").to_numpy()
            of_table = kept.iloc[number].reset_index(drop=True)
            of_table.insert(0, "row", number + 1)
            if not isinstance(models, Scorer):
                of_table.insert(0, "model", name)
            yield pd.concat([of_table, rows], axis=1)
            advance(int(words.is_end.sum()))
        advance(0)


def of_sentences(
    model: Scorer, text: str | Sequence[str] | Path | pd.DataFrame, **options: Any
) -> pd.DataFrame:
    """`surprisal` of one model, for a sentence, several sentences or a table."""
    if isinstance(text, str):
        text = [text]
    if isinstance(text, Sequence):
        text = pd.DataFrame({options.get("column", "sentence"): [*text]})
    return surprisal(text, model, **options)


def _table(given: pd.DataFrame | str | Path, column: str) -> pd.DataFrame:
    if isinstance(given, pd.DataFrame):
        return given
    if not isinstance(given, str | Path):
        raise AccordError(f"expected a table or the path of one, got a {type(given).__name__}")
    return read_table(Path(given), column)


def _contexts(table: pd.DataFrame, context: str | None) -> list[str] | None:
    """The texts that the rows are read after, where the table has some."""
    if context == Context.none:
        return None
    if CONTEXT not in table:
        for name in get_close_matches(CONTEXT, map(str, table), n=1, cutoff=0.8):
            say(f"the column '{name}' is kept and not read; one that is read is called '{CONTEXT}'")
        return None
    found = [without_bars(each) if isinstance(each, str) else "" for each in table[CONTEXT]]
    count = sum(bool(each.strip()) for each in found)
    say(
        f"{count:,} of {len(found):,} rows are read after their column '{CONTEXT}'; "
        f"`--context none` reads every sentence alone"
    )
    return found


class Stimuli(NamedTuple):
    """The sentences of all rows, those of a row's context before its own."""

    sentences: list[str]
    row: list[int]  # from 0
    number: list[int]  # in the row, from 1; 0, −1 … in its context
    start: list[int]  # where the sentence begins in the text of its row, or in the context

    @classmethod
    def of(cls, texts: Sequence[str], before: Sequence[str] | None) -> "Stimuli":
        """The texts of the rows, and what is read before each."""
        found = cls([], [], [], [])
        for row, text in enumerate(texts):
            if before is not None:
                context = split_texts([before[row]])
                found._add(context, row, 1 - len(context.sentences))
            found._add(split_texts([text]), row, 1)
        return found

    def _add(self, split: SplitTexts, row: int, first: int) -> None:
        for number, (sentence, _, start) in enumerate(zip(*split, strict=True), start=first):
            self.sentences.append(sentence)
            self.row.append(row)
            self.number.append(number)
            self.start.append(start)


def _rows(
    reader: SentenceReader,
    words: ReadWords,
    stimuli: Stimuli,
    regions: StimulusRegions | None,
    keep_context: bool,
) -> pd.DataFrame:
    """The words without the sentences' ends, which are read only for what is expected there."""
    number = np.array(stimuli.number)[words.sentence]
    at = np.flatnonzero(~words.is_end & (keep_context | (number > 0)))
    bits = words.nats * BITS
    first = np.r_[True, words.is_end[:-1]]
    row, offset = (np.array(each)[words.sentence] for each in (stimuli.row, stimuli.start))
    spans = zip(words.sentence[at], words.start[at], words.end[at], strict=True)
    columns = {
        "row": row[at],
        "sentence_number": number[at],
        "position": _positions(first)[at],
        "word": [stimuli.sentences[sentence][start:end] for sentence, start, end in spans],
        "start": (words.start + offset)[at],
        "end": (words.end + offset)[at],
    }
    if regions:
        columns["region"] = [
            regions.of(row[place], start) if number[place] > 0 else regions.of_context
            for place, start in zip(at, columns["start"], strict=True)
        ]
    columns["surprisal"] = bits[at]
    if words.expected:
        entropy = words.expected.entropy * BITS
        columns["rank"] = words.expected.rank[at]
        columns["entropy"] = entropy[at]
        columns["entropy_reduction"] = entropy[at] - entropy[at + 1]
    columns["log_frequency"] = [words.form[place] for place in at]  # of these, asked together
    columns["spelled"] = words.spelled[at]
    position = _positions(first)
    for name, back in (("previous_surprisal", 1), ("previous_surprisal_2", 2)):
        columns[name] = np.where(position > back, np.roll(bits, back), np.nan)[at]
    chances = probabilities(reader, words).iloc[at].rename(columns=_chance)
    return pd.DataFrame(columns | dict(chances.items()))


def chances(table: pd.DataFrame) -> list[str]:
    """The columns with probabilities of features."""
    return [name for name in table if name.startswith("p_")]


def _chance(value: str) -> str:
    """The column of P(Number=Plur), by a name that R keeps: `p_Number_Plur`."""
    return "p_" + re.sub(r"\W", "_", value)


def _positions(first: np.ndarray) -> np.ndarray:
    """Counted from 1 at each beginning."""
    place = np.arange(len(first))
    return place - np.maximum.accumulate(np.where(first, place, 0)) + 1


OPENING = frozenset("«([{“‘—–-¿¡")
SUMMED = ("surprisal", "entropy_reduction")


def with_joined_punctuation(words: pd.DataFrame) -> pd.DataFrame:
    """The table with marks joined to a word of their sentence, as a reader sees them.

    Opening marks go to the word behind them, all others to the word before. The joined word has
    the sum of the surprisals; what was expected is that before its first part.
    """
    keys = [name for name in ("model", "row", "sentence_number") if name in words]
    is_word = words["word"].str.contains(r"\w")
    opens = words["word"].map(lambda word: {*word} <= OPENING) & ~is_word
    sentence = words.groupby(keys, sort=False).ngroup()
    # A new group begins at a word that no opening mark precedes, and at an opening mark.
    follows = opens.shift(fill_value=False) & (sentence == sentence.shift())
    begins = (is_word | opens) & ~follows
    is_first = sentence != sentence.shift()
    begins |= is_first
    # Marks at the head of a sentence that open nothing still go to the word behind them.
    has_word = is_word.groupby(begins.cumsum()).transform("any")
    begins &= ~(is_word & ~has_word.shift(fill_value=True) & ~is_first)
    group = begins.cumsum()
    joined = words.groupby(group, sort=False).agg("first").reset_index(drop=True)
    grouped = words.groupby(group, sort=False)
    for name in SUMMED:
        if name in words:
            joined[name] = grouped[name].sum().to_numpy()
    joined["end"] = grouped["end"].last().to_numpy()
    joined["spelled"] = grouped["spelled"].any().to_numpy()
    joined["word"] = [_as_written(own) for _, own in grouped]
    of_words = words[is_word].groupby(group[is_word])["log_frequency"].first()
    joined["log_frequency"] = of_words.reindex(group.unique()).to_numpy()
    own = joined.groupby(keys, sort=False)
    joined["position"] = own.cumcount() + 1
    for name, back in (("previous_surprisal", 1), ("previous_surprisal_2", 2)):
        joined[name] = own["surprisal"].shift(back)
    return joined


def _as_written(parts: pd.DataFrame) -> str:
    text, end = "", None
    for word, start, stop in zip(parts["word"], parts["start"], parts["end"], strict=True):
        text += ("" if end in (None, start) else " ") + word
        end = stop
    return text
