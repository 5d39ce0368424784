"""Commands of the zoo: `accord rescore` and `prune`."""

from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from accord.corpora.sources import read_words
from accord.lexicon.homophones import Homophones
from accord.pipeline.base.messages import counted, echo, say
from accord.pipeline.cli.agree import Limit, Split
from accord.pipeline.cli.console import command, make_room
from accord.pipeline.cli.options import Backward, Model, RunOrNGrams, load_backward, load_model
from accord.pipeline.data.catalogue import folder_of
from accord.zoo.lattices import (
    Channel,
    RankMeasures,
    Terms,
    Weights,
    error_rate,
    is_lattice_file,
    oracle,
    read_lists,
    tuned,
    write_lattices,
    write_nbest,
)


@command
def rescore(
    nbest: Annotated[
        Path,
        typer.Argument(
            metavar="NBEST",
            help="File of n-best lists, in lines ID ||| HYPOTHESIS ||| SCORE or in JSON lines; or "
            "of lattices in Kaldi's text form or HTK's (SLF), if its name ends in .lat or .slf.",
        ),
    ],
    tune: Annotated[
        Path | None,
        typer.Option(
            metavar="DEV",
            help="File of n-best lists or lattices with references, to tune the weights on.",
        ),
    ] = None,
    run: RunOrNGrams = None,
    model: Model = None,
    backward: Backward = None,
    model_weight: Annotated[
        float, typer.Option(help="Weight of the model's log p, if none is tuned.")
    ] = 1.0,
    word_weight: Annotated[
        float, typer.Option(help="Score that each word adds, if nothing is tuned.")
    ] = 0.0,
    make: Annotated[
        str | None,
        typer.Option(
            metavar="CORPUS",
            help="Write NBEST instead: lists or lattices of homophones of the sentences of a "
            "corpus, a name or a path, of all of them unless --split or --limit is given.",
        ),
    ] = None,
    split: Split = None,
    limit: Limit = None,
    size: Annotated[
        int, typer.Option(min=1, help="With --make, number of hypotheses in each list.")
    ] = 100,
    spelling: Annotated[
        bool,
        typer.Option("--spelling", help="With --make, confuse words that are one letter apart."),
    ] = False,
    known: Annotated[
        bool,
        typer.Option(
            "--known", help="With --make, hear the words of --run alone, of a closed vocabulary."
        ),
    ] = False,
) -> None:
    """Rescore n-best lists or lattices with a model and print the best hypothesis of each."""
    if make:
        vocabulary = load_model(run, model).vocabulary.known if known else None
        _make(nbest, make, Channel(Homophones.bundled(), spelling, vocabulary), split, limit, size)
        return
    lists, development = read_lists(nbest), read_lists(tune) if tune else []
    scorer, other = load_model(run, model), load_backward(backward)
    weights = Weights(model_weight, word_weight)
    if tune:
        weights = tuned(development, Terms.scored(development, scorer, other))
        say(f"log p × {weights.model:.4g}, a word {weights.word:+.4g}")
    terms = Terms.scored(lists, scorer, other)
    if terms.unknown:
        say(f"lists with words that the model does not know stay: {', '.join(terms.unknown)}")
    chosen = weights.best(terms)
    for hypotheses, at in zip(lists, chosen, strict=True):
        echo(f"{hypotheses.id} ||| {hypotheses.texts[at]}")
    if all(hypotheses.reference for hypotheses in lists):
        first = error_rate(lists, Weights(0, 0).best(terms))
        reranked, least = error_rate(lists, chosen), error_rate(lists, oracle(lists))
        say(f"word error rate: {first:.2%} before, {reranked:.2%} after, {least:.2%} at the least")
        for name, weighting in (("before", Weights(0, 0)), ("after", weights)):
            ranks = RankMeasures.measured(lists, weighting.totals(terms))
            say(
                f"rank of the best hypothesis {name}: first in {ranks.first:.1%}, mean "
                f"{ranks.rank:.2f}, mean reciprocal {ranks.reciprocal:.3f}; sentences with an "
                f"error {ranks.sentences:.1%}"
            )


def _make(
    to: Path, corpus: str, channel: Channel, split: str | None, limit: int | None, size: int
) -> None:
    """Write what a recogniser may have heard of each sentence of a corpus."""
    make_room(to)
    sentences = [
        (name, " ".join(words).lower().split())  # 50 000 is two words to a recogniser
        for name, words in islice(read_words(corpus, folder=folder_of, split=split), limit)
    ]
    heard = ((channel.lattice(name, words), " ".join(words)) for name, words in sentences)
    if is_lattice_file(to):
        write_lattices(to, heard)
    else:
        write_nbest(to, (lattice.nbest(size, reference) for lattice, reference in heard))
    echo(f"{counted(len(sentences), 'sentence')}: {to}")
