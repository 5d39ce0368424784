"""Words taken for others: `accord correct` and `accord corrections`."""

import json as jsons
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from accord.pipeline.base.messages import counted, echo, say, track
from accord.pipeline.cli.console import command
from accord.pipeline.cli.options import Backward, Model, TrainedRun, load_backward, load_model
from accord.pipeline.cli.score import Text, numbered_sentences

if TYPE_CHECKING:
    from accord.pipeline.correct.correct import Correction

SHOWN = 4  # so many reasons are printed
Margin = Annotated[
    float,
    typer.Option(
        help="Further bits that a sentence must gain from each change: above 0 for fewer "
        "suggestions, below 0 for more."
    ),
]


@command
def correct(
    text: Text,
    run: TrainedRun = None,
    model: Model = None,
    backward: Backward = None,
    margin: Margin = 0.0,
    json: Annotated[
        bool, typer.Option("--json", help="Print a JSON object for each sentence.")
    ] = False,
) -> None:
    """Suggest words that agree better, or that sound the same and fit better, and say why.

    All errors of a sentence are corrected together. A suggestion says by how many bits the
    sentence gains from it: n bits are 2 to the power of n times likelier.
    """
    from accord.pipeline.correct.candidates import Prior
    from accord.pipeline.correct.correct import corrected, corrections

    sentences = numbered_sentences(text)
    scorer, prior, count = load_model(run, model), Prior().stricter(margin), 0
    other = load_backward(backward)
    for number, sentence in track(sentences, "sentences", len(sentences)):
        found = corrections(scorer, sentence, prior, other)
        count += len(found)
        if json:
            line = {"line": number, "text": sentence, "corrected": corrected(sentence, found)}
            echo(jsons.dumps(line | {"suggestions": [*map(asdict, found)]}, ensure_ascii=False))
        elif found:
            before = f"{number}: " if len(sentences) > 1 else ""
            echo(before + corrected(sentence, found))
            for each in found:
                echo(f"  {each.wrong} → {each.right}: {each.bits:+.1f} bits ({_shown(each)})")
    if not json:
        echo(f"{counted(count, 'suggestion')} in {counted(len(sentences), 'sentence')}")


@command
def corrections(
    suite: Annotated[
        str,
        typer.Argument(
            metavar="SUITE", help="Right and wrong sentences: a suite of `accord suite`, or a path."
        ),
    ],
    tune: Annotated[
        str | None,
        typer.Option(
            metavar="SUITE", help="Other such sentences, to tune the costs of changes on for F0.5."
        ),
    ] = None,
    run: TrainedRun = None,
    model: Model = None,
    backward: Backward = None,
    margin: Margin = 0.0,
) -> None:
    """Measure `accord correct` on planted errors: how many it repairs, how often it is wrong.

    Both sentences of each pair are corrected: the wrong one has errors, the right one has none.
    """
    from accord.pipeline.base.tables import print_table
    from accord.pipeline.correct import measure
    from accord.pipeline.correct.candidates import Prior
    from accord.pipeline.correct.correct import Corrector
    from accord.pipeline.evaluation.suites import read_suite

    pairs, development = read_suite(suite).pairs, read_suite(tune).pairs if tune else ()
    corrector = Corrector(load_model(run, model), backward=load_backward(backward))
    prior = Prior().stricter(margin)
    if tune:
        known = measure.readable(development, corrector.scorer)
        prior = measure.tuned(known, corrector)
        costs = ", ".join(f"{name} {cost:g}" for name, cost in prior.costs.items())
        echo(f"costs in nats: {costs}")
    known = measure.readable(pairs, corrector.scorer)
    if len(known) < len(pairs):
        say(f"pairs left out, with words the model does not know: {len(pairs) - len(known):,}")
    texts = measure.texts_of(known)
    judged = [
        measure.Judged.of(kind, words, meant, corrector.result(words, prior))
        for kind, words, meant in track(texts, "sentences", len(texts))
    ]
    table = measure.table(judged)
    shares = {
        name: table[name].map("{:.1%}".format) for name in ("precision", "recall", "F0.5", "exact")
    }
    alarms = {measure.ALARMS: table[measure.ALARMS].map("{:.0f}".format)}
    whole = table.astype({"texts": int, "errors": int}).assign(**shares, **alarms)
    print_table(whole.replace("nan%", "").replace("nan", "").rename_axis("text").reset_index())


def _shown(found: "Correction") -> str:
    """The largest reasons, and how much all others give together."""
    parts = [*found.reasons.items()]
    rest = [("others", sum(bits for _, bits in parts[SHOWN:]))] if parts[SHOWN:] else []
    return ", ".join(f"{name} {bits:+.1f}" for name, bits in [*parts[:SHOWN], *rest])
