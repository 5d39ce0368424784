"""`accord score`: what a trained model makes of a text."""

import json as jsons
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from corpora.text import lines
from pipeline.cli.console import command
from pipeline.cli.model import DEFAULT_RUN, Model, TrainedRun, load_model

if TYPE_CHECKING:
    from pipeline.inference.scorer import Word

app = typer.Typer()

AT_ONCE = 1000  # lines scored together
LARGEST_NATS = math.log(sys.float_info.max)  # per word; a larger perplexity is no number here
MARK = "*"  # of a word that had to be spelled


@dataclass
class Total:
    """What a text comes to, as the stage `evaluate` counts: ends are words for the perplexity."""

    sentences: int = 0
    words: int = 0
    spelled: int = 0
    characters: int = 0
    log_p: float = 0.0

    def add(self, words: "Sequence[Word]") -> None:
        self.sentences += 1
        self.words += len(words) - 1
        self.spelled += sum(word.spelled for word in words)
        # A word's letters and the space or line end after it.
        self.characters += sum(len(word.form) + 1 for word in words[:-1])
        self.log_p += sum(word.log_p for word in words)

    @property
    def figures(self) -> dict[str, float | None]:
        nats = -self.log_p / (self.words + self.sentences)
        bits = -self.log_p / math.log(2) / max(self.characters, 1)
        perplexity = math.exp(nats) if nats < LARGEST_NATS else None
        return {**asdict(self), "perplexity": perplexity, "bits_per_character": bits}

    def __str__(self) -> str:
        figures = self.figures
        perplexity = figures["perplexity"]
        figures["perplexity"] = "over 1e308" if perplexity is None else f"{perplexity:,.1f}"
        return (
            "{sentences:,} sentences, {words:,} words, {spelled:,} of them spelled ({mark}): "
            "log p {log_p:,.2f}, perplexity {perplexity}, {bits_per_character:.3f} bits per "
            "character".format(**figures, mark=MARK)
        )


@command(app)
def score(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="Text, a sentence a line; - for standard input.")
    ],
    run: TrainedRun = DEFAULT_RUN,
    model: Model = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON lines.")] = False,
) -> None:
    """Score a text: log p of each word and sentence in nats, perplexity, bits per character."""
    sentences = _sentences(file)
    if not sentences:
        raise ValueError(f"{file}: expected a sentence a line, found no text")
    scorer, total = load_model(run, model), Total()
    if not json:
        print(f"{'log p':>9}  that of each word, </s> being the sentence's end")
    for number, words in _scored(scorer, sentences):
        total.add(words)
        print(_as_json(number, words) if json else _as_text(words))
    print(jsons.dumps(total.figures) if json else total)


def _sentences(file: str) -> list[tuple[int, str]]:
    """The lines that are not blank, with their numbers."""
    found = typer.get_text_stream("stdin", "utf-8") if file == "-" else lines(Path(file))
    return [(n, line.strip()) for n, line in enumerate(found, start=1) if line.strip()]


def _scored(scorer, found: list[tuple[int, str]]) -> "Iterator[tuple[int, list[Word]]]":
    for start in range(0, len(found), AT_ONCE):
        numbers, sentences = zip(*found[start : start + AT_ONCE], strict=True)
        yield from zip(numbers, scorer.score_all(sentences), strict=True)


def _as_text(words: "Sequence[Word]") -> str:
    """The log-probability of the sentence, and after each word its own."""
    each = (f"{word.form}{MARK * word.spelled} {word.log_p:.2f}" for word in words)
    return f"{sum(word.log_p for word in words):9.2f}  {'  '.join(each)}"


def _as_json(number: int, words: "Sequence[Word]") -> str:
    log_p = sum(word.log_p for word in words)
    line = {"line": number, "log_p": log_p, "words": [asdict(word) for word in words]}
    return jsons.dumps(line, ensure_ascii=False)
