"""A trained model for lm-evaluation-harness: `lm_eval --model accord --model_args run=runs/mine`.

The harness finds it once `accord.pipeline.integrations.lm_eval_model` is imported. A line of a
text is a sentence, which is read by itself. A continuation must begin with a word: a model of
words has no probability for the rest of one.
"""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from lm_eval.api.instance import Instance
from lm_eval.api.model import LM
from lm_eval.api.registry import register_model

from accord.errors import AccordError
from accord.pipeline.ask.scorer import Reader, load

# A word of a line, or the line's end: start, end, log p, and whether it is the likeliest.
SpanInText = tuple[int, int, float, bool]


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
            scored.append((sum(word[2] for word in words), all(word[3] for word in words)))
        return scored

    def _read(self, lines: Iterable[str]) -> dict[str, list[SpanInText]]:
        """Return the words of each line and, last, its end."""
        texts, rows = list(dict.fromkeys(lines)), []
        for words in self.reader.read(texts):
            # A model of subwords has no ranks; its rolling log p needs none.
            rank = words.expected.rank if words.expected else np.zeros(len(words.form))
            columns = [words.start, words.end, -words.nats, rank == 1]
            spans = [*zip(*(column.tolist() for column in columns), strict=True)]
            rows += [spans[place] for place in words.by_sentence()]
        return dict(zip(texts, rows, strict=True))


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
        *words, of_end = read[line]
        for word in words:
            start, end, *_ = word
            if first + start < border < first + end:
                raise AccordError(
                    f"expected a continuation that begins with a word, got {text[border:]!r}, "
                    f"which begins within {line[start:end]!r}: a model of words cannot score its "
                    f"rest"
                )
            if first + start >= border:
                yield word
        if border <= first + len(line) < len(text):
            yield of_end
