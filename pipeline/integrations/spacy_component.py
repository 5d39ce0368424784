"""A trained model as a component of spaCy: `nlp.add_pipe("accord", config={"run": "runs/mine"})`.

    token._.surprisal   bits; the sum where a token is several of Accord's words, None where it is
                        the rest of a word that began in a token before
    token._.parts       the parts of the surprisal, {"bits_pos": 1.4, …}, with `"split": True`
    token._.entropy     bits, of the next word before the token is read; None as above
    token._.expect      probabilities before the token: {"Number=Plur": 0.84, …}
    doc._.expect        the same as a table, a row for each of Accord's words

A document is read sentence by sentence. If no component before has marked the sentences, Accord
splits the text itself.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from spacy.language import Language
from spacy.tokens import Doc, Token
from spacy.util import minibatch

from accord.corpora.segment import sentence_spans
from accord.pipeline.ask.scorer import BITS, FEATURES, Reader, ReadWords, load
from accord.pipeline.ask.split import OF_PARTS

NAME = "accord"
ENTROPY, BITS_OF = "entropy", "bits"


DEFAULTS = {"run": None, "model": None, "features": list(FEATURES), "split": False}


@Language.factory(NAME, default_config=DEFAULTS)
def make(
    nlp: Language,
    name: str,
    run: str | None,
    model: str | None,
    features: Sequence[str],
    split: bool,
) -> "Surprisal":
    return Surprisal(run, model, features, split)


class Surprisal:
    """The component. The columns of a document's words lie in its `user_data`."""

    def __init__(
        self, run: str | Path | None, model: str | None, features: Sequence[str], split: bool
    ):
        self.reader = Reader(load(run, model), list(features), split)
        Token.set_extension("surprisal", default=None, force=True)
        Token.set_extension("entropy", getter=_entropy, force=True)
        Token.set_extension("parts", getter=_parts, force=True)
        Token.set_extension("expect", getter=_expected_before, force=True)
        Doc.set_extension("expect", getter=_expected, force=True)

    def __call__(self, doc: Doc) -> Doc:
        return next(self.pipe([doc]))

    def pipe(self, stream: Iterable[Doc], batch_size: int = 100) -> Iterator[Doc]:
        """Yield documents, which are read together: that is quicker."""
        for docs in minibatch(stream, batch_size):
            spans = [(number, *span) for number, doc in enumerate(docs) for span in _sentences(doc)]
            numbers = [number for number, _, _ in spans]
            starts = [start for _, start, _ in spans]
            parts: list[list[pd.DataFrame]] = [[] for _ in docs]
            for words in self.reader.read([text for _, _, text in spans], starts=starts):
                table = self._table(words)
                number = np.array(numbers)[words.sentence[~words.is_end]]
                for doc, rows in table.groupby(number):
                    parts[doc].append(rows)
            for doc, tables in zip(docs, parts, strict=True):
                self._fill(doc, pd.concat(tables) if tables else pd.DataFrame())
            yield from docs

    def _table(self, words: ReadWords) -> pd.DataFrame:
        """Return the words with their places, bits and expectations."""
        columns = {"start": words.start, "end": words.end, BITS_OF: words.nats * BITS}
        if words.expected is not None:
            columns[ENTROPY] = words.expected.entropy * BITS
            columns |= dict(zip(self.reader.values, words.expected.means.T, strict=True))
        if words.parts is not None:
            columns |= dict(zip(OF_PARTS, words.parts.T * BITS, strict=True))
        return pd.DataFrame(columns)[~words.is_end]

    def _fill(self, doc: Doc, table: pd.DataFrame) -> None:
        """Give the words of a document to it, and to each token the bits of its words."""
        for token in doc:
            token._.surprisal = None  # also of a document that was read before
        bits = table.pop(BITS_OF).tolist() if len(table) else []
        columns = table.to_dict("list")
        starts = columns.get("start", [])
        tokens = np.searchsorted([token.idx for token in doc], starts, side="right") - 1
        for number, surprisal in zip(tokens.tolist(), bits, strict=True):
            token = doc[number]
            token._.surprisal = (token._.surprisal or 0.0) + surprisal
        text = doc.text
        places = zip(starts, columns.get("end", []), strict=True)
        doc.user_data[NAME] = {"before": [text[start:end] for start, end in places], **columns}


def _sentences(doc: Doc) -> list[tuple[int, str]]:
    """Return where each sentence begins that holds more than spaces, and the sentence."""
    text = doc.text  # made anew at each access
    known = doc.has_annotation("SENT_START")
    places = [(s.start_char, s.end_char) for s in doc.sents] if known else sentence_spans(text)
    return [(start, text[start:end]) for start, end in places if text[start:end].strip()]


def _row_of(token: Token) -> int | None:
    """Return the row of the first word that begins in a token; None if none does."""
    starts = token.doc.user_data.get(NAME, {}).get("start", [])
    row = bisect_left(starts, token.idx)
    begins = row < len(starts) and starts[row] < token.idx + max(len(token), 1)
    return row if begins else None


def _entropy(token: Token) -> float | None:
    row, kept = _row_of(token), token.doc.user_data.get(NAME, {})
    return None if row is None or ENTROPY not in kept else kept[ENTROPY][row]


def _parts(token: Token) -> dict[str, float]:
    """Return the parts of a token's surprisal, the sums over its words; none without a split."""
    first, kept = _row_of(token), token.doc.user_data.get(NAME, {})
    if first is None or not OF_PARTS.keys() <= kept.keys():
        return {}
    end = bisect_left(kept["start"], token.idx + len(token))
    return {name: sum(kept[name][first:end]) for name in OF_PARTS}


def _expected_before(token: Token) -> dict[str, float]:
    row = _row_of(token)
    columns = token.doc.user_data.get(NAME, {}).items()
    return {} if row is None else {name: column[row] for name, column in columns if "=" in name}


def _expected(doc: Doc) -> pd.DataFrame:
    return pd.DataFrame(doc.user_data.get(NAME, {}))
