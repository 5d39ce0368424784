"""A table of sentences becomes a table of words.

A row may have several sentences and may be read after others, its context. A sentence may mark its
regions by bars, which count as spaces: `Le chien | du voisin | aboie.`
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import chain, repeat
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from accord.corpora.tokenise import normalise
from accord.errors import AccordError
from accord.lexicon.homophones import Homophones
from accord.models.common.checks import nearest
from accord.pipeline.ask.reader import BITS, Reader, ReadWords, by_name, probabilities
from accord.pipeline.ask.regions import BAR, StimulusRegions, without_bars
from accord.pipeline.ask.scorer import Scorer
from accord.pipeline.ask.split import OF_PARTS
from accord.pipeline.ask.texts import CONTEXT, Context, SplitTexts, split_texts
from accord.pipeline.base.messages import meter, say
from accord.pipeline.base.names import END_ID
from accord.pipeline.base.tables import read_table

FREQUENCIES = "Lexique 3.83 and, for words that it lacks, the training text"


def per_million(forms: Sequence[str]) -> np.ndarray:
    """Return how often forms occur in Lexique, per million words; 0 of forms that it lacks.

    The counts come with Accord. An elided word counts with its full form: *j'* with *je*.
    """
    return np.array([Homophones.bundled().count(form.lower()) for form in forms])


class Frequency:
    """log₁₀ of the occurrences of forms per million words: of Lexique, or of the training text."""

    def __init__(self, scorer: Scorer):
        self.known = scorer.vocabulary.known
        counts = scorer.parts.counts().astype(float)
        counts[END_ID] = 0
        self.in_training = counts * (1e6 / max(counts.sum(), 1))

    def of_forms(self, forms: Sequence[str]) -> np.ndarray:
        """Return Lexique's if it has the form, else the training text's; NaN if both lack it."""
        distinct, which = np.unique(np.asarray(forms, dtype=object), return_inverse=True)
        in_training = self.in_training[[self.known.get(form, END_ID) for form in distinct]]
        in_french = per_million(distinct.tolist())
        frequency = np.where(in_french > 0, in_french, in_training)
        return np.log10(np.where(frequency > 0, frequency, np.nan))[which]


def sentences(table: pd.DataFrame, column: str) -> list[str]:
    """Return the sentences of a table; an error names every row that has none."""
    if column not in table:
        raise AccordError(
            f"expected a column '{column}' of sentences{nearest(column, map(str, table))}"
        )
    if empty := _empty_rows(table, column):
        raise AccordError(
            f"expected a sentence in '{column}', found none in row {', '.join(empty)}; "
            f"the first row below the header is 1. --skip-empty leaves such rows out"
        )
    if not len(table):
        raise AccordError(f"expected sentences in '{column}', found no row")
    return table[column].tolist()


def without_empty(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return the rows that have a sentence, each with its index; the others are named."""
    if column not in table:
        return table  # which `sentences` rejects
    if empty := _empty_rows(table, column):
        say(f"left out without a sentence in '{column}': row {', '.join(empty)}")
    return table.drop(index=[table.index[int(row) - 1] for row in empty])


def _empty_rows(table: pd.DataFrame, column: str) -> list[str]:
    """Return the numbers, from 1, of the rows without a sentence."""
    return [
        str(number)
        for number, text in enumerate(table[column], start=1)
        if not isinstance(text, str) or not normalise(without_bars(text))
    ]


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
    "log_frequency": "log₁₀ of its occurrences per million words: of French, by the counts of "
    "Lexique 3.83 that Accord brings along; of the model's training text, if Lexique lacks the "
    "word; empty if both lack it",
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
    split: bool = False,
    context: str | None = None,
    keep_context: bool = False,
    drop_spelled: bool = False,
) -> pd.DataFrame:
    """Return a table with a row for each word of each sentence.

    `table` is a DataFrame, the path of a table, or the path of a text with one sentence per line.
    Its own columns come first, then those of `MEASURES`. `column` names the column of sentences.
    `regions` names a column with names of regions; bars in a sentence mark them. `expect` lists
    features, such as `Number` or `pos=NOUN`: each value becomes a column with its probability
    before the word. `split` adds the parts of the surprisal, `OF_PARTS`. If `models` maps names to
    models, each model has its own rows. `drop_spelled` leaves out words spelled by the character
    model; other words keep their place and context.

    The text of a row may have several sentences. With the `context` "text" a word is conditioned
    on all words before it in its row, with "none" on those of its own sentence. By default a model
    that was trained on documents reads "text", any other "none". If the table has a column
    `context`, every row is read after the sentences there, unless `context` is "none".
    `keep_context` writes the words of the column too.
    """
    if isinstance(table, str | Path):
        table = read_table(Path(table), column)
    if not isinstance(table, pd.DataFrame):
        raise AccordError(f"expected a table or the path of one, got a {type(table).__name__}")
    words = pd.concat(
        surprisal_pieces(
            table,
            models,
            column=column,
            regions=regions,
            expect=expect,
            split=split,
            context=context,
            keep_context=keep_context,
        ),
        ignore_index=True,
    )
    return words[~words["spelled"]].reset_index(drop=True) if drop_spelled else words


