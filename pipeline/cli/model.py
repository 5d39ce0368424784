"""Queries to a trained model: `accord score`, `explain`, `generate`, `vectors` and `page`."""

import json as jsons
import math
import re
import signal
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from functools import partial
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from accord.corpora.text import lines
from accord.corpora.tokenise import normalise
from accord.errors import AccordError, NotFoundError
from accord.models.common.files import write_whole
from accord.models.common.registry import extension
from accord.pipeline.ask.scorer import (
    GAPS,
    CachedScorer,
    Context,
    Reader,
    Scorer,
    Word,
    load,
    split_texts,
    without_gap,
)
from accord.pipeline.ask.split import PARTS
from accord.pipeline.base.messages import counted, echo, say
from accord.pipeline.base.tables import print_table
from accord.pipeline.cli.console import AtLeast1, command, is_path, listed, make_room
from accord.pipeline.model.find import BUNDLED, find, is_run

if TYPE_CHECKING:
    import pandas as pd


GAP_INSIDE = re.compile(r"(?:…|\.\.\.)\s*\w")


def conditioned(
    scorer: Scorer,
    condition: list[str] | None,
    prime: Path | None = None,
    prime_weight: float | None = None,
    prime_tune: Path | None = None,
) -> Scorer:
    """Return the model, conditioned on labels and primed with words."""
    if not prime and (prime_weight is not None or prime_tune):
        raise AccordError("--prime-weight, --prime-tune: expected --prime and its words too")
    if prime_weight is not None and prime_tune:
        raise AccordError("expected --prime-weight or --prime-tune, got both")
    if condition or prime:
        from accord.pipeline.ask import conditioning  # here, as it loads pandas
    if condition:
        conditioning.tell(scorer, condition)
    if prime:
        words = conditioning.read_words(scorer, prime)
        tune = conditioning.read_lines(prime_tune) if prime_tune else ()
        conditioning.prime(scorer, words, prime_weight, tune)
    return scorer


def expect_words(text: str) -> None:
    """Reject an empty text, and say that a text which names a file is not read as one."""
    if not text.strip():
        raise AccordError("the text is empty: expected a beginning of a sentence, if only …")
    if is_path(text):
        say(f"{text} is read as text, not as a file: `accord surprisal {text}` reads files")
    if text.rstrip().endswith(GAPS) and without_gap(text) == text:
        say("the … right behind a word is three dots; one behind a blank stands for the next word")
    if GAP_INSIDE.search(text):
        say("the … inside is read as three dots: only one at the end stands for the next word")


def load_model(run: Path | None, model: str | None, lexicon: Path | None = None) -> Scorer:
    """Load the model that --run and --model name, perhaps with a lexicon of the user's."""
    if model and run is None:
        raise AccordError(f"--model {model}: a model is chosen of a run; give --run FOLDER too")
    return load(run, model, lexicon)


def load_backward(backward: Path | None) -> Scorer | None:
    """Load the model that --backward names; reject one that reads sentences forwards."""
    if backward is None:
        return None
    scorer = load_model(backward, None)
    if scorer.parts.recipe.text != "backward":
        raise AccordError(
            f"--backward: expected a model that was trained with train.text: backward, "
            f"{backward} was not"
        )
    return scorer


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
    lexicon: Path | None = None,
    condition: list[str] | None = None,
    prime: Path | None = None,
    prime_weight: float | None = None,
    prime_tune: Path | None = None,
    context: Context | None = None,
    cache: bool = False,
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
        lexicon (TABLE): Table of words that the model is to know, or to analyse otherwise: form,
            lemma, upos, feats, perhaps frequency (per million words).
        cache: Words that the text already had are likelier, most of all in like contexts, such as
            names that come again (a continuous cache). With --context none it reaches back to the
            sentence's start only.
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
    scorer = load_model(run, model, lexicon)
    scorer = conditioned(scorer, condition, prime, prime_weight, prime_tune)
    if dynamic is not None:
        if condition or prime or split or cache:
            raise AccordError(
                "--dynamic: expected no --condition, --prime, --split or --cache beside it"
            )
        scorer = extension("score.dynamic")(scorer, dynamic)
        say(f"dynamic evaluation at a rate of {dynamic:g}: the weights follow the text")
    if cache:
        if split:
            raise AccordError("--cache: expected no --split beside it")
        scorer = CachedScorer(scorer)
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
    scorer: Scorer, numbered: list[tuple[int, str]], context: str | None, split: bool
) -> Iterator[tuple[int, list[Word], np.ndarray | None]]:
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


