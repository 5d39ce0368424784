"""A trained model for lm-evaluation-harness: `lm_eval --model accord --model_args run=runs/mine`.

The harness finds it once `accord.pipeline.integrations.lm_eval_model` is imported. A line of a
text is a sentence, which is read by itself. A continuation must begin with a word: a model of
words has no probability for the rest of one.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from lm_eval.api.instance import Instance
from lm_eval.api.model import LM
from lm_eval.api.registry import register_model

from accord.errors import AccordError
from accord.pipeline.ask.scorer import Reader, load


class SpanInText(NamedTuple):
    """A word of a line, or the line's end."""

    start: int
    end: int
    log_p: float
    is_likeliest: bool


@register_model("accord")
class AccordLM(LM):
    """`run` is a run's folder or an exported model; `model` one of the run, its last by default."""

    def __init__(self, run: str | None = None, model: str | None = None, **harness):
        super().__init__()
        self.reader = Reader(load(run, model), ())

    def loglikelihood(
        self, requests: Sequence[Instance], disable_tqdm: bool = False
    ) -> list[tuple[float, bool]]:
        """Return log p of each continuation, and whether each of its words was the likeliest."""
        self.reader.expect_ranks()
        return self._scored([request.args for request in requests])

    def loglikelihood_rolling(
        self, requests: Sequence[Instance], disable_tqdm: bool = False
    ) -> list[float]:
        """Return log p of each text, from where a sentence begins."""
        return [log_p for log_p, _ in self._scored([("", *request.args) for request in requests])]

    def generate_until(self, requests: Sequence[Instance], disable_tqdm: bool = False) -> list[str]:
        raise NotImplementedError(
            "Accord's models score French words and follow no prompt: expected a task whose "
            "output_type is multiple_choice, loglikelihood or loglikelihood_rolling"
        )

    def _scored(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[float, bool]]:
        """Return log p of each continuation of a context, and whether it was the likeliest."""
        texts = [context + continuation for context, continuation in pairs]
        read = self._read(line for text in texts for _, line in _lines(text))
        scored = []
        for (context, _), text in zip(pairs, texts, strict=True):
            words = [*_continuation(text, len(context), read)]
            log_p = sum(word.log_p for word in words)
            scored.append((log_p, all(word.is_likeliest for word in words)))
        return scored

    def _read(self, lines: Iterable[str]) -> dict[str, list[SpanInText]]:
        """Return the words of each line and, last, its end."""
        texts = list(dict.fromkeys(lines))
        spans: dict[str, list[SpanInText]] = {text: [] for text in texts}
        for words in self.reader.read(texts):
            # A model of subwords has no ranks; its rolling log p needs none.
            rank = words.expected.rank if words.expected else np.zeros(len(words.form))
            columns = zip(words.start, words.end, -words.nats, rank == 1, strict=True)
            for number, place in zip(words.sentence, columns, strict=True):
                spans[texts[number]].append(SpanInText(*(value.item() for value in place)))
        return spans


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that hold words, and where they begin."""
    start = 0
    for line in text.split("\n"):
        if line.strip():
            yield start, line
        start += len(line) + 1


def _continuation(
    text: str, border: int, read: dict[str, list[SpanInText]]
) -> Iterator[SpanInText]:
    """Yield the words after a border, and the ends of lines that other lines follow."""
    for first, line in _lines(text):
        *words, end = read[line]
        for word in words:
            if first + word.start < border < first + word.end:
                written = line[word.start : word.end]
                raise AccordError(
                    f"expected a continuation that begins with a word, got {text[border:]!r}, "
                    f"which begins within {written!r}: a model of words cannot score its rest"
                )
            if first + word.start >= border:
                yield word
        if border <= first + len(line) < len(text):
            yield end
