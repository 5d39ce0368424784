"""Options of several commands: the model, labels, primed words."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from accord.errors import AccordError
from accord.pipeline.ask.texts import GAPS, without_gap
from accord.pipeline.ask.texts import Context as Conditioning
from accord.pipeline.base.messages import say
from accord.pipeline.cli.console import is_path

if TYPE_CHECKING:
    from accord.pipeline.ask.scorer import Scorer

TrainedRun = Annotated[
    Path | None,
    typer.Option(
        "--run",
        metavar="FOLDER|ID",
        help="Folder of a run or of an exported model, or hf:OWNER/NAME on the Hugging Face hub; "
        "by default the bundled model.",
    ),
]
RunOrNGrams = Annotated[
    Path | None,
    typer.Option(
        "--run",
        metavar="FOLDER|ID|FILE",
        help="Folder of a run or of an exported model, hf:OWNER/NAME on the Hugging Face hub, or a "
        "file .arpa or .arpa.gz; by default the bundled model.",
    ),
]
Model = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Model of the run to query; by default its last one."),
]
Beginning = Annotated[
    str,
    typer.Argument(
        metavar="TEXT",
        help="A sentence or its beginning, such as 'les chiens du voisin …'. A … (or ...) behind a "
        "blank at its end stands for the next word; it may be left out.",
    ),
]
Context = Annotated[
    Conditioning | None,
    typer.Option(
        help="What a word is conditioned on: `text`, all words before it in its text, or `none`, "
        "those of its own sentence. By default `text` for a model that was trained on documents, "
        "else `none`.",
    ),
]
Backward = Annotated[
    Path | None,
    typer.Option(
        metavar="RUN/MODEL",
        help="Model that was trained on sentences backwards (train.text: backward), which has half "
        "of the say.",
    ),
]
GAP_INSIDE = re.compile(r"(?:…|\.\.\.)\s*\w")
Condition = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=LABEL",
        help="Label of all sentences, such as source=orangesum, for a model that was trained with "
        "labels; by default none. Can be repeated.",
    ),
]
Prime = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="List of words, or a text, whose words become likelier."),
]
PrimeWeight = Annotated[
    float | None,
    typer.Option(
        metavar="NATS",
        help="How much likelier the words of --prime become; by default this is tuned.",
    ),
]
PrimeTune = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Text to tune the weight of --prime on, one sentence per line; by default the "
        "validation text of the run, with --condition its sentences of that label.",
    ),
]


def conditioned(
    scorer: "Scorer",
    condition: list[str] | None,
    prime: Path | None = None,
    prime_weight: float | None = None,
    prime_tune: Path | None = None,
) -> "Scorer":
    """Return the model, conditioned on labels and primed with words."""
    if condition:
        from accord.pipeline.ask.conditioning import tell

        tell(scorer, condition)
    if not prime and (prime_weight is not None or prime_tune):
        raise AccordError("--prime-weight, --prime-tune: expected --prime and its words too")
    if prime_weight is not None and prime_tune:
        raise AccordError("expected --prime-weight or --prime-tune, got both")
    if prime:
        from accord.pipeline.ask import conditioning

        words = conditioning.read_words(scorer, prime)
        tune = conditioning.read_lines(prime_tune) if prime_tune else ()
        conditioning.prime(scorer, words, prime_weight, tune)
    return scorer


def expect_words(text: str) -> None:
    """Reject an empty text, and say that a text which names a file is not read as one."""
    if not text.strip():
        raise AccordError("the text is empty: expected a beginning of a sentence, if only …")
    if is_path(text):
        say(f"{text} is read as text, not as a file: `accord surprisal {text}` reads files")
    if text.rstrip().endswith(GAPS) and without_gap(text) == text:
        say("the … right behind a word is three dots; one behind a blank stands for the next word")
    if GAP_INSIDE.search(text):
        say("the … inside is read as three dots: only one at the end stands for the next word")


def load_model(run: Path | None, model: str | None) -> "Scorer":
    """Load the model that --run and --model name."""
    if model and run is None:
        raise AccordError(f"--model {model}: a model is chosen of a run; give --run FOLDER too")
    from accord.pipeline.ask.scorer import load

    return load(run, model)


def load_backward(backward: Path | None) -> "Scorer | None":
    """Load the model that --backward names; reject one that reads sentences forwards."""
    if backward is None:
        return None
    scorer = load_model(backward, None)
    if scorer.parts.recipe.text != "backward":
        raise AccordError(
            f"--backward: expected a model that was trained with train.text: backward, "
            f"{backward} was not"
        )
    return scorer
