"""`accord correct`: corrections of a text, and how good they are on planted errors."""

import json as jsons
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from accord.errors import AccordError
from accord.pipeline.base.messages import counted, echo, say, track
from accord.pipeline.cli.console import command
from accord.pipeline.cli.options import Backward, Model, TrainedRun, load_backward, load_model
from accord.pipeline.cli.score import numbered_sentences

if TYPE_CHECKING:
    from accord.pipeline.correct.correct import Correction

SHOWN = 4  # so many reasons are printed


@command
def correct(
    text: Annotated[
        str | None,
        typer.Argument(
            metavar="TEXT|FILE",
            help="A sentence in quotes, a file with one sentence per line, or - for standard "
            "input; none with --suite.",
        ),
    ] = None,
    run: TrainedRun = None,
    model: Model = None,
    backward: Backward = None,
    margin: Annotated[
        float,
        typer.Option(
            help="Further bits that a sentence must gain from each change: above 0 for fewer "
            "suggestions, below 0 for more."
        ),
    ] = 0.0,
    json: Annotated[
        bool, typer.Option("--json", help="Print a JSON object for each sentence.")
    ] = False,
    suite: Annotated[
        str | None,
        typer.Option(
            metavar="SUITE",
            help="Right and wrong sentences, such as `accord suite make --errors` writes: measure "
            "how many errors are repaired, and how often right words are changed.",
        ),
    ] = None,
    tune: Annotated[
        str | None,
        typer.Option(
            metavar="SUITE",
            help="With --suite, other such sentences, to tune the costs of changes on for F0.5.",
        ),
    ] = None,
) -> None:
    """Suggest words that agree better, or that sound the same and fit better, and say why.

    All errors of a sentence are corrected together. A suggestion says by how many bits the
    sentence gains from it: n bits are 2 to the power of n times likelier.
    """
    if (text is None) == (suite is None):
        raise AccordError("expected a text to correct or --suite SUITE, one of the two")
    if tune and not suite:
        raise AccordError("--tune: expected --suite too")
    if suite:
        _measure(suite, tune, run, model, backward, margin)
    else:
        _suggest(text, run, model, backward, margin, json)


def _suggest(
    text: str,
    run: Path | None,
    model: str | None,
    backward: Path | None,
    margin: float,
    json: bool,
) -> None:
    """Print the corrected sentences of a text with their suggestions."""
    from accord.pipeline.correct.candidates import Prior
    from accord.pipeline.correct.correct import corrected, corrections

    sentences = numbered_sentences(text)
    scorer, prior, count = load_model(run, model), Prior().stricter(margin), 0
    other = load_backward(backward)
    for number, sentence in track(sentences, "sentences", len(sentences)):
        suggestions = corrections(scorer, sentence, prior, other)
        count += len(suggestions)
        if json:
            line = {"line": number, "text": sentence, "corrected": corrected(sentence, suggestions)}
            line |= {"suggestions": [*map(asdict, suggestions)]}
            echo(jsons.dumps(line, ensure_ascii=False))
        elif suggestions:
            label = f"{number}: " if len(sentences) > 1 else ""
            echo(label + corrected(sentence, suggestions))
            for correction in suggestions:
                echo(
                    f"  {correction.wrong} → {correction.right}: {correction.bits:+.1f} bits "
                    f"({_shown(correction)})"
                )
    if not json:
        echo(f"{counted(count, 'suggestion')} in {counted(len(sentences), 'sentence')}")


def _measure(
    suite: str,
    tune: str | None,
    run: Path | None,
    model: str | None,
    backward: Path | None,
    margin: float,
) -> None:
    """Print precision and recall on both sentences of each pair of a suite."""
    from accord.pipeline.base.tables import print_table
    from accord.pipeline.correct import planted
    from accord.pipeline.correct.candidates import Prior
    from accord.pipeline.correct.correct import Corrector
    from accord.pipeline.evaluation.suites import read_suite

    pairs, development = read_suite(suite).pairs, read_suite(tune).pairs if tune else ()
    corrector = Corrector(load_model(run, model), backward=load_backward(backward))
    prior = Prior().stricter(margin)
    if tune:
        known = planted.readable(development, corrector.scorer)
        prior = planted.tuned(known, corrector)
        costs = ", ".join(f"{name} {cost:g}" for name, cost in prior.costs.items())
        echo(f"costs in nats: {costs}")
    known = planted.readable(pairs, corrector.scorer)
    if len(known) < len(pairs):
        say(f"pairs left out, with words the model does not know: {len(pairs) - len(known):,}")
    print_table(planted.table(planted.measure(known, corrector, prior)))


def _shown(found: "Correction") -> str:
    """The largest reasons, and how much all others give together."""
    parts = [*found.reasons.items()]
    rest = [("others", sum(bits for _, bits in parts[SHOWN:]))] if parts[SHOWN:] else []
    return ", ".join(f"{name} {bits:+.1f}" for name, bits in [*parts[:SHOWN], *rest])
