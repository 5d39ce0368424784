"""A model of a run in a file that others read: n-grams in ARPA, or an automaton for OpenFst."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from accord.models.automata.of_ngrams import ngram_automaton
from accord.models.automata.state_automaton import StateAutomaton
from accord.models.automata.wfst import TEXT, write_wfst
from accord.models.background.ngram import NGramBackground
from accord.models.common.batching import Sentences
from accord.models.common.checks import expect_at_least
from accord.models.common.protocol import Model
from accord.models.features.phi import Features
from accord.models.network.background_only import BackgroundOnly
from accord.models.network.generation import written_text
from accord.models.network.language_model import LanguageModel
from accord.models.network.next_word import NextWord, WordValues
from accord.models.ngram.arpa.writing import write_arpa
from accord.models.ngram.model import NGrams
from accord.models.ngram.own import own_ngrams
from accord.models.ngram.prune import pruned
from accord.models.ngram.smoothing.kneser_ney import kneser_ney
from accord.pipeline.artefacts.artefact import Inputs
from accord.pipeline.display.progress import meter, say
from accord.pipeline.prepared.background import prior_of
from accord.pipeline.prepared.encoded import held_out, read_text
from accord.pipeline.prepared.trained import load_trained
from accord.pipeline.prepared.vocabulary import Vocabulary
from accord.pipeline.sharing.state_clusters import clustered

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
    states: int | None = None  # clusters of hidden states; null: states of n-grams

    def __post_init__(self):
        expect_at_least(1, self, "order", "samples", "states")
        if self.states and (self.order or self.prune is not None):
            raise ValueError("--states: expected no --order and no --prune, which are of n-grams")


def export_ngrams(artefacts: Inputs, path: Path, **options: Any) -> Path:
    """Write a model as n-grams or, with `states`, as an automaton of its hidden states, and say how
    well they do; blanks in its words become `_`. The options are those of `Conversion`.
    """
    how = Conversion(**options)
    if path.exists():
        raise FileExistsError(f"{path} is there already: choose another file or remove it")
    if how.states and not path.name.endswith(TEXT):
        raise ValueError(
            f"{path}: expected a file {TEXT} for --states, as ARPA holds n-grams alone"
        )
    model = load_trained(artefacts)
    forms = [form.replace(" ", "_") for form in Vocabulary(artefacts["analyse"]).forms]
    if how.states:
        _write_states(model, artefacts, how, forms, path)
        return path
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
    if path.name.endswith(TEXT):
        write_wfst(ngram_automaton(ngrams), forms, path)
    else:
        write_arpa(ngrams, forms, path)
    if not _is_plain(model) or how.prune is not None:
        what = f"{path.name}, {size_of(ngrams):,} n-grams"
        _compare(model, ngrams, what, artefacts, ngrams.order)
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
    return _counted(_drawn(model, how.samples), artefacts, order)


def _drawn(model: LanguageModel, sentences: int) -> Sentences:
    with _shown(None) as advance:
        return written_text(model, sentences, SEED, on_words=advance)


def _write_states(
    model: Model, artefacts: Inputs, how: Conversion, forms: Sequence[str], path: Path
) -> None:
    """The automaton of a network's hidden states, as they are in the training text or its own."""
    if not isinstance(model, LanguageModel):
        raise ValueError("--states: expected a network over words, whose hidden states are known")
    text = _drawn(model, how.samples) if how.samples else read_text(artefacts["encode"], "train")
    with _shown(len(text.ids)) as advance:
        found = clustered(model, text, how.states, len(forms), advance)
    write_wfst(found.automaton, forms, path)
    size = f"{found.states:,} states, {len(found.automaton.arcs.p):,} arcs"
    _compare(model, found, f"{path.name}, {size}", artefacts, ORDER)


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


def _compare(model: Model, file: NGrams | StateAutomaton, what: str, artefacts: Inputs, order: int):
    """Perplexities on all held-out text, and those of n-grams of the training text beside them."""
    encoded = artefacts["encode"]
    counted = _counted(read_text(encoded, "train"), artefacts, order)
    models = {
        "the model": model,
        what: file,
        f"Kneser-Ney of the training text, {size_of(counted):,} n-grams": counted,
    }
    for split in held_out(encoded):
        text = read_text(encoded, split)
        for name, scored in models.items():
            say(
                f"export: perplexity {math.exp(-scored.score(text).mean()):,.1f} on {split}: {name}"
            )


def size_of(ngrams: NGrams) -> int:
    return sum(len(table.keys) for table in ngrams.tables)