def _print_perplexities(scorer: Scorer, kind: str, split: str) -> None:
    from accord.pipeline.ask.conditioning import perplexities

    table = perplexities(scorer, kind, split)
    shown = {name: table[name].map("{:,.1f}".format) for name in ("right", "none", "wrong")}
    print_table(table.assign(words=table["words"].map("{:,}".format), **shown))


def _as_text(words: Sequence[Word], unit: Unit) -> str:
    """Return the log-probability of the sentence, then each word with its own."""
    scores = (f"{w.form}{MARK * w.spelled} {w.log_p * unit.in_a_nat:.2f}" for w in words)
    return f"{sum(word.log_p for word in words) * unit.in_a_nat:9.2f}  {'  '.join(scores)}"


def _as_table(words: Sequence[Word], parts: np.ndarray, unit: Unit) -> str:
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
    line: int, sentence: int, words: Sequence[Word], parts: np.ndarray | None, unit: Unit
) -> str:
    log_p = sum(word.log_p for word in words) * unit.in_a_nat
    scores = [asdict(word) | {"log_p": word.log_p * unit.in_a_nat} for word in words]
    if parts is not None:
        for score, of_word in zip(scores, (parts * unit.in_a_nat).tolist(), strict=True):
            score["parts"] = dict(zip(PARTS, of_word, strict=True))
    row = {"line": line, "sentence": sentence, "unit": unit, "log_p": log_p, "words": scores}
    return jsons.dumps(row, ensure_ascii=False)


@command
def explain(
    text: str,
    run: Path | None = None,
    model: str | None = None,
    words: str | None = None,
    features: str | None = None,
    top: Annotated[int, AtLeast1] = 10,
    condition: list[str] | None = None,
    context: Context | None = None,
    html: Path | None = None,
) -> None:
    """List the likeliest next words and say why they are likely, feature by feature.

    Args:
        words (WORDS): Words that may come next and are explained, separated by commas, such as
            fatiguée,fatigué; by default the likeliest.
        features (FEATURES): Features whose weights are shown after each word, separated by commas,
            such as Gender=Fem,Gender=Masc; by default the most telling.
        top: Number of likeliest next words to list.
        html: File to write a page to that explains every word of the text, and the next one.
    """
    import pandas as pd

    from accord.pipeline.ask.explain import (
        SPLIT,
        Explainer,
        beginning_words,
        page,
        split,
        telling_features,
    )

    expect_words(text)
    make_room(html)
    explainer = Explainer(conditioned(load_model(run, model), condition), context)
    place = explainer.next_word(text, listed(words or ""), top)
    choices = place.queried or place.likeliest[:SPLIT]
    followed = listed(features or "") or telling_features(choices)
    weights = explainer.weights(text, followed)  # before anything is shown: a feature may be none
    likely = [
        (word.word, f"{word.probability:.2%}", f"{word.log_p:.2f}") for word in place.likeliest
    ]
    print_table(pd.DataFrame(likely, columns=["next word", "p", "log p"]))
    echo("\nlog p as a sum, in nats:\n")
    print_table(_signed(split(choices), "term"))
    if spelled := [choice.word for choice in choices if not choice.is_known]:
        echo(f"\nnot known to the model, and therefore spelled: {', '.join(spelled)}")
    if place.sought:
        echo(f"\nmeaning: the network asks for words like {', '.join(place.sought)}")
    echo("\nthe weights of features after each word:\n")
    print_table(_signed(weights, "after"))
    if html:
        sentence = explainer.sentence(beginning_words(explainer.scorer, text))
        explained = page([sentence], replace(place, queried=tuple(choices)))
        write_whole(html, explained.encode())
        echo(f"\npage: {html}")


