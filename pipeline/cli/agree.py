"""Commands on right and wrong sentences: `accord agree`, `suite make` and `correct`."""

import json as jsons
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from accord.errors import AccordError
from accord.pipeline.base.messages import counted, echo, say, track
from accord.pipeline.base.tables import print_table, write_table
from accord.pipeline.cli.console import AtLeast1, command, listed, make_room
from accord.pipeline.cli.model import load_backward, load_model, numbered_sentences
from accord.pipeline.data.catalogue import folder_of
from accord.pipeline.model.find import BUNDLED

if TYPE_CHECKING:
    from accord.pipeline.ask.correct import Corrector, Prior
    from accord.pipeline.model.suites import Pair

SHOWN = 4  # reasons of a suggestion that are printed


@command
def agree(
    runs: Annotated[list[Path] | None, typer.Argument()] = None,
    suite: str = "clams-fr",
    good: str | None = None,
    bad: str | None = None,
    by: str = "construction",
    score: str | None = None,
    lexicon: str = "closed,dela",
    people: str | None = None,
    items: Path | None = None,
) -> None:
    """Score minimal pairs: how often a model finds the right sentence likelier.

    A tie counts one half.

    Args:
        runs (RUN): Folders of the runs to ask, such as runs/closed, or of exported models; by
            default the bundled model.
        suite (NAME|PATH): Suite to ask: the name of a data folder, or a path. It holds texts as
            CLAMS has them, tables with columns good and bad, or JSON lines with sentence_good and
            sentence_bad. A pair of one sentence twice is named and left out.
        good (COLUMN): Column of the right sentences, if it is called otherwise.
        bad (COLUMN): Column of the wrong sentences, if it is called otherwise.
        by: Rows of the table: construction; length, which reports pairs of equal length by
            themselves; or another column of the suite. Several columns, separated by commas, are
            crossed: animacy,number. Suites of `accord suite make` have distance, attractors and,
            for subjunctives, trigger.
        score (verb|word:COLUMN): Compare log p of one word that is the same in both sentences, for
            pairs whose subject varies. verb: the first finite verb after the difference that agrees
            with the right subject; verbs of clauses with que, dont, où, quand are skipped.
            word:COLUMN: the word in a column of the suite's table, at its first position from the
            difference on.
        lexicon: Lexicons in which `--score verb` finds verbs: names or paths, separated by commas.
        people (COLUMN): Column of what people said of each pair, such as the share who chose the
            right sentence: prints its correlation with the margins.
        items (CSV): File to write every pair to: its sentences, its margins in nats, and whether
            they are right (1, 0, or 0.5 for a tie).
    """
    from accord import lexicon as lexicons
    from accord.pipeline.model.metrics import SCORINGS
    from accord.pipeline.model.suites import Columns, read_suite
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
    corpus: str,
    to: Annotated[Path, typer.Option()],
    lexicon: str = "closed,dela",
    errors: Annotated[int | None, typer.Option(min=1, max=3)] = None,
    split: str | None = None,
    limit: Annotated[int | None, AtLeast1] = None,
    every: Annotated[int, AtLeast1] = 1,
    seed: int = 1,
) -> None:
    """Make minimal pairs: a real sentence, and the same with a word that no longer agrees.

    A treebank or a text has subjects and verbs, determiners and nouns, nouns and adjectives,
    participles after their object (les échecs qu'ils ont subis), and subjunctives after a trigger
    (bien qu'il soit): the wrong sentence has the indicative.

    Args:
        corpus (CORPUS): Treebank or text to use: its name, or its path.
        to: Folder to write the suite to; with --errors a table, a file .csv.
        lexicon: Lexicons that know the forms of words: names or paths, separated by commas.
        errors: Plant this number of errors at most in each sentence: words that sound the same, or
            that agree otherwise. The bundled model then knows the forms.
        every (N): Use every Nth sentence of the corpus.
        seed: Seed that chooses the words of --errors.
    """
    from accord import lexicon as lexicons
    from accord.corpora.sources import read_words
    from accord.pipeline.study.suite_making import make_suite

    if errors:
        read = read_words(corpus, folder=folder_of, split=split)
        _plant((words for _, words in islice(read, 0, None, every)), to, errors, seed, limit)
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
    sentences: Iterable[list[str]], to: Path, errors: int, seed: int, limit: int | None
) -> None:
    """Write a table of sentences and the same sentences with errors."""
    from accord.pipeline.ask.correct import Candidates
    from accord.pipeline.ask.planted import plant
    from accord.pipeline.ask.scorer import bundled

    if to.suffix != ".csv":
        raise AccordError(f"--to: expected a name that ends in .csv, got {to}")
    make_room(to)
    table = plant(sentences, Candidates(bundled()), errors, seed, limit)
    write_table(table, to)
    print_table(table.groupby("construction").size().rename("pairs").reset_index())
    echo(
        f"written to {to}; `accord correct --suite {to}` and `accord agree RUN --suite {to}` ask it"
    )


