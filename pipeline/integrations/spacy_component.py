"""A trained model as a component of spaCy: `nlp.add_pipe("accord", config={"run": "runs/mine"})`.

    token._.surprisal   bits; the sum where a token is several of Accord's words, None where it is
                        the rest of a word that began in a token before
    doc._.expect        a table of what was expected before each word: P(Number=Plur | …)

A document with sentences is read sentence by sentence, any other as one sentence.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from spacy.language import Language
from spacy.tokens import Doc, Token
from spacy.util import minibatch

from accord.pipeline.inference.expectations import (
    FEATURES,
    ReadWords,
    SentenceReader,
    probabilities,
)
from accord.pipeline.inference.scorer import load

NAME = "accord"


@Language.factory(NAME, default_config={"run": None, "model": None, "features": list(FEATURES)})
def make(
    nlp: Language, name: str, run: str | None, model: str | None, features: Sequence[str]
) -> "Surprisal":
    return Surprisal(run, model, features)


class Surprisal:
    def __init__(self, run: str | Path | None, model: str | None, features: Sequence[str]):
        self.reader = SentenceReader(load(run, model), list(features))
        Token.set_extension("surprisal", default=None, force=True)
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
                **expected.iloc[at].to_dict("list"),
            }
            kept = doc.user_data[NAME]
            for name, values in rows.items():
                kept[name] = kept.get(name, []) + values


def _sentences(doc: Doc) -> list[tuple[int, int]]:
    """From where to where each sentence stands that holds more than spaces."""
    known = doc.has_annotation("SENT_START")
    places = [(s.start_char, s.end_char) for s in doc.sents] if known else [(0, len(doc.text))]
    return [(start, end) for start, end in places if doc.text[start:end].strip()]


def _expected(doc: Doc) -> pd.DataFrame:
    return pd.DataFrame(doc.user_data.get(NAME, {}))
