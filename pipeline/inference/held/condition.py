"""A model that was trained with labels of sentences (train.condition), asked under some of them."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch

from accord.models.features.condition import Condition
from accord.models.spelling.subwords import SubwordModel
from accord.pipeline.display.nearest import nearest
from accord.pipeline.evaluation.measure import score
from accord.pipeline.inference.scorer import Scorer
from accord.pipeline.prepared.encoded import read_sentences
from accord.pipeline.prepared.encoded_forms import read_forms
from accord.pipeline.prepared.labels import numbered, read_values
from accord.pipeline.prepared.special_words import END_ID


def tell(scorer: Scorer, condition: Sequence[str]) -> None:
    """From now on a model takes all sentences to have these labels: `source=orangesum`.

    Of what is not said, and before anything was, it knows none.
    """
    values = _values(scorer)
    labels = torch.tensor(numbered(condition, values))
    network = scorer.model.model if isinstance(scorer.model, SubwordModel) else scorer.model
    for each in network.modules():
        if isinstance(each, Condition):
            each.given = labels.to(each.given.device)


def perplexities(scorer: Scorer, kind: str | None = None, split: str = "test") -> pd.DataFrame:
    """Of the sentences of a split with each label of a kind: told it, told none, told a wrong one.

    The wrong one is the next in the order of the alphabet; of two, the other.
    """
    values, encoded = _values(scorer), scorer.parts.artefacts["encode"]
    kind = kind or next(iter(values))
    if kind not in values:
        raise ValueError(f"unknown kind of label '{kind}'{nearest(kind, values)}")
    column = [*values].index(kind)
    if not (encoded / f"{split}.ids.npy").exists():
        raise ValueError(f"expected a model of a run with a split '{split}', found {encoded}")
    sentences, text = read_sentences(encoded, split), read_forms(encoded, split)
    true, count = sentences.labels[:, column], len(values[kind])

    def nats(told: np.ndarray) -> np.ndarray:
        labels = sentences.labels.copy()
        labels[:, column] = told
        return -score(scorer.model, scorer.spelling, sentences._replace(labels=labels), text)[0]

    told = {
        "right": nats(true),
        "none": nats(np.zeros_like(true)),
        "wrong": nats(np.where(true > 0, true % count + 1, 0)),
    }
    of_word, is_end = np.repeat(true, sentences.lengths), sentences.ids == END_ID
    rows = []
    for number, name in [*enumerate(values[kind], start=1), (None, "all")]:
        here = of_word > 0 if number is None else of_word == number
        if here.any():
            found = {label: float(np.exp(each[here].mean())) for label, each in told.items()}
            rows.append({kind: name, "words": int((here & ~is_end).sum()), **found})
    return pd.DataFrame(rows)


def _values(scorer: Scorer) -> dict[str, list[str]]:
    network = scorer.model.model if isinstance(scorer.model, SubwordModel) else scorer.model
    if getattr(network, "condition", None) is None:
        raise ValueError(
            "expected a model that was trained with labels of sentences (train.condition); this "
            "one was not"
        )
    return read_values(scorer.parts.artefacts["encode"])
