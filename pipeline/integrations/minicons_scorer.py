"""A trained model with the methods that users of minicons call.

Tokens are words here, with elided words and enclitics apart (`l'`, `-t-il`); `word_score` joins
tokens without a space between them. minicons itself is not needed.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import torch
from torch import Tensor

from accord.errors import AccordError
from accord.pipeline.ask.scorer import Reader, ReadWords, load

Scored = list[tuple[str, float]] | list[tuple[str, float, int]]


class AccordScorer:
    """Scores sentences: a string or several, always answered by a list."""

    def __init__(self, run: str | Path | None = None, model: str | None = None):
        self.reader = Reader(load(run, model), ())

    def sequence_score(
        self,
        batch: str | Sequence[str],
        reduction: Callable[[Tensor], float] = lambda x: x.mean(0).item(),
        prob: bool = False,
        base_two: bool = False,
        eos_token: bool = False,
    ) -> list[float]:
        """Return the reduced log-probabilities of each sentence's words, by default their mean."""
        scored = self.token_score(batch, prob=prob, base_two=base_two, eos_token=eos_token)
        numbers = [[score for _, score in words] for words in scored]
        return [reduction(torch.tensor(scores, dtype=torch.float64)) for scores in numbers]

    def token_score(
        self,
        batch: str | Sequence[str],
        surprisal: bool = False,
        prob: bool = False,
        base_two: bool = False,
        rank: bool = False,
        eos_token: bool = False,
    ) -> list[Scored]:
        """Return each token with its log-probability in nats, or another measure, and its rank."""
        number = _number(surprisal, prob, base_two)
        if rank:
            self.reader.expect_ranks()
        scored = []
        for _, words, places in self._sentences(batch, eos_token):
            columns = [[words.form[at] for at in places], [number(words.nats[at]) for at in places]]
            if rank:
                columns.append([int(words.expected.rank[at]) for at in places])
            scored.append([*zip(*columns, strict=True)])
        return scored

    def word_score(
        self,
        batch: str | Sequence[str],
        surprisal: bool = False,
        prob: bool = False,
        base_two: bool = False,
    ) -> list[list[tuple[str, float]]]:
        """Return each word as written with the sum over its tokens; punctuation stands alone."""
        number = _number(surprisal, prob, base_two)
        scored = []
        for text, words, places in self._sentences(batch):
            joined = []
            for at in places:
                start, end = words.start[at], words.end[at]
                if joined and _written_together(text, *joined[-1][:2], start, end):
                    joined[-1] = (joined[-1][0], end, joined[-1][2] + words.nats[at])
                else:
                    joined.append((start, end, words.nats[at]))
            scored.append([(text[start:end], number(nats)) for start, end, nats in joined])
        return scored

    def _sentences(
        self, batch: str | Sequence[str], eos_token: bool = False
    ) -> Iterator[tuple[str, ReadWords, range]]:
        """Yield each sentence, the words read with it, and the places of its own among them."""
        texts = [batch] if isinstance(batch, str) else list(batch)
        for words in self.reader.read(texts):
            for place in words.by_sentence():
                places = range(place.start, place.stop - (not eos_token))
                yield texts[words.sentence[place.start]], words, places


def _number(surprisal: bool, prob: bool, base_two: bool) -> Callable[[float], float]:
    """Convert −log p in nats to the requested measure."""
    if prob and (surprisal or base_two):
        raise AccordError("expected prob, or surprisal and base_two, which are of its logarithm")
    if prob:
        return lambda nats: math.exp(-nats)
    scale = (1 if surprisal else -1) / (math.log(2) if base_two else 1)
    return lambda nats: float(nats * scale)


def _written_together(text: str, first: int, last: int, start: int, end: int) -> bool:
    parts = text[first:last], text[start:end]
    return last == start and all(any(map(str.isalnum, part)) for part in parts)