@command
def generate(
    run: Path | None = None,
    model: str | None = None,
    start: str = "",
    count: Annotated[int, AtLeast1] = 10,
    temperature: float = 1,
    top_k: int | None = None,
    top_p: float | None = None,
    beam: Annotated[int | None, AtLeast1] = None,
    constraint: list[str] | None = None,
    pattern: str | None = None,
    condition: list[str] | None = None,
    prime: Path | None = None,
    prime_weight: float | None = None,
    prime_tune: Path | None = None,
    spell: bool = False,
    features: bool = False,
    seed: int = 1,
) -> None:
    """Generate sentences, by sampling or by beam search.

    Args:
        start: Words that every sentence begins with.
        count: Number of sentences to generate.
        temperature: Below 1, likely words are drawn more often; above 1, rare ones.
        top_k: Draw from this number of likeliest words only.
        top_p: Draw from the likeliest words only that have this probability together.
        beam: Search with a beam of this width for the sentences that are likeliest for their
            length; draw nothing.
        constraint ([PLACE:] WHAT): Constraint on a generated word. 'NOUN Gender=Fem' is for the
            first word, a second constraint for the next one; '2: DET' is for the second word,
            '*: words=le,chat' for all. A word with several analyses needs one that fits. Can be
            repeated.
        pattern (EXPRESSION): Regular expression over parts of speech, features and words that the
            generated sentence has to match, such as 'DET ADJ* NOUN&Number=Plur . "."'. A single
            point is any word, text in quotes is this word, and /an.*eur/ matches letters.
        spell: Allow words that the model does not know, which it spells.
        features: Print the features of each word too.
        seed: Seed of the draws; the same one gives the same sentences.
    """
    from accord.pipeline.ask.generate import generate as new_sentences

    scorer = conditioned(load_model(run, model), condition, prime, prime_weight, prime_tune)
    sentences = new_sentences(
        scorer,
        start,
        count,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        beam=beam,
        constraints=constraint or (),
        pattern=pattern,
        spelled=spell,
        seed=seed,
    )
    for sentence in sentences:
        echo(sentence.text + ("" if sentence.ended else " […]"))
        if features:  # as a gloss: filles NOUN.Fem.Plur
            glosses = [
                f"{word.form} {'.'.join(name.partition('=')[2] for name in word.features)}".rstrip()
                for word in sentence.words
            ]
            echo("    " + "…  " * bool(start) + "  ".join(glosses))


@command
def vectors(
    words: Annotated[list[str] | None, typer.Argument()] = None,
    run: Path | None = None,
    model: str | None = None,
    analogy: bool = False,
    odd: bool = False,
    inflection: bool = False,
    most: Annotated[int, AtLeast1] = 10,
    retrofit: str | None = None,
) -> None:
    """Compare words by their vectors: neighbours, analogies, the odd one out, inflection.

    Args:
        words (WORD...): Word to find the neighbours of; or several words.
        analogy: Take three words, and list those that are to C as B is to A.
        odd: Take three words or more; show which is unlike the others.
        inflection: Take no words, and measure how often analogies find another form of a lemma.
        most: Number of neighbours or answers.
        retrofit (lemmas|FILE): With --inflection, draw vectors together first: those of the forms
            of each lemma, or of the words in each line of a file.
    """
    from accord.pipeline.ask import vectors as read

    words = words or []
    if retrofit and not inflection:
        raise AccordError("--retrofit needs --inflection")
    if inflection:
        _expect(not words, "--inflection: expected no words", words)
        scorer = load_model(run, model)
        analyses = scorer.parts.readings.table(["word", "lemma", "upos", "feats", "source"])
        analyses = analyses.astype(dict.fromkeys(("upos", "feats"), str))
        table = read.inflection(read.ReadVectors(scorer), analyses, retrofit)
        _print_numbers(table, table.columns[3:], "{:.1%}")
    elif analogy:
        _expect(len(words) == 3, "--analogy: expected three words", words)
        table = read.ReadVectors(load_model(run, model)).analogy(*words, most)
        _print_numbers(table, ["sum", "product"])
    elif odd:
        table = read.ReadVectors(load_model(run, model)).odd_one_out(words)
        _print_numbers(table, table.columns[1:])
    else:
        _expect(len(words) == 1, "expected one word, or --analogy, --odd or --inflection", words)
        table = load_model(run, model).nearest(words[0], most)
        _print_numbers(table, ["cosine"])
        if len(table) <= most:
            echo(f"the model tells no more than these {len(table) - 1} others apart")


