"""Words taken for others: `accord correct`, `corrections`, `nbest` and `suite plant`."""

import json as jsons
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.cli.agree import suite_app
from pipeline.cli.console import command, print_table
from pipeline.cli.model import Model, TrainedRun, load_model
from pipeline.cli.score import numbered_sentences
from pipeline.inference.default_model import DEFAULT_RUN

if TYPE_CHECKING:
    from lexicon.homophones import Homophones
    from pipeline.confusions.correct import Reasons

app = typer.Typer()

Corpus = Annotated[
    str, typer.Argument(metavar="CORPUS", help="Treebank or text to use: its name, or its path.")
]
Split = Annotated[
    str | None, typer.Option(help="Part of the corpus to use, such as test; by default all of it.")
]
Limit = Annotated[
    int | None, typer.Option(min=1, help="Number of sentences to use; by default all.")
]
SHOWN = 4  # so many reasons are printed


@command(app)
def correct(
    text: Annotated[
        str,
        typer.Argument(
            metavar="TEXT|FILE",
            help="A sentence in quotes, a file with a sentence a line, or - for standard input.",
        ),
    ],
    run: TrainedRun = DEFAULT_RUN,
    model: Model = None,
    margin: Annotated[
        float,
        typer.Option(help="Nats that a sentence must gain from a word for it to be suggested."),
    ] = 4.0,
    json: Annotated[
        bool, typer.Option("--json", help="Print a JSON object for each sentence.")
    ] = False,
) -> None:
    """Suggest words that agree better, or that sound the same and fit better, and say why."""
    import pandas as pd

    from corpora.offsets import spans
    from corpora.tokenise import tokenised
    from pipeline.confusions.correct import Corrector

    sentences = numbered_sentences(text)
    corrector = Corrector(load_model(run, model), _homophones())
    rows = []
    for number, sentence in sentences:
        (words,) = tokenised([sentence])
        found = corrector.corrections(words, margin)
        places = spans(sentence, words)
        line = [
            {
                "line": number,
                "word": each.word,
                "suggestion": each.written,
                "start": places[each.place][0],
                "end": places[each.place][1],
                "gain": each.gain,
                "why": reasons,
            }
            for each, reasons in found
        ]
        if json:
            print(jsons.dumps({"text": sentence, "suggestions": line}, ensure_ascii=False))
        rows += line
    if json:
        return
    if rows:
        table = pd.DataFrame(rows).drop(columns=["start", "end"])
        shown = {"gain": table["gain"].map("{:+.2f}".format), "why": table["why"].map(_shown)}
        print_table(table.assign(**shown))
    print(f"{len(rows):,} suggestions in {len(sentences):,} sentences")


@command(app)
def corrections(
    suite: Annotated[
        str,
        typer.Argument(
            metavar="SUITE", help="Right and wrong sentences: a suite of `accord suite`, or a path."
        ),
    ],
    tune: Annotated[
        str | None,
        typer.Option(metavar="SUITE", help="Other such sentences, to tune the margin on."),
    ] = None,
    run: TrainedRun = DEFAULT_RUN,
    model: Model = None,
    margin: Annotated[
        float, typer.Option(help="Nats that a sentence must gain, if nothing is tuned.")
    ] = 4.0,
) -> None:
    """Show how many planted errors `accord correct` repairs, and how often it is wrong."""
    from pipeline.confusions.correct import Corrector
    from pipeline.confusions.measure import Judged
    from pipeline.evaluation.suite import read_suite

    pairs, development = read_suite(suite), read_suite(tune) if tune else []
    corrector = Corrector(load_model(run, model), _homophones())
    if tune:
        margin = Judged.of(development, corrector).tuned()
    table = Judged.of(pairs, corrector).table(margin)
    shares = {name: table[name].map("{:.1%}".format) for name in table.columns[1:]}
    print_table(table.astype({"planted": int}).assign(**shares).rename_axis("error").reset_index())
    print(f"margin: {margin:.2f} nats; half of the sentences have one error, half have none")


@command(app)
def nbest(
    corpus: Corpus,
    to: Annotated[
        Path,
        typer.Option(
            help="File to write: lattices in Kaldi's text form if it ends in .lat, else n-best "
            "lists in JSON lines."
        ),
    ],
    split: Split = None,
    limit: Limit = None,
    size: Annotated[int, typer.Option(min=1, help="Hypotheses in each list.")] = 100,
    spelling: Annotated[
        bool, typer.Option("--spelling", help="Confuse words that are one letter apart, too.")
    ] = False,
) -> None:
    """Make n-best lists of what sounds the same, for `accord rescore`, out of any sentences."""
    from itertools import islice

    from pipeline.confusions.channel import Channel
    from pipeline.confusions.kaldi import KIND, write_lattices
    from pipeline.confusions.source import sentences
    from pipeline.inference.nbest import write_nbest

    channel = Channel(_homophones(), spelling)
    said = [
        (name, " ".join(words).lower().split())  # 50 000 is two words to a recogniser
        for name, words in islice(sentences(corpus, split), limit)
    ]
    heard = ((channel.lattice(name, words), " ".join(words)) for name, words in said)
    if to.suffix == KIND:
        write_lattices(to, heard)
    else:
        write_nbest(to, (lattice.nbest(size, reference) for lattice, reference in heard))
    print(f"{len(said):,} sentences: {to}")


@command(suite_app)
def plant(
    corpus: Corpus,
    to: Annotated[Path, typer.Option(help="File to write the suite to: .csv.")],
    split: Split = None,
    limit: Limit = None,
    seed: Annotated[int, typer.Option(help="Seed that chooses the words.")] = 1,
) -> None:
    """Plant an error in each sentence: a word that sounds the same as one of its words."""
    from itertools import islice

    from pipeline.confusions import planted
    from pipeline.confusions.source import sentences

    if to.suffix != ".csv":
        raise ValueError(f"--to: expected a name that ends in .csv, got {to}")
    words = (words for _, words in sentences(corpus, split))
    table = planted.plant(islice(words, limit), _homophones(), seed)
    table.to_csv(to, index=False)
    print_table(table.groupby("construction").size().rename("pairs").reset_index())
    print(f"written to {to}; `accord corrections {to}` asks a model, `accord agree` too")


def _shown(reasons: "Reasons") -> str:
    """The largest reasons, and how much all others give together."""
    first, others = list(reasons.items())[:SHOWN], list(reasons.values())[SHOWN:]
    rest = [("others", sum(others))] if others else []
    return ", ".join(f"{name} {nats:+.2f}" for name, nats in [*first, *rest])


def _homophones() -> "Homophones":
    from lexicon.homophones import Homophones
    from pipeline.data.folders import folder_of

    return Homophones.load(folder_of)
