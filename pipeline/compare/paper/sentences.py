"""The paper's Table 5: sentences of the LL-RNN (2500) and of the RNN, drawn alike.

Beside each word stand its features as φ of the LL-RNN has them, for the words of both models:
TOPFORM for one of the M forms that have a feature of their own, @notTop for another, then the tags.
"""

from collections.abc import Iterator
from pathlib import Path

from accord.pipeline.compare.paper.figures import BEST, RNN
from accord.pipeline.inference.generate import Generator, NewSentence
from accord.pipeline.inference.scorer import Scorer, load
from accord.pipeline.prepared.named_features import IDENTITY, NamedFeatures
from accord.pipeline.prepared.special_words import NOT_TOP

TOP = "TOPFORM"


def drawn_sentences(run: Path, count: int) -> str:
    """So many sentences of each of the two models, as Markdown."""
    scorers = {model: load(run, model) for model in (BEST, RNN)}
    features = scorers[BEST].parts.features
    parts = []
    for model, scorer in scorers.items():
        drawn = Generator(scorer).sample(count)
        shown = "\n".join(line for each in drawn for line in _lines(each, scorer, features))
        parts.append(f"Table 5, {count} sentences of {model}:\n\n{shown}")
    return "\n\n".join(parts) + "\n"


def _lines(sentence: NewSentence, scorer: Scorer, features: NamedFeatures) -> Iterator[str]:
    """A sentence, and below it a line for each of its words."""
    yield f"- {sentence.text}" + ("" if sentence.ended else " […]")
    for word in sentence.words:
        number = scorer.vocabulary.known[word.form]
        yield f"    - {word.form}: {', '.join(shown_features(number, features))}"


def shown_features(word: int, features: NamedFeatures) -> list[str]:
    """TOPFORM or @notTop, then the values of its tags in small letters, as the paper has them."""
    own = any(features.names[number].startswith(IDENTITY) for number in features.of(word))
    tags = [name.partition("=")[2].lower() for name in features.grammar(word)]
    return [TOP if own else NOT_TOP, *tags]
