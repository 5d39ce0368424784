"""Models and beginnings of sentences as options name them."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

from accord.errors import AccordError
from accord.pipeline.ask.texts import GAPS, without_gap
from accord.pipeline.base.messages import say
from accord.pipeline.cli.console import is_path

if TYPE_CHECKING:
    from accord.pipeline.ask.scorer import Scorer

GAP_INSIDE = re.compile(r"(?:…|\.\.\.)\s*\w")


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
