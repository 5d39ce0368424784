"""A model of a run as n-grams in a file: ARPA, which KenLM reads, or an automaton for OpenFst."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from models.background.ngram import NGramBackground
from models.common.batching import Sentences
from models.common.protocol import Model
from models.features.phi import Features
from models.network.background_only import BackgroundOnly
from models.network.generation import written_text
from models.network.language_model import LanguageModel
from models.network.next_word import NextWord, WordValues
from models.ngram.arpa import write_arpa
from models.ngram.model import NGrams
from models.ngram.own import own_ngrams
from models.ngram.prune import pruned
from models.ngram.smoothing.kneser_ney import kneser_ney
from models.ngram.wfst import TEXT, write_wfst
from pipeline.display.progress import meter, say
from pipeline.prepared.encoded import held_out, read_text
from pipeline.prepared.trained import load_trained, prior_of
from pipeline.prepared.vocabulary import Vocabulary
from pipeline.stage import Inputs

ARPA = (".arpa", ".arpa.gz")
ORDER = 3
SEED = 1  # of the text that a model writes


@dataclass(frozen=True)
class Conversion:
    """How a model that is no n-grams becomes some, and what is left of them."""

    order: int | None = None  # words, the predicted one included; null: ORDER
    # Sentences that the model writes and that are counted; null: the n-grams of the training text
    # have the model's own probabilities.
    samples: int | None = None
    prune: float | None = None  # n-grams that change the perplexity by less, as a share, are left

    def __post_init__(self):
        for name in ("order", "samples"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name}: expected 1 or more, got {value}")


def is_ngram_file(path: Path) -> bool:
    return path.name.endswith((*ARPA, TEXT))


def export_ngrams(artefacts: Inputs, path: Path, how: Conversion) -> Path:
    """Write a model as n-grams, and say how well they do; blanks in its words become `_`."""
    if path.exists():
        raise FileExistsError(f"{path} is there already: choose another file or remove it")
    model = load_trained(artefacts)
    forms = [form.replace(" ", "_") for form in Vocabulary(artefacts["analyse"]).forms]
    if _is_plain(model):
        if how.order or how.samples:
            raise ValueError(
                f"{path}: the model is made of n-grams already, of order "
                f"{model.background.ngrams.order}: expected no --order and no --samples"
            )
        ngrams = model.background.ngrams
    else:
        ngrams = _converted(model, artefacts, how, len(forms))
    if how.prune is not None:
        ngrams = pruned(ngrams, how.prune)
    (write_wfst if path.name.endswith(TEXT) else write_arpa)(ngrams, forms, path)
    if not _is_plain(model) or how.prune is not None:
        _compare(model, ngrams, artefacts, path.name)
    return path


def _is_plain(model: Model) -> bool:
    """Whether a model is n-grams of the last words, as files hold them."""
    is_ngrams = isinstance(model, BackgroundOnly) and isinstance(model.background, NGramBackground)
    return is_ngrams and model.background.is_plain


def _converted(model: Model, artefacts: Inputs, how: Conversion, words: int) -> NGrams:
    if not isinstance(model, LanguageModel | BackgroundOnly):
        raise ValueError("n-grams of words: expected a model over words, got one of subwords")
    order = how.order or ORDER
    if how.samples is None:
        text = read_text(artefacts["encode"], "train")
        with _shown(len(text.ids)) as advance:
            asked = NextWord(model, WordValues.none(words))
            return own_ngrams(asked, text, order, words, advance)
    if isinstance(model, BackgroundOnly):
        raise ValueError("--samples: expected a network to draw from, got a background alone")
    with _shown(None) as advance:
        drawn = written_text(model, how.samples, SEED, on_words=advance)
    return _counted(drawn, artefacts, order)


@contextmanager
def _shown(words: int | None) -> Iterator[Callable[[int], None]]:
    advance = meter("words", words)
    yield advance
    advance(0)


def _counted(text: Sentences, artefacts: Inputs, order: int) -> NGrams:
    """Kneser-Ney n-grams of a text."""
    phi = Features.load(artefacts["featurise"] / "phi.npz")
    learned = NGramBackground.learn(phi, [text], order, kneser_ney, prior_of(artefacts), folds=0)
    return learned.ngrams


def _compare(model: Model, ngrams: NGrams, artefacts: Inputs, name: str) -> None:
    """Perplexities on all held-out text, and those of n-grams of the training text beside them."""
    encoded = artefacts["encode"]
    counted = _counted(read_text(encoded, "train"), artefacts, ngrams.order)
    models = {
        "the model": model,
        f"{name}, {size_of(ngrams):,} n-grams": ngrams,
        f"Kneser-Ney of the training text, {size_of(counted):,} n-grams": counted,
    }
    for split in held_out(encoded):
        text = read_text(encoded, split)
        for what, scored in models.items():
            say(
                f"export: perplexity {math.exp(-scored.score(text).mean()):,.1f} on {split}: {what}"
            )


def size_of(ngrams: NGrams) -> int:
    return sum(len(table.keys) for table in ngrams.tables)