def surprisal_pieces(
    table: pd.DataFrame,
    models: Scorer | Mapping[str, Scorer],
    *,
    column: str = "sentence",
    regions: str | None = None,
    expect: Sequence[str] = (),
    split: bool = False,
    context: str | None = None,
    keep_context: bool = False,
) -> Iterator[pd.DataFrame]:
    """Yield the same table, some sentences at a time, in constant memory."""
    texts = sentences(table, column)
    contexts = _contexts(table, context)
    if keep_context and contexts is None:
        raise AccordError(f"keep_context: expected a column '{CONTEXT}' that is read, found none")
    if regions is not None and regions not in table:
        raise AccordError(f"expected a column '{regions}' of regions; there are {', '.join(table)}")
    kept = table.drop(columns=regions) if regions else table
    if taken := [name for name in ("model", "row", *MEASURES, *OF_PARTS) if name in kept]:
        raise AccordError(f"the table has a column '{taken[0]}', as the result has: rename it")
    marked = None
    if regions or any(BAR in text for text in texts):
        marked = StimulusRegions(texts, table[regions].astype(str).tolist() if regions else None)
    stimuli = Stimuli.from_texts([without_bars(text) for text in texts], contexts)
    parted = stimuli.split
    for name, scorer in by_name(models).items():
        in_context = scorer.in_context(context or (Context.text if contexts else None))
        documents = stimuli.row.tolist() if in_context else None
        advance = meter("sentences", len(parted.sentences))
        reader, frequency = Reader(scorer, expect, split), Frequency(scorer)
        if reader.next_word is None:
            say("a model of subwords lists no words: it has no rank and no entropy of the next")
        for words in reader.read(parted.sentences, documents, parted.start):
            rows = _rows(reader, words, stimuli, marked, keep_context, frequency)
            number = rows.pop("row").to_numpy()
            of_table = kept.iloc[number].reset_index(drop=True)
            of_table.insert(0, "row", number + 1)
            if isinstance(models, Mapping):
                of_table.insert(0, "model", name)
            yield pd.concat([of_table, rows.reset_index(drop=True)], axis=1)
            advance(int(words.is_end.sum()))
        advance(0)


def of_sentences(
    model: Scorer, text: str | Sequence[str] | Path | pd.DataFrame, **options: Any
) -> pd.DataFrame:
    """Return `surprisal` by one model for a sentence, several sentences or a table."""
    if isinstance(text, str):
        text = [text]
    if isinstance(text, Sequence):
        text = pd.DataFrame({options.get("column", "sentence"): [*text]})
    return surprisal(text, model, **options)


def _contexts(table: pd.DataFrame, context: str | None) -> list[str] | None:
    """Return the text before each row, if the table has a column of them that is to be read."""
    if context == Context.none:
        return None
    if CONTEXT not in table:
        for name in get_close_matches(CONTEXT, map(str, table), n=1, cutoff=0.8):
            say(f"the column '{name}' is kept and not read; one that is read is called '{CONTEXT}'")
        return None
    contexts = [without_bars(text) if isinstance(text, str) else "" for text in table[CONTEXT]]
    count = sum(bool(text.strip()) for text in contexts)
    say(
        f"{count:,} of {len(contexts):,} rows are read after their column '{CONTEXT}'; "
        f"`--context none` reads every sentence alone"
    )
    return contexts