def _expect(is_fine: bool, expected: str, words: Sequence[str]) -> None:
    if not is_fine:
        raise AccordError(f"{expected}, got {' '.join(words) or 'none'}")


def _print_numbers(table: "pd.DataFrame", columns: Iterable[str], form: str = "{:.3f}") -> None:
    print_table(table.assign(**{name: table[name].map(form.format) for name in columns}))


def _signed(table: "pd.DataFrame", title: str) -> "pd.DataFrame":
    """Write numbers with signs, and the index as the first column; empty cells stay empty."""
    shown = table.map(lambda number: "" if number != number else f"{number:+.2f}")
    return shown.rename_axis(title).reset_index()


@command
def page(
    run: list[Path] | None = None,
    port: Annotated[int, typer.Option(min=0, max=65535)] = 8420,
    host: str = "127.0.0.1",
    save: Path | None = None,
    sentences: Path | None = None,
) -> None:
    """Serve a local web page to type, explain, change and compare sentences.

    Args:
        run (FOLDER|ID): Folder of a run, whose models are all offered, or of an exported model, or
            hf:OWNER/NAME on the Hugging Face hub; by default the bundled model. Can be repeated.
        port: Port; 0 takes a free one.
        host: Address to serve on; by default only this machine can ask.
        save (FOLDER): Write a page with the answers to --sentences, which works without a server.
        sentences (FILE): Sentences to save: one a line, a second one after a tab.
    """
    from accord.pipeline.page.answers import Models
    from accord.pipeline.page.server import PageServer, SavedPage, read_lessons

    models = Models(_loaders(run or [Path(BUNDLED)]))
    if save or sentences:
        if save is None or sentences is None:
            raise AccordError("expected both --save FOLDER and --sentences FILE, found one of them")
        saved = SavedPage(models, read_lessons(sentences))
        saved.gather()
        echo(f"written: {saved.write(save)}")
        return
    with PageServer(models, host, port) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            if run:  # a run may be missing: then only the error is printed
                models.load_first()
            # The system ends the process at once. Python would first wait for its own turn, which a
            # search in a text can keep for long.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            echo(f"{server.address}  (Ctrl-C ends it)")
            models.load_first()
            models.prepare_first()
            threading.Event().wait()
        finally:
            server.shutdown()


def _loaders(runs: list[Path]) -> dict[str, partial]:
    """Return the loader of each model by name; the last model of a run comes first."""
    names = [run.name for run in runs]
    several = len(runs) > 1
    loaders: dict[str, partial] = {}
    for run in runs:
        name = run.name if names.count(run.name) == 1 else str(run)
        models = [model.name for model in find(run)] if is_run(run) else []
        if not models:  # a single model, or an error when it is loaded
            loaders[name] = partial(load_model, run, None)
        for model in reversed(models):
            loaders[f"{name}/{model}" if several else model] = partial(load_model, run, model)
    return loaders
