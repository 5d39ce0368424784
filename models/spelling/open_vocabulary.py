"""An open vocabulary: every string has a probability, whether it is known or not."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from accord.models.common.batching import Sentences
from accord.models.common.protocol import Model
from accord.models.spelling.strings import Spelling
from accord.models.spelling.subwords import Subwords

NGRAM, NEURAL = "spelling.json", "spelling.safetensors"


class Forms(NamedTuple):
    """How the words of a text are written: the forms, each once, and which of them each word is."""

    forms: Sequence[str]
    positions: np.ndarray  # of every word among the forms; −1 for the end of a sentence
    subwords: Subwords | None = None  # that spell each form, for a model of subwords


def open_score(
    model: Model, sentences: Sentences, text: Forms, spelling: Spelling, unknown: int
) -> np.ndarray:
    """log p of every word and end in nats, spelled where it is not known.

        p(u | K) = [u known] p_known(u | K) + Σ_s p(unk_s | K)·spell(u | s)

    unk_s, one for each class of the spelling model, have the ids from `unknown` on. The sum over
    all strings is one, as that over the known words and all unk_s is.
    """
    classes = range(unknown, unknown + spelling.classes)
    log_p = model.score_beside(sentences, classes)
    of_form = np.full((len(text.forms) + 1, len(classes)), -np.inf)  # the last is that of ends
    if text.forms:
        of_form[:-1] = spelling.log_prob(text.forms)
    is_unknown = np.isin(sentences.ids, classes)
    known = np.where(is_unknown, -np.inf, log_p[:, 0])
    return np.logaddexp(known, np.logaddexp.reduce(log_p[:, 1:] + of_form[text.positions], axis=1))


def save_spelling(spelling: Spelling, folder: Path) -> None:
    from accord.models.spelling.neural import NeuralSpelling

    spelling.save(folder / (NEURAL if isinstance(spelling, NeuralSpelling) else NGRAM))


def load_spelling(folder: Path) -> Spelling | None:
    """The spelling model that a folder holds; none for a closed vocabulary."""
    from accord.models.spelling.neural import NeuralSpelling
    from accord.models.spelling.ngram import NGramSpelling

    if (folder / NEURAL).exists():
        return NeuralSpelling.load(folder / NEURAL)
    if (folder / NGRAM).exists():
        return NGramSpelling.load(folder / NGRAM)
    return None