class Stimuli(NamedTuple):
    """The sentences of all rows, those of a row's context before its own."""

    split: SplitTexts
    row: np.ndarray  # of each sentence, from 0
    number: np.ndarray  # of the sentence in its row, from 1; 0, −1 … in the context

    @classmethod
    def from_texts(cls, texts: Sequence[str], contexts: Sequence[str] | None) -> "Stimuli":
        """Return the sentences of the rows, each row read after its context."""
        pairs = zip(contexts or repeat(""), texts, strict=False)
        split = split_texts(chain.from_iterable(pairs))
        row, is_own = np.divmod(np.array(split.text), 2)
        first = np.searchsorted(row, row)  # of the row's sentences
        of_context = np.bincount(row[is_own == 0], minlength=len(texts))[row]
        return cls(split, row, np.arange(len(row)) - first - of_context + 1)


def _rows(
    reader: Reader,
    words: ReadWords,
    stimuli: Stimuli,
    regions: StimulusRegions | None,
    keep_context: bool,
    frequency: Frequency,
) -> pd.DataFrame:
    """Return the words without the sentence ends, which count only for the entropy there."""
    row, number = stimuli.row[words.sentence], stimuli.number[words.sentence]
    at = np.flatnonzero(~words.is_end & (keep_context | (number > 0)))
    bits = words.nats * BITS
    is_first = np.r_[True, words.is_end[:-1]]
    place = np.arange(len(is_first))
    position = place - np.maximum.accumulate(np.where(is_first, place, 0)) + 1
    columns = {
        "row": row[at],
        "sentence_number": number[at],
        "position": position[at],
        "word": _written(words, stimuli.split, at),
        "start": words.start[at],
        "end": words.end[at],
    }
    if regions:
        columns["region"] = [
            regions.region_at(row[place], start) if number[place] > 0 else regions.of_context
            for place, start in zip(at, columns["start"], strict=True)
        ]
    columns["surprisal"] = bits[at]
    if words.parts is not None:
        columns |= dict(zip(OF_PARTS, words.parts[at].T * BITS, strict=True))
    if words.expected:
        entropy = words.expected.entropy * BITS
        columns["rank"] = words.expected.rank[at]
        columns["entropy"] = entropy[at]
        columns["entropy_reduction"] = entropy[at] - entropy[at + 1]
    columns["log_frequency"] = frequency.of_forms([words.form[place] for place in at])
    columns["spelled"] = words.spelled[at]
    for name, back in (("previous_surprisal", 1), ("previous_surprisal_2", 2)):
        columns[name] = np.where(position > back, np.roll(bits, back), np.nan)[at]
    chances = probabilities(reader, words).iloc[at].rename(columns=_chance)
    return pd.DataFrame(columns | dict(chances.items()))


def _written(words: ReadWords, split: SplitTexts, places: np.ndarray) -> list[str]:
    """Return the surface forms of the words at some places."""
    sentence = words.sentence[places]
    offset = np.array(split.start)[sentence]
    spans = zip(sentence, words.start[places] - offset, words.end[places] - offset, strict=True)
    return [split.sentences[number][start:end] for number, start, end in spans]


def further(table: pd.DataFrame) -> list[str]:
    """Return the columns with parts of surprisal and with probabilities of features."""
    return [name for name in table if name in OF_PARTS or name.startswith("p_")]


def _chance(value: str) -> str:
    """Return the column of P(Number=Plur), by a name that R keeps: `p_Number_Plur`."""
    return "p_" + re.sub(r"\W", "_", value)


OPENING = frozenset("«([{“‘—–-¿¡")
SUMMED = ("surprisal", *OF_PARTS, "entropy_reduction")


def with_joined_punctuation(words: pd.DataFrame) -> pd.DataFrame:
    """Return the table with marks joined to a word of their sentence, as a reader sees them.

    Opening marks go to the word behind them, all others to the word before. The joined word has
    the sum of the surprisals, and the expectations before its first part.
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
    joined["word"] = [_as_written(parts) for _, parts in grouped]
    of_words = words[is_word].groupby(group[is_word])["log_frequency"].first()
    joined["log_frequency"] = of_words.reindex(group.unique()).to_numpy()
    by_sentence = joined.groupby(keys, sort=False)
    joined["position"] = by_sentence.cumcount() + 1
    for name, back in (("previous_surprisal", 1), ("previous_surprisal_2", 2)):
        joined[name] = by_sentence["surprisal"].shift(back)
    return joined


def _as_written(parts: pd.DataFrame) -> str:
    """Return the words of a group with the spaces between them."""
    text, end = "", None
    for word, start, stop in zip(parts["word"], parts["start"], parts["end"], strict=True):
        text += ("" if end in (None, start) else " ") + word
        end = stop
    return text
