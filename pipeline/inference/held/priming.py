"""A trained model under which some words are likelier than without them: the paper's b(C, x)."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from accord.corpora.text import lines
from accord.models.common.batching import Sentences
from accord.models.constraints.priming import likeliest_weight, primed
from accord.models.outputs.log_linear import log_linear_of
from accord.pipeline.display.progress import say
from accord.pipeline.inference.scorer import Scorer
from accord.pipeline.prepared.encoded import read_sentences

VALIDATION = "valid"


def read_lines(path: Path) -> list[str]:
    """The lines of a file that are not blank."""
    return [line.strip() for line in lines(path) if line.strip()]


def read_words(scorer: Scorer, path: Path) -> list[str]:
    """Each word of a file once: a list of words, or a text."""
    found = dict.fromkeys(w for words in scorer.read(read_lines(path)) for w in words)
    if not found:
        raise ValueError(f"{path}: expected words, found none")
    return [*found]


def prime(
    scorer: Scorer,
    words: Sequence[str],
    weight: float | None = None,
    tune: Sequence[str] = (),
) -> float:
    """From now on words are likelier by so many nats, before all is normalised; returns them.

    Without a weight, that is taken under which the sentences to `tune` on are likeliest. They are
    to go with the words as what is scored does. Without these it is the validation text of the run;
    of a model that has been told labels (accord.pipeline.inference.held.condition), its sentences with
    these.
    """
    log_linear_of(scorer.model)  # or an error that says what it has instead
    known = [scorer.vocabulary.known[word] for word in words if word in scorer.vocabulary.known]
    if not known:
        raise ValueError("priming: expected words that the model knows, it knows none of them")
    if len(known) < len(words):
        say(f"priming: {len(words) - len(known):,} words are not known, and no likelier for it")
    phi, ids = scorer.parts.features.phi, np.array(known)
    if weight is None:
        text = scorer.encoded([*scorer.read(tune)])[0] if tune else _validation(scorer)
        weight = likeliest_weight(scorer.model, phi, ids, text)
        how = "likelier" if weight > 0 else "less likely"
        by = "the text to tune on" if tune else "validation"
        say(f"priming: {len(known):,} words are {how} by {abs(weight):.3f} nats, as {by} has it")
    scorer.model = primed(scorer.model, phi, ids, weight)
    return weight


def _validation(scorer: Scorer) -> Sentences:
    encoded = scorer.parts.artefacts["encode"]
    if not (encoded / f"{VALIDATION}.ids.npy").exists():
        raise ValueError(
            "priming: expected a weight, as the model has no validation text here to tune it on"
        )
    text, condition = read_sentences(encoded, VALIDATION), scorer.model.condition
    if condition is None or text.labels is None or not condition.given.any():
        return text
    told = condition.given.cpu().numpy()
    chosen = (text.labels == told)[:, told > 0].all(axis=1)
    if not chosen.any():
        raise ValueError("priming: expected a weight, as no sentence of validation has the labels")
    words = np.repeat(chosen, text.lengths)
    return Sentences(text.ids[words], text.lengths[chosen], text.labels[chosen])
