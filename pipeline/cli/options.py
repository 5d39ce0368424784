"""What a model is told before it is asked: labels of the sentences, and words that are likelier."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from accord.pipeline.inference.scorer import Scorer

Condition = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=LABEL",
        help="Label that all sentences have, such as source=orangesum, for a model that was "
        "trained with labels; without it they have none. Can be repeated.",
    ),
]
Prime = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="List of words, or text, whose words are made likelier."),
]
PrimeWeight = Annotated[
    float | None,
    typer.Option(
        metavar="NATS",
        help="By how much the words of --prime are likelier; by default it is tuned.",
    ),
]
PrimeTune = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Text to tune the weight of --prime on, a sentence a line, that goes with its words; "
        "by default the validation text of the run, with --condition its sentences of that label.",
    ),
]


def under(
    scorer: "Scorer",
    condition: list[str] | None,
    prime: Path | None = None,
    prime_weight: float | None = None,
    prime_tune: Path | None = None,
) -> "Scorer":
    """The model, told all that it is to be told."""
    if condition:
        from accord.pipeline.inference.conditioning import tell

        tell(scorer, condition)
    if not prime and (prime_weight is not None or prime_tune):
        raise ValueError("--prime-weight, --prime-tune: expected --prime and its words too")
    if prime_weight is not None and prime_tune:
        raise ValueError("expected --prime-weight or --prime-tune, got both")
    if prime:
        from accord.pipeline.inference import conditioning

        words = conditioning.read_words(scorer, prime)
        tune = conditioning.read_lines(prime_tune) if prime_tune else ()
        conditioning.prime(scorer, words, prime_weight, tune)
    return scorer
