"""Commands on finished runs: comparisons, combinations, audits, `verify` and `export`."""

from pathlib import Path
from typing import Annotated

import typer

from accord.errors import AccordError
from accord.models.common.registry import extension
from accord.pipeline.base.messages import echo
from accord.pipeline.base.tables import print_table
from accord.pipeline.cli.console import Runs, Seeds, Set, command, listed
from accord.pipeline.study import audit as auditing
from accord.pipeline.study.scored_models import difference_in_text, find_all

RunFolder = Annotated[
    Path, typer.Argument(metavar="RUN", help="Folder of a run, such as runs/paper.")
]


@command
def audit(run: RunFolder) -> None:
    """Check a run for leaks: which splits its vocabulary, φ and b have seen."""
    table = auditing.audit(run)
    print_table(table)
    echo(*auditing.verdicts(table, auditing.chosen_on_validation(run)), sep="\n")
    for name in auditing.texts_in_lexicons(run):
        echo(
            f"φ also comes from the lexicon '{name}', which is made of a text: that text is known."
        )
    for start in auditing.starts(run):
        echo(
            f"vocabulary, φ and b also come from the model {start}: the texts that it was trained "
            f"on are known."
        )


@command
def compare(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN|CONFIG",
            help="Folders of runs, or configurations, which are run first where they are not done.",
        ),
    ],
    set: Set = None,
    seeds: Seeds = 1,
    runs: Runs = Path("runs"),
    to: Annotated[
        Path | None,
        typer.Option(
            help="Folder to write table and figure to; by default `comparison` in that of the runs."
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Also test by a paired bootstrap which differences from this model of the table "
            "are real.",
        ),
    ] = None,
    paper: Annotated[
        bool,
        typer.Option(
            "--paper",
            help="Print instead the tables of the LL-RNN paper beside the figures of one run of "
            "the preset `paper`.",
        ),
    ] = False,
    sentences: Annotated[
        int,
        typer.Option(
            min=0,
            help="With --paper, number of sentences to draw from the LL-RNN (2500) and the RNN: "
            "Table 5.",
        ),
    ] = 0,
    pruned: Annotated[
        str | None,
        typer.Option(
            metavar="PERCENTAGES",
            help="Show instead the perplexity of each model as these percentages of its smallest "
            "weights are set to zero, such as 50,80,90.",
        ),
    ] = None,
) -> None:
    """Compare the models of several runs in one table; train those that are not trained."""
    from accord.pipeline.study import compare as comparing  # here, as it loads matplotlib

    if paper:
        if len(sources) != 1:
            raise AccordError(f"--paper: expected one run, got {', '.join(sources)}")
        echo(comparing.paper_tables(Path(sources[0])), end="")
        if sentences:
            echo(f"\n{comparing.drawn_sentences(Path(sources[0]), sentences)}", end="")
        return
    models = comparing.find_or_run(sources, set=set or (), seeds=seeds, runs=runs)
    if pruned:
        shares = [float(percentage) / 100 for percentage in listed(pruned)]
        for model in models:
            echo(model.name)
            print_table(extension("compare.pruned")(model, shares))
        return
    differences = comparing.compare(models, against) if against else None
    scores = comparing.gather(models)
    shown = comparing.table(scores)
    folder = to or runs / "comparison"
    comparing.write(scores, shown, folder)
    if difference := difference_in_text(models):
        echo(f"not to be compared: {difference}", error=True)
    print_table(shown)
    echo(f"figure: {folder / 'time.png'}")
    if differences is not None:
        echo()
        print_table(differences)


@command
def combine(
    parts: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN/MODEL", help="Models to combine; a RUN alone stands for all of its models."
        ),
    ],
    cache: Annotated[
        bool,
        typer.Option(
            "--cache", help="Add a cache of recent words, which finds all others impossible."
        ),
    ] = False,
    neighbours: Annotated[
        str | None,
        typer.Option(
            metavar="RUN/MODEL",
            help="Add a kNN-LM of this network: it predicts the words that followed the nearest "
            "states in the training text. Its temperature is chosen on validation.",
        ),
    ] = None,
    uniform: Annotated[
        bool, typer.Option("--uniform", help="Give all the same weight, as in an ensemble.")
    ] = False,
    log_linear: Annotated[
        bool,
        typer.Option(
            "--log-linear",
            help="Multiply powers of the probabilities instead of adding shares; not with any "
            "other option.",
        ),
    ] = False,
    bidirectional: Annotated[
        bool,
        typer.Option(
            "--bidirectional",
            help="Show the pseudo-perplexity of two models together, of which the second reads "
            "backwards (train.text), beside the perplexity of each; not with any other option.",
        ),
    ] = False,
) -> None:
    """Combine models with weights tuned on validation; show the perplexity without each."""
    from accord.pipeline.study import combine as combining

    options = {
        "--bidirectional": bidirectional,
        "--log-linear": log_linear,
        "--cache": cache,
        "--neighbours": neighbours,
        "--uniform": uniform,
    }
    first, *others = [name for name, value in options.items() if value] or [""]
    if others and (bidirectional or log_linear):
        raise AccordError(f"{first}: expected no other option beside it, got {', '.join(others)}")
    models = find_all(parts)
    if bidirectional:
        print_table(combining.both_directions(models))
    elif log_linear:
        print_table(combining.log_linear(models))
    else:
        print_table(combining.linear(models, cache, neighbours, uniform))


@command
def export(
    run: RunFolder,
    model: Annotated[
        str | None,
        typer.Argument(metavar="MODEL", help="Model of the run to export; by default its last."),
    ] = None,
    *,
    to: Annotated[
        Path,
        typer.Option(
            help="Folder to write; or a file .arpa, .arpa.gz or .fst.txt, to write n-grams: of a "
            "network, those of the training text with the network's own probabilities. With "
            "--states a file .fst.txt is an automaton of its hidden states. A file .vec has the "
            "vectors of words, in the text form of word2vec."
        ),
    ],
    samples: Annotated[
        int | None,
        typer.Option(
            help="Draw this number of sentences from the network: n-grams are counted in them, or "
            "--states found in them, instead of the training text."
        ),
    ] = None,
    order: Annotated[
        int | None, typer.Option(help="Order of the n-grams of a network; by default 3.")
    ] = None,
    prune: Annotated[
        float | None,
        typer.Option(
            help="Leave out n-grams that change the perplexity by less, as a share: 1e-7, say."
        ),
    ] = None,
    states: Annotated[
        int | None,
        typer.Option(
            help="Write an automaton of at most this number of states, which are clusters of the "
            "network's hidden states, and no n-grams; to a file .fst.txt."
        ),
    ] = None,
    compact: Annotated[
        bool,
        typer.Option(
            "--compact",
            help="Round the weights to half precision or int8, measured on validation text.",
        ),
    ] = False,
    words: Annotated[
        int | None,
        typer.Option(min=1, help="Number of most frequent words in a file .vec; by default all."),
    ] = None,
    retrofit: Annotated[
        str | None,
        typer.Option(
            metavar="lemmas|FILE",
            help="Draw vectors of a file .vec together: those of the forms of each lemma, or of "
            "the words in each line of a file.",
        ),
    ] = None,
) -> None:
    """Export a model with its card: a folder for `load`, n-grams, an automaton, or vectors."""
    from accord.pipeline.model.export import export as write

    how = {"order": order, "samples": samples, "prune": prune, "states": states}
    echo(write(run, model, to, compact, **how, words=words, retrofit=retrofit))
