"""A trained model as a component of spaCy: `nlp.add_pipe("accord", config={"run": "runs/mine"})`.

    token._.surprisal   bits; the sum where a token is several of Accord's words, None where it is
                        the rest of a word that began in a token before
    token._.entropy     bits, of the next word before the token is read; None as above
    token._.expect      what was expected before the token: {"Number=Plur": 0.84, …}
    doc._.expect        the same as a table, a row for each of Accord's words

A document is read sentence by sentence. If no component before has marked the sentences, Accord
splits the text itself.
"""

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from spacy.language import Language
from spacy.tokens import Doc, Token
from spacy.util import minibatch

from accord.corpora.segment import sentence_spans
from accord.pipeline.ask.expectations import (
    FEATURES,
    ReadWords,
    SentenceReader,
    probabilities,
)
from accord.pipeline.ask.scorer import load

NAME = "accord"
ENTROPY = "entropy"


@Language.factory(NAME, default_config={"run": None, "model": None, "features": list(FEATURES)})
def make(
    nlp: Language, name: str, run: str | None, model: str | None, features: Sequence[str]
) -> "Surprisal":
    return Surprisal(run, model, features)


class Surprisal:
    def __init__(self, run: str | Path | None, model: str | None, features: Sequence[str]):
        self.reader = SentenceReader(load(run, model), list(features))
        Token.set_extension("surprisal", default=None, force=True)
        Token.set_extension("entropy", getter=_entropy, force=True)
        Token.set_extension("expect", getter=_expected_before, force=True)
        Doc.set_extension("expect", getter=_expected, force=True)

    def __call__(self, doc: Doc) -> Doc:
        return next(self.pipe([doc]))

    def pipe(self, stream: Iterable[Doc], batch_size: int = 100) -> Iterator[Doc]:
        """Documents read together, which is quicker."""
        for docs in minibatch(stream, batch_size):
            spans = [(doc, *place) for doc in docs for place in _sentences(doc)]
            texts = [doc.text[start:end] for doc, start, end in spans]
            for doc in docs:
                doc.user_data[NAME] = {}
                for token in doc:
                    token._.surprisal = None  # also of one that was read before
            for words in self.reader.read(texts):
                self._fill(spans, words)
            yield from docs

    def _fill(self, spans: Sequence[tuple[Doc, int, int]], words: ReadWords) -> None:
        """Give what was read to the tokens of each sentence and to its document."""
        expected = probabilities(self.reader, words)
        for number in np.unique(words.sentence):
            doc, first, _ = spans[number]
            at = np.flatnonzero((words.sentence == number) & ~words.is_end)
            starts, ends = words.start[at] + first, words.end[at] + first
            token_of = np.searchsorted([token.idx for token in doc], starts, side="right") - 1
            for place, token in zip(at, token_of, strict=True):
                before = doc[int(token)]._.surprisal or 0.0
                doc[int(token)]._.surprisal = before + float(words.nats[place]) / math.log(2)
            rows = {
                "before": [doc.text[start:end] for start, end in zip(starts, ends, strict=True)],
                "start": starts.tolist(),
                "end": ends.tolist(),
                **self._entropies(words, at),
                **expected.iloc[at].to_dict("list"),
            }
            kept = doc.user_data[NAME]
            for name, values in rows.items():
                kept[name] = kept.get(name, []) + values

    def _entropies(self, words: ReadWords, at: np.ndarray) -> dict[str, list[float]]:
        if words.expected is None:
            return {}
        return {ENTROPY: (words.expected.entropy[at] / math.log(2)).tolist()}


def _sentences(doc: Doc) -> list[tuple[int, int]]:
    """From where to where each sentence stands that holds more than spaces."""
    known = doc.has_annotation("SENT_START")
    places = [(s.start_char, s.end_char) for s in doc.sents] if known else sentence_spans(doc.text)
    return [(start, end) for start, end in places if doc.text[start:end].strip()]


def _row_of(token: Token) -> int | None:
    """The row of the first word that begins in a token; None if none does."""
    starts = token.doc.user_data.get(NAME, {}).get("start", [])
    row = bisect_left(starts, token.idx)
    begins = row < len(starts) and starts[row] < token.idx + max(len(token), 1)
    return row if begins else None


def _entropy(token: Token) -> float | None:
    row, kept = _row_of(token), token.doc.user_data.get(NAME, {})
    return None if row is None or ENTROPY not in kept else kept[ENTROPY][row]


def _expected_before(token: Token) -> dict[str, float]:
    row = _row_of(token)
    columns = token.doc.user_data.get(NAME, {}).items()
    return {} if row is None else {name: each[row] for name, each in columns if "=" in name}


def _expected(doc: Doc) -> pd.DataFrame:
    return pd.DataFrame(doc.user_data.get(NAME, {}))
