"""Commands on finished runs: comparisons, combinations, audits, `verify` and `export`."""

from pathlib import Path
from typing import Annotated

import typer

from accord.errors import AccordError
from accord.models.common.registry import extension
from accord.pipeline.base.messages import echo
from accord.pipeline.base.tables import print_table
from accord.pipeline.cli.console import AtLeast0, AtLeast1, command, listed
from accord.pipeline.model.comparison import difference_in_text, find_all
from accord.pipeline.study import audit as auditing


@command
def audit(run: Path) -> None:
    """Check a run for leaks: which splits its vocabulary, φ and b have seen.

    Args:
        run (RUN): Folder of a run, such as runs/paper.
    """
    table = auditing.audit(run)
    print_table(table)
    echo(*auditing.verdicts(run, table, auditing.chosen_on_validation(run)), sep="\n")
    for start in auditing.starts(run):
        echo(
            f"vocabulary, φ and b also come from the model {start}: the texts that it was trained "
            f"on are known."
        )


@command
def compare(
    sources: list[str],
    set: list[str] | None = None,
    seeds: int = 1,
    runs: Path = Path("runs"),
    to: Path | None = None,
    against: str | None = None,
    paper: bool = False,
    sentences: Annotated[int, AtLeast0] = 0,
    pruned: str | None = None,
) -> None:
    """Compare the models of several runs in one table; train those that are not trained.

    Args:
        sources (RUN|CONFIG): Folders of runs, or configurations, which are run first where they are
            not done.
        to: Folder to write table and figure to; by default `comparison` in that of the runs.
        against (MODEL): Also test by a paired bootstrap which differences from this model of the
            table are real.
        paper: Print instead the tables of the LL-RNN paper beside the figures of one run of the
            preset `paper`.
        sentences: With --paper, number of sentences to draw from the LL-RNN (2500) and the RNN:
            Table 5.
        pruned (PERCENTAGES): Show instead the perplexity of each model as these percentages of its
            smallest weights are set to zero, such as 50,80,90.
    """
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
    parts: list[str],
    cache: bool = False,
    neighbours: str | None = None,
    uniform: bool = False,
    log_linear: bool = False,
    bidirectional: bool = False,
) -> None:
    """Combine models with weights tuned on validation; show the perplexity without each.

    Args:
        parts (RUN/MODEL): Models to combine; a RUN alone stands for all of its models.
        cache: Add a cache of recent words, which finds all others impossible.
        neighbours (RUN/MODEL): Add a kNN-LM of this network: it predicts the words that followed
            the nearest states in the training text. Its temperature is chosen on validation.
        uniform: Give all the same weight, as in an ensemble.
        log_linear: Multiply powers of the probabilities instead of adding shares; not with any
            other option.
        bidirectional: Show the pseudo-perplexity of two models together, of which the second reads
            backwards (train.text), beside the perplexity of each; not with any other option.
    """
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
    run: Path,
    model: Annotated[str | None, typer.Argument()] = None,
    *,
    to: Annotated[Path, typer.Option()],
    samples: int | None = None,
    order: int | None = None,
    prune: float | None = None,
    states: int | None = None,
    compact: bool = False,
    words: Annotated[int | None, AtLeast1] = None,
    retrofit: str | None = None,
) -> None:
    """Export a model with its card: a folder for `load`, n-grams, an automaton, or vectors.

    Args:
        run (RUN): Folder of a run, such as runs/paper.
        model (MODEL): Model of the run to export; by default its last.
        to: Folder to write; or a file .arpa, .arpa.gz or .fst.txt, to write n-grams: of a network,
            those of the training text with the network's own probabilities. With --states a file
            .fst.txt is an automaton of its hidden states. A file .vec has the vectors of words, in
            the text form of word2vec.
        samples: Draw this number of sentences from the network: n-grams are counted in them, or
            --states found in them, instead of the training text.
        order: Order of the n-grams of a network; by default 3.
        prune: Leave out n-grams that change the perplexity by less, as a share: 1e-7, say.
        states: Write an automaton of at most this number of states, which are clusters of the
            network's hidden states, and no n-grams; to a file .fst.txt.
        compact: Round the weights to half precision or int8, measured on validation text.
        words: Number of most frequent words in a file .vec; by default all.
        retrofit (lemmas|FILE): Draw vectors of a file .vec together: those of the forms of each
            lemma, or of the words in each line of a file.
    """
    from accord.pipeline.model.export import export as write

    how = {"order": order, "samples": samples, "prune": prune, "states": states}
    echo(write(run, model, to, compact, **how, words=words, retrofit=retrofit))
