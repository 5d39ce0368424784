"""A trained model under which some words are likelier than without them: the paper's b(C, x)."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from corpora.text import lines
from models.common.batching import Sentences
from models.constraints.priming import likeliest_weight, primed
from models.features.phi import Features
from models.outputs.log_linear import log_linear_of
from pipeline.display.progress import say
from pipeline.inference.scorer import Scorer
from pipeline.prepared.encoded import read_sentences

VALIDATION = "valid"


def read_words(scorer: Scorer, path: Path) -> list[str]:
    """Each word of a file once: a list of words, or a text."""
    texts = (line.strip() for line in lines(path))
    found = dict.fromkeys(w for words in scorer.read(t for t in texts if t) for w in words)
    if not found:
        raise ValueError(f"{path}: expected words, found none")
    return [*found]


def prime(scorer: Scorer, words: Sequence[str], weight: float | None = None) -> float:
    """From now on words are likelier by so many nats, before all is normalised; returns them.

    Without a weight, that under which the validation text of the run is likeliest is taken; of a
    model that has been told labels (pipeline.inference.condition), those sentences that have them.
    """
    log_linear_of(scorer.model)  # or an error that says what it has instead
    known = [scorer.vocabulary.known[word] for word in words if word in scorer.vocabulary.known]
    if not known:
        raise ValueError("priming: expected words that the model knows, it knows none of them")
    if len(known) < len(words):
        say(f"priming: {len(words) - len(known):,} words are not known, and no likelier for it")
    phi, ids = Features.load(scorer.artefacts["featurise"] / "phi.npz"), np.array(known)
    if weight is None:
        weight = likeliest_weight(scorer.model, phi, ids, _validation(scorer))
        say(f"priming: {len(known):,} words are likelier by {weight:.3f} nats, by validation")
    scorer.model = primed(scorer.model, phi, ids, weight)
    return weight


def _validation(scorer: Scorer) -> Sentences:
    encoded = scorer.artefacts["encode"]
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
