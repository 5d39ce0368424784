"""Commands on agreement: `accord agree` and `accord suite make`."""

from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from accord import lexicon as lexicons
from accord.corpora.sources import read_words
from accord.errors import AccordError
from accord.pipeline.base.messages import echo, say
from accord.pipeline.base.tables import print_table, write_table
from accord.pipeline.cli.console import command, listed, make_room
from accord.pipeline.data.catalogue import folder_of
from accord.pipeline.evaluation.suites import Columns, read_suite
from accord.pipeline.model.find import BUNDLED
from accord.pipeline.study.suite_making import make_suite

Corpus = Annotated[
    str, typer.Argument(metavar="CORPUS", help="Treebank or text to use: its name, or its path.")
]
Split = Annotated[
    str | None, typer.Option(help="Part of the corpus to use, such as test; by default all of it.")
]
Limit = Annotated[
    int | None, typer.Option(min=1, help="Number of sentences to use; by default all.")
]


@command
def agree(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="RUN",
            help="Folders of the runs to ask, such as runs/closed, or of exported models; by "
            "default the bundled model.",
        ),
    ] = None,
    suite: Annotated[
        str,
        typer.Option(
            metavar="NAME|PATH",
            help="Suite to ask: the name of a data folder, or a path. It holds texts as CLAMS has "
            "them, tables with columns good and bad, or JSON lines with sentence_good and "
            "sentence_bad. A pair of one sentence twice is named and left out.",
        ),
    ] = "clams-fr",
    good: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Column of the right sentences, if it is called otherwise."
        ),
    ] = None,
    bad: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Column of the wrong sentences, if it is called otherwise."
        ),
    ] = None,
    by: Annotated[
        str,
        typer.Option(
            help="Rows of the table: construction; length, which reports pairs of equal length by "
            "themselves; or another column of the suite. Several columns, separated by commas, are "
            "crossed: animacy,number. Suites of `accord suite make` have distance, attractors and, "
            "for subjunctives, trigger."
        ),
    ] = "construction",
    score: Annotated[
        str | None,
        typer.Option(
            metavar="verb|word:COLUMN",
            help="Compare log p of one word that is the same in both sentences, for pairs whose "
            "subject varies. verb: the first finite verb after the difference that agrees with the "
            "right subject; verbs of clauses with que, dont, où, quand are skipped. word:COLUMN: "
            "the word in a column of the suite's table, at its first position from the difference "
            "on.",
        ),
    ] = None,
    lexicon: Annotated[
        str,
        typer.Option(
            help="Lexicons in which `--score verb` finds verbs: names or paths, separated by "
            "commas."
        ),
    ] = "closed,dela",
    people: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of what people said of each pair, such as the share who chose the right "
            "sentence: prints its correlation with the margins.",
        ),
    ] = None,
    items: Annotated[
        Path | None,
        typer.Option(
            metavar="CSV",
            help="File to write every pair to: its sentences, its margins in nats, and whether "
            "they are right (1, 0, or 0.5 for a tie).",
        ),
    ] = None,
) -> None:
    """Score minimal pairs: how often a model finds the right sentence likelier.

    A tie counts one half.
    """
    from accord.pipeline.evaluation.metrics import SCORINGS
    from accord.pipeline.study import agreement

    make_room(items)
    pairs = read_suite(suite, columns=Columns.named(good, bad))
    rows = [agreement.groups(pairs, by)]
    pooled = agreement.groups(pairs, by, pooled=True)
    if pooled.nunique() < rows[0].nunique():  # of one construction both would be the same
        rows.append(pooled)
    is_verb = score == agreement.VERB
    chain = lexicons.load(listed(lexicon), folder=folder_of) if is_verb else None
    words = agreement.find_words(pairs, score, chain) if score else None
    results = agreement.judged(runs or [Path(BUNDLED)], pairs, words)
    for scoring in [len(SCORINGS)] if words else agreement.distinct_scorings(results):
        for groups in rows:
            print_table(agreement.side_by_side(results, groups, scoring))
            echo()
    print_table(agreement.summary(results, rows[0]))
    if people:
        echo()
        print_table(agreement.with_people(results, pairs, people))
    if items:
        write_table(agreement.items(results, pairs, words), items)
        say(f"margins: {items}")
    if count := agreement.of_different_lengths(results):
        say(
            f"pairs with sentences of different lengths: {count:,}; a whole favours the shorter; "
            f"--by length reports them apart"
        )
    say("intervals take pairs for independent; those made from a few templates are not")


@command
def make(
    corpus: Corpus,
    to: Annotated[
        Path,
        typer.Option(help="Folder to write the suite to; with --errors a table, a file .csv."),
    ],
    lexicon: Annotated[
        str,
        typer.Option(
            help="Lexicons that know the forms of words: names or paths, separated by commas."
        ),
    ] = "closed,dela",
    errors: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=3,
            help="Plant this number of errors at most in each sentence: words that sound the same, "
            "or that agree otherwise. The bundled model then knows the forms.",
        ),
    ] = None,
    split: Split = None,
    limit: Limit = None,
    every: Annotated[
        int, typer.Option(min=1, metavar="N", help="Use every Nth sentence of the corpus.")
    ] = 1,
    seed: Annotated[int, typer.Option(help="Seed that chooses the words of --errors.")] = 1,
) -> None:
    """Make minimal pairs: a real sentence, and the same with a word that no longer agrees.

    A treebank or a text has subjects and verbs, determiners and nouns, nouns and adjectives,
    participles after their object (les échecs qu'ils ont subis), and subjunctives after a trigger
    (bien qu'il soit): the wrong sentence has the indicative.
    """
    if errors:
        _plant(corpus, to, errors, split, limit, every, seed)
        return
    if split or limit or every > 1:
        raise AccordError("--split, --limit, --every: expected --errors too")
    chain = lexicons.load(listed(lexicon), folder=folder_of)
    pairs = make_suite(corpus, chain, to).groupby("construction")
    table = pairs.agg(
        pairs=("distance", "size"),
        farthest=("distance", "max"),
        with_attractors=("attractors", lambda counts: int((counts > 0).sum())),
    )
    print_table(table.rename(columns={"with_attractors": "with attractors"}).reset_index())
    echo(f"written to {to}; `accord agree RUN --suite {to}` asks models")


def _plant(
    corpus: str, to: Path, errors: int, split: str | None, limit: int | None, every: int, seed: int
) -> None:
    """Write a table of sentences and the same sentences with errors."""
    from accord.pipeline.ask.scorer import bundled
    from accord.pipeline.correct.candidates import Candidates
    from accord.pipeline.correct.planted import plant

    if to.suffix != ".csv":
        raise AccordError(f"--to: expected a name that ends in .csv, got {to}")
    make_room(to)
    chosen = islice(read_words(corpus, folder=folder_of, split=split), 0, None, every)
    sentences = (words for _, words in chosen)
    table = plant(sentences, Candidates(bundled()), errors, seed, limit)
    write_table(table, to)
    print_table(table.groupby("construction").size().rename("pairs").reset_index())
    echo(
        f"written to {to}; `accord correct --suite {to}` and `accord agree RUN --suite {to}` ask it"
    )