@command
def correct(
    text: Annotated[str | None, typer.Argument()] = None,
    run: Path | None = None,
    model: str | None = None,
    backward: Path | None = None,
    margin: float = 0.0,
    json: bool = False,
    suite: str | None = None,
    tune: str | None = None,
) -> None:
    """Suggest words that agree better, or that sound the same and fit better, and say why.

    All errors of a sentence are corrected together. A suggestion says by how many bits the
    sentence gains from it: n bits are 2 to the power of n times likelier.

    Args:
        text (TEXT|FILE): A sentence in quotes, a file with one sentence per line, or - for standard
            input; none with --suite.
        margin: Further bits that a sentence must gain from each change: above 0 for fewer
            suggestions, below 0 for more.
        json: Print a JSON object for each sentence.
        suite (SUITE): Right and wrong sentences, such as `accord suite make --errors` writes:
            measure how many errors are repaired, and how often right words are changed.
        tune (SUITE): With --suite, other such sentences, to tune the costs of changes on for F0.5.
    """
    if (text is None) == (suite is None):
        raise AccordError("expected a text to correct or --suite SUITE, one of the two")
    if tune and not suite:
        raise AccordError("--tune: expected --suite too")
    from accord.pipeline.ask.correct import Corrector, Prior

    if suite:
        from accord.pipeline.model.suites import read_suite

        pairs, development = read_suite(suite).pairs, read_suite(tune).pairs if tune else ()
    else:
        sentences = numbered_sentences(text)
    corrector = Corrector(load_model(run, model), backward=load_backward(backward))
    prior = Prior().stricter(margin)
    if suite:
        _measure(corrector, prior, pairs, development)
    else:
        _suggest(corrector, prior, sentences, json)


def _suggest(
    corrector: "Corrector", prior: "Prior", sentences: Sequence[tuple[int, str]], json: bool
) -> None:
    """Print the corrected sentences of a text with their suggestions."""
    from accord.pipeline.ask.correct import corrected

    count = 0
    for number, sentence in track(sentences, "sentences", len(sentences)):
        suggestions = corrector.of_text(sentence, prior)
        count += len(suggestions)
        if json:
            line = {"line": number, "text": sentence, "corrected": corrected(sentence, suggestions)}
            line |= {"suggestions": [*map(asdict, suggestions)]}
            echo(jsons.dumps(line, ensure_ascii=False))
            continue
        if suggestions:
            label = f"{number}: " if len(sentences) > 1 else ""
            echo(label + corrected(sentence, suggestions))
        for suggestion in suggestions:
            parts = [*suggestion.reasons.items()]
            if rest := parts[SHOWN:]:
                parts[SHOWN:] = [("others", sum(bits for _, bits in rest))]
            reasons = ", ".join(f"{name} {bits:+.1f}" for name, bits in parts)
            change = f"{suggestion.wrong} → {suggestion.right}"
            echo(f"  {change}: {suggestion.bits:+.1f} bits ({reasons})")
    if not json:
        echo(f"{counted(count, 'suggestion')} in {counted(len(sentences), 'sentence')}")


def _measure(
    corrector: "Corrector", prior: "Prior", pairs: "Sequence[Pair]", development: "Sequence[Pair]"
) -> None:
    """Print precision and recall on both sentences of each pair, with costs tuned on others."""
    from accord.pipeline.ask import planted

    if development:
        prior = planted.tuned(planted.readable(development, corrector.scorer), corrector)
        costs = ", ".join(f"{name} {cost:g}" for name, cost in prior.costs.items())
        echo(f"costs in nats: {costs}")
    known = planted.readable(pairs, corrector.scorer)
    if len(known) < len(pairs):
        say(f"pairs left out, with words the model does not know: {len(pairs) - len(known):,}")
    print_table(planted.table(planted.measure(known, corrector, prior)))
