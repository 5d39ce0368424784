"""Suggestions for a sentence as it is written: where each word stands, and why another fits."""

from typing import Any

from accord.corpora.detokenise import spans
from accord.pipeline.confusions.correct import Corrector
from accord.pipeline.inference.scorer import tokens


def rows(corrector: Corrector, sentence: str, margin: float) -> list[dict[str, Any]]:
    """What JSON can hold of each: `sentence[start:end]` is the word; reasons sum to the gain."""
    (words,) = tokens([sentence])
    places = spans(sentence, words)
    return [
        {
            "word": each.word,
            "suggestion": each.other,
            "start": places[each.place][0],
            "end": places[each.place][1],
            "gain": each.gain,
            "why": reasons,
        }
        for each, reasons in corrector.corrections(words, margin)
    ]
