"""Scores of a text: `accord score`."""

import json as jsons
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from accord.corpora.text import lines
from accord.corpora.tokenise import normalise
from accord.errors import AccordError, NotFoundError
from accord.models.common.registry import extension
from accord.pipeline.ask.reader import Reader
from accord.pipeline.ask.split import PARTS
from accord.pipeline.ask.texts import Context, Word, split_texts
from accord.pipeline.base.messages import counted, echo, say
from accord.pipeline.cli.console import command, is_path
from accord.pipeline.cli.options import conditioned, load_model

if TYPE_CHECKING:
    import numpy as np

    from accord.pipeline.ask.scorer import Scorer


LARGEST_NATS = math.log(sys.float_info.max)  # per word; a larger perplexity is no number here
TABLES = (".csv", ".tsv", ".parquet", ".xlsx")
FILES = (*TABLES, ".txt", ".gz", ".json", ".jsonl", ".conllu")  # nobody scores such a name
MARK = "*"  # of a word that the character model spelled


class Unit(StrEnum):
    nats = "nats"
    bits = "bits"

    @property
    def in_a_nat(self) -> float:
        return 1.0 if self is Unit.nats else 1 / math.log(2)


@dataclass
class Total:
    """The sums of a text, as the stage `evaluate` counts: ends are words for the perplexity."""

    unit: Unit
    sentences: int = 0
    words: int = 0
    spelled: int = 0
    characters: int = 0
    nats: float = 0.0  # −log p

    def add(self, words: Sequence[Word]) -> None:
        """Add a sentence with its end."""
        self.sentences += 1
        self.words += len(words) - 1
        self.spelled += sum(word.spelled for word in words)
        # A word's letters and the space or line end after it.
        self.characters += sum(len(word.form) + 1 for word in words[:-1])
        self.nats -= sum(word.log_p for word in words)

    @property
    def figures(self) -> dict[str, float | str | None]:
        """Return counts, log p, perplexity and bits per character."""
        counts = asdict(self)
        nats = counts.pop("nats")
        per_word = nats / (self.words + self.sentences)
        return {
            **counts,
            "log_p": -nats * self.unit.in_a_nat,
            # No float holds the perplexity of, say, a long word in letters that training lacks.
            "perplexity": math.exp(per_word) if per_word < LARGEST_NATS else None,
            "bits_per_character": nats / math.log(2) / max(self.characters, 1),
        }

    def __str__(self) -> str:
        figures = self.figures
        perplexity = figures["perplexity"]
        return (
            f"{counted(self.sentences, 'sentence')}, {counted(self.words, 'word')}, "
            f"{self.spelled:,} spelled by the character model ({MARK}): "
            f"log p {figures['log_p']:,.2f} {self.unit}, perplexity "
            f"{'over 1e308' if perplexity is None else f'{perplexity:,.1f}'}, "
            f"{figures['bits_per_character']:.3f} bits per character"
        )


@command
def score(
    text: str,
    run: Path | None = None,
    model: str | None = None,
    condition: list[str] | None = None,
    prime: Path | None = None,
    prime_weight: float | None = None,
    prime_tune: Path | None = None,
    context: Context | None = None,
    dynamic: float | None = None,
    labels: str | None = None,
    unit: Unit = Unit.nats,
    split: bool = False,
    json: bool = False,
) -> None:
    """Score a text: log p of each word and sentence, perplexity, bits per character.

    A line may have several sentences; each ends with </s>. The lines of a file are one text up to
    a blank line, as in a corpus: with --context text they are read one after another.

    Args:
        text (TEXT|FILE): A text in quotes, a file, or - for standard input.
        run (FOLDER|ID|FILE): Folder of a run or of an exported model, hf:OWNER/NAME on the Hugging
            Face hub, or a file .arpa or .arpa.gz; by default the bundled model.
        dynamic (RATE): Dynamic evaluation: after each sentence the weights take a step on it, at
            this learning rate. Such scores compare with each other alone. Needs torch.
        labels (KIND): Compare the perplexity with the right label of a sentence, with none and with
            a wrong one. KIND is a kind of labels of the run; the text is then a split: test.
        unit: Unit of log p: nats or bits.
        split: A line per word with its surprisal and the parts of that: part of speech, inflection,
            lemma, form, ambiguity.
        json: Print a JSON object a sentence, and the sum to stderr.
    """
    if labels:
        _print_perplexities(load_model(run, model), labels, text)
        return
    numbered = numbered_sentences(text)
    scorer = conditioned(load_model(run, model), condition, prime, prime_weight, prime_tune)
    if dynamic is not None:
        if condition or prime or split:
            raise AccordError("--dynamic: expected no --condition, --prime or --split beside it")
        scorer = extension("score.dynamic")(scorer, dynamic)
        say(f"dynamic evaluation at a rate of {dynamic:g}: the weights follow the text")
    total = Total(unit)
    if not json:
        echo(
            f"{_row('surprisal', *PARTS)}  in {unit}; </s> is the sentence end"
            if split
            else f"{'log p':>9}  in {unit}: of the sentence, then of each word; </s> is the "
            "sentence end"
        )
    for number, words, parts in _scored(scorer, numbered, context, split):
        total.add(words)
        if json:
            echo(_as_json(number, total.sentences, words, parts, unit))
        else:
            echo(_as_text(words, unit) if parts is None else _as_table(words, parts, unit))
    if json:
        echo(jsons.dumps(total.figures), error=True)
    else:
        echo(total)


