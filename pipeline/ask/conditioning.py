"""Condition a model on labels, and prime it with words."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from accord.corpora.text import lines
from accord.errors import AccordError
from accord.models.common.checks import nearest
from accord.models.constraints import likeliest_weight, primed
from accord.models.data import Sentences
from accord.models.inference.interface import expect_words
from accord.models.spelling import SubwordModel
from accord.pipeline.ask.scorer import Scorer
from accord.pipeline.base.messages import say
from accord.pipeline.base.names import END_ID
from accord.pipeline.data.encoded import numbered, read_forms, read_sentences


def tell(scorer: Scorer, condition: Sequence[str]) -> None:
    """Condition a model on these labels from now on: `source=orangesum`.

    Kinds of labels that are not named have none.
    """
    _network(scorer).condition_on(np.array(numbered(condition, _values(scorer))))


def perplexities(scorer: Scorer, kind: str | None = None, split: str = "test") -> pd.DataFrame:
    """Return perplexities of a split by label: with the right label, with none, with a wrong one.

    The wrong one is the next in the order of the alphabet; of two, the other.
    """
    values = _values(scorer)
    kind = kind or next(iter(values))
    if kind not in values:
        raise AccordError(f"unknown kind of label '{kind}'{nearest(kind, values)}")
    column = [*values].index(kind)
    encoded = _encoded(scorer, split)
    if encoded is None:
        raise AccordError(f"expected a model of a run with a split '{split}'")
    sentences, text = read_sentences(encoded, split), read_forms(encoded, split)
    true, count = sentences.labels[:, column], len(values[kind])

    scored = {}
    wrong = np.where(true > 0, true % count + 1, 0)
    for name, of_kind in {"right": true, "none": np.zeros_like(true), "wrong": wrong}.items():
        labels = sentences.labels.copy()
        labels[:, column] = of_kind
        scored[name] = -scorer.score_encoded(sentences._replace(labels=labels), text)[0]
    of_word, is_end = np.repeat(true, sentences.lengths), sentences.ids == END_ID
    rows = []
    for number, name in [*enumerate(values[kind], start=1), (None, "all")]:
        here = of_word > 0 if number is None else of_word == number
        if here.any():
            means = {label: float(np.exp(losses[here].mean())) for label, losses in scored.items()}
            rows.append({kind: name, "words": int((here & ~is_end).sum()), **means})
    return pd.DataFrame(rows)


def _network(scorer: Scorer) -> Any:
    """Return the model that reads labels: of a model of subwords, the one within."""
    return scorer.model.model if isinstance(scorer.model, SubwordModel) else scorer.model


def _values(scorer: Scorer) -> dict[str, list[str]]:
    if getattr(_network(scorer), "labels", None) is None:
        raise AccordError(
            "expected a model that was trained with labels of sentences (train.condition); this "
            "one was not. A table's conditions are an ordinary column, which is kept"
        )
    return scorer.parts.labels


def _encoded(scorer: Scorer, split: str) -> Path | None:
    """Return the folder with an encoded split of a model of a run; other models have none."""
    folder = scorer.trained and scorer.trained.folders.get("encode")
    return folder if folder and (folder / f"{split}.ids.npy").exists() else None


VALIDATION = "valid"


def read_lines(path: Path) -> list[str]:
    """Return the lines of a file that are not blank."""
    return [line.strip() for line in lines(path) if line.strip()]


def read_words(scorer: Scorer, path: Path) -> list[str]:
    """Return each word of a file once: a list of words, or a text."""
    sentences = scorer.read(read_lines(path))
    words = dict.fromkeys(word for sentence in sentences for word in sentence)
    if not words:
        raise AccordError(f"{path}: expected words, found none")
    return [*words]


def prime(
    scorer: Scorer, words: Sequence[str], weight: float | None = None, tune: Sequence[str] = ()
) -> float:
    """Make words likelier by this many nats before normalisation; return the nats.

    Without a weight, the one is chosen that makes the sentences of `tune` likeliest. They should
    suit the words as the scored text does. By default they are the validation text of the run; of a
    model conditioned on labels, its sentences with these labels.
    """
    expect_words(scorer.model)
    known = [scorer.vocabulary.known[word] for word in words if word in scorer.vocabulary.known]
    if not known:
        raise AccordError("priming: expected words that the model knows, it knows none of them")
    if len(known) < len(words):
        say(f"priming: {len(words) - len(known):,} words are not known, and no likelier for it")
    ids = np.array(known)
    if weight is None:
        text = scorer.encoded([*scorer.read(tune)])[0] if tune else _validation(scorer)
        weight = likeliest_weight(scorer.model, ids, text)
        how = "likelier" if weight > 0 else "less likely"
        by = "the text to tune on" if tune else "validation"
        say(f"priming: {len(known):,} words are {how} by {abs(weight):.3f} nats, as {by} has it")
    scorer.model = primed(scorer.model, ids, weight)
    return weight


def _validation(scorer: Scorer) -> Sentences:
    encoded = _encoded(scorer, VALIDATION)
    if encoded is None:
        raise AccordError(
            "priming: expected a weight (--prime-weight), as the model has no validation text here "
            "to tune it on"
        )
    text, labels = read_sentences(encoded, VALIDATION), scorer.model.labels
    if labels is None or not labels.any() or text.labels is None:
        return text
    chosen = (text.labels == labels)[:, labels > 0].all(axis=1)
    if not chosen.any():
        raise AccordError("priming: expected a weight, as no sentence of validation has the labels")
    return text.chosen(chosen)
