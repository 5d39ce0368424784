"""Classes of words: for the output that predicts the class before the word, and for φ."""

from pathlib import Path

import numpy as np
import pandas as pd

from accord.models.common.batching import Sentences
from accord.models.outputs.clusters import exchange_clusters
from accord.pipeline.artefacts.arrow import batches
from accord.pipeline.prepared.special_words import END_ID


def word_classes(text: Sentences, counts: np.ndarray, classes: int, by: str) -> np.ndarray:
    """The class of each word, from 0; the words seen less than twice are in it as one word.

    So those that were not seen have a class whose words do occur.
    """
    merged = np.arange(len(counts))
    merged[counts < 2] = np.argmax(counts < 2)
    text = Sentences(merged[text.ids], text.lengths)
    mass = np.bincount(text.ids, minlength=len(counts))
    if by == "neighbours":  # words that occur between the same words
        found = exchange_clusters(text, len(mass), classes)
    elif by == "frequency":  # as much of all √mass in each (Mikolov et al. 2011)
        found = _cut(mass, np.sqrt(mass), classes)
    else:  # as many words in each: the two levels of a balanced tree
        found = _cut(mass, mass > 0, classes)
    return np.unique(found[merged], return_inverse=True)[1]


def _cut(mass: np.ndarray, share: np.ndarray, classes: int) -> np.ndarray:
    """Words by falling mass, cut where their shares have summed up to the next class."""
    order = np.argsort(-mass, kind="stable")
    before = np.cumsum(share[order]) - share[order]
    of_word = np.empty(len(mass), np.int64)
    of_word[order] = np.minimum(before / share.sum() * classes, classes - 1)
    return of_word


def clusters_of(types: pd.DataFrame, path: Path, classes: int) -> np.ndarray:
    """The class of each known word by the words beside it in a file of sentences' words."""
    known = pd.Index(types["form"])
    ids, lengths = [], []
    for batch in batches(path):
        sizes = batch["words"].value_lengths().to_numpy()
        words = known.get_indexer(batch["words"].flatten().to_pandas())
        ids.append(np.insert(words, np.cumsum(sizes), END_ID))
        lengths.append(sizes + 1)
    text = Sentences(np.concatenate(ids), np.concatenate(lengths))
    return word_classes(text, types["count"].to_numpy(), classes, "neighbours")
