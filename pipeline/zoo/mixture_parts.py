"""Models that follow a text: cache and neighbours in a mixture, dynamic evaluation.

Cache and neighbours have a number to choose; the one that helps the others most on validation is
taken.
"""

from collections.abc import Callable

import numpy as np

from accord.models.common.batching import Sentences
from accord.models.common.mixture import chunks
from accord.models.inference.torch_model import TorchModel
from accord.models.network.language_model import LanguageModel
from accord.models.zoo.memory import Cache, Dynamic, Neighbourhood, Neighbours
from accord.pipeline.compare.combine import Candidates
from accord.pipeline.compare.scored_models import Scored
from accord.pipeline.display.messages import say, track
from accord.pipeline.inference.scorer import Scorer
from accord.pipeline.trained.encoding import FullEncoding
from accord.pipeline.trained.network import load_inference, load_trained

HALF_LIVES = (20, 50, 100, 200, 500, 1000, 2000, 5000)  # of the cache, in words
# Of neighbours, in mean distances to the nearest one: how large states are depends on the network.
TEMPERATURES = (0.05, 0.1, 0.2, 0.4, 0.8)


def of_cache(model: Scored) -> Candidates:
    """Caches of recent words, with several half-lives."""
    texts = {split: model.told_apart(split) for split in model.splits}

    def of(half_life: int) -> Callable[[str], np.ndarray]:
        return lambda split: Cache(model.words, half_life).score(texts[split])

    return {f"cache, half-life {each} words": of(each) for each in HALF_LIVES}


def of_neighbours(model: Scored) -> Candidates:
    """The words after a network's nearest states in its training text; nearer ones count more."""
    network = load_trained(FullEncoding(model.folders))
    if not isinstance(network, LanguageModel):
        raise ValueError(
            f"--neighbours: expected a network over words, whose states can be compared; "
            f"'{model.name}' has no states of words: it is made of n-grams or of subwords"
        )
    text = model.sentences("train")
    say(f"{model.name} reads its training text, {len(text.ids):,} words")
    known = Neighbours(network, text)
    followed = {split: _followed(known, model.sentences(split), split) for split in model.splits}
    words = {split: model.told_apart(split).ids for split in model.splits}
    nearest = followed["valid"].distances[:, 0].mean()

    def of(temperature: float) -> Callable[[str], np.ndarray]:
        return lambda split: followed[split].log_p(words[split], temperature * nearest)

    return {f"neighbours of {model.name}, temperature {each}": of(each) for each in TEMPERATURES}


def _followed(known: Neighbours, text: Sentences, split: str) -> Neighbourhood:
    pieces = [*chunks(text)]
    found = [known.after(each) for each in track(pieces, f"pieces of {split}", len(pieces))]
    return Neighbourhood(*(np.concatenate(each) for each in zip(*found, strict=True)))


def follow(scorer: Scorer, rate: float, back: float = 0.0) -> Scorer:
    """The model with weights that follow the text which it scores (dynamic evaluation)."""
    loaded = load_inference(scorer.parts.encoding)
    if not isinstance(loaded, TorchModel):
        raise ValueError(
            f"--dynamic: expected a network over words that reads forwards, got "
            f"{type(loaded).__name__}"
        )
    scorer.model = Dynamic(loaded.network, rate, back)
    return scorer