def numbered_sentences(text: str) -> list[tuple[int, str]]:
    """Return the lines that are not blank, with their numbers; a text that is no file is one."""
    if not text.strip():
        raise AccordError("the text is empty: expected a sentence, a file, or - for standard input")
    if text == "-":
        source = typer.get_text_stream("stdin", "utf-8")
    elif not is_path(text) or Path(text).is_dir():
        _expect_text(text)
        return [(1, text.strip())]
    elif Path(text).suffix in TABLES:
        raise AccordError(_is_a_table(text))
    else:
        source = lines(Path(text))
    kept = [line.removeprefix("\ufeff").rstrip("\r\n") for line in source]
    tabs = {line.count("\t") for line in kept if line.strip()}
    if len(kept) > 1 and len(tabs) == 1 and tabs != {0}:
        raise AccordError(_is_a_table(text))
    numbered = [(n, line.strip()) for n, line in enumerate(kept, start=1) if normalise(line)]
    if not numbered:
        raise AccordError(f"{text}: expected one sentence per line, found no text")
    return numbered


def _expect_text(text: str) -> None:
    """Reject the name of a missing file, and say that a path is scored as text."""
    if any(character.isspace() for character in text):
        return
    if Path(text).suffix in FILES:
        raise NotFoundError(f"no file {text}")
    if "/" in text:
        say(f"{text} is scored as text: there is no such file")


def _is_a_table(text: str) -> str:
    return (
        f"{text}: expected one sentence per line, this looks like a table; "
        f"`accord surprisal {text} --column NAME` reads its sentences"
    )


def _scored(
    scorer: "Scorer", numbered: list[tuple[int, str]], context: str | None, split: bool
) -> "Iterator[tuple[int, list[Word], np.ndarray | None]]":
    """Yield the number of each sentence's line, its words, and the parts of their surprisal."""
    texts = split_texts(line for _, line in numbered)
    line = iter([numbered[text][0] for text in texts.text])
    documents = None
    if scorer.in_context(context):
        # A number is left out where a blank line stood.
        begins = [later > number + 1 for (number, _), (later, _) in pairwise(numbered)]
        document = [*accumulate(begins, initial=0)]
        documents = [document[text] for text in texts.text]
        if len(numbered) > 1:
            say(f"{counted(document[-1] + 1, 'text')} read in context; a blank line ends a text")
    for read in Reader(scorer, split=split).read(texts.sentences, documents):
        for words, place in zip(read.words(), read.by_sentence(), strict=True):
            yield next(line), words, None if read.parts is None else read.parts[place]


def _print_perplexities(scorer: "Scorer", kind: str, split: str) -> None:
    from accord.pipeline.ask.conditioning import perplexities
    from accord.pipeline.base.tables import print_table

    table = perplexities(scorer, kind, split)
    shown = {name: table[name].map("{:,.1f}".format) for name in ("right", "none", "wrong")}
    print_table(table.assign(words=table["words"].map("{:,}".format), **shown))


def _as_text(words: Sequence[Word], unit: Unit) -> str:
    """Return the log-probability of the sentence, then each word with its own."""
    scores = (f"{w.form}{MARK * w.spelled} {w.log_p * unit.in_a_nat:.2f}" for w in words)
    return f"{sum(word.log_p for word in words) * unit.in_a_nat:9.2f}  {'  '.join(scores)}"


def _as_table(words: Sequence[Word], parts: "np.ndarray", unit: Unit) -> str:
    """Return a line for each word, with its surprisal and the parts of that."""
    numbers = (parts * unit.in_a_nat).tolist()
    return "\n".join(
        _row(*(f"{round(n, 2) + 0:.2f}" for n in (-w.log_p * unit.in_a_nat, *of_word)))
        + f"  {w.form}{MARK * w.spelled}"
        for w, of_word in zip(words, numbers, strict=True)
    )


def _row(*cells: str) -> str:
    return "".join(f"{cell:>11}" for cell in cells)


def _as_json(
    line: int, sentence: int, words: Sequence[Word], parts: "np.ndarray | None", unit: Unit
) -> str:
    log_p = sum(word.log_p for word in words) * unit.in_a_nat
    scores = [asdict(word) | {"log_p": word.log_p * unit.in_a_nat} for word in words]
    if parts is not None:
        for score, of_word in zip(scores, (parts * unit.in_a_nat).tolist(), strict=True):
            score["parts"] = dict(zip(PARTS, of_word, strict=True))
    row = {"line": line, "sentence": sentence, "unit": unit, "log_p": log_p, "words": scores}
    return jsons.dumps(row, ensure_ascii=False)
