"""Commands of the zoo: `accord rescore` and `prune`."""

from itertools import islice
from pathlib import Path
from typing import Annotated

from accord.corpora.sources import read_words
from accord.lexicon.homophones import Homophones
from accord.pipeline.base.messages import counted, echo, say
from accord.pipeline.cli.console import AtLeast1, command, make_room
from accord.pipeline.cli.model import load_backward, load_model
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
    nbest: Path,
    tune: Path | None = None,
    run: Path | None = None,
    model: str | None = None,
    backward: Path | None = None,
    model_weight: float = 1.0,
    word_weight: float = 0.0,
    make: str | None = None,
    split: str | None = None,
    limit: Annotated[int | None, AtLeast1] = None,
    size: Annotated[int, AtLeast1] = 100,
    spelling: bool = False,
    known: bool = False,
) -> None:
    """Rescore n-best lists or lattices with a model and print the best hypothesis of each.

    Args:
        nbest (NBEST): File of n-best lists, in lines ID ||| HYPOTHESIS ||| SCORE or in JSON lines;
            or of lattices in Kaldi's text form or HTK's (SLF), if its name ends in .lat or .slf.
        tune (DEV): File of n-best lists or lattices with references, to tune the weights on.
        run (FOLDER|ID|FILE): Folder of a run or of an exported model, hf:OWNER/NAME on the Hugging
            Face hub, or a file .arpa or .arpa.gz; by default the bundled model.
        model_weight: Weight of the model's log p, if none is tuned.
        word_weight: Score that each word adds, if nothing is tuned.
        make (CORPUS): Write NBEST instead: lists or lattices of homophones of the sentences of a
            corpus, a name or a path, of all of them unless --split or --limit is given.
        size: With --make, number of hypotheses in each list.
        spelling: With --make, confuse words that are one letter apart.
        known: With --make, hear the words of --run alone, of a closed vocabulary.
    """
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
