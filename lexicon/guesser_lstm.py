"""A guess at any string by a network that reads its letters from both ends.

It learns what the guesser by suffixes learns, from the same forms by the same weights, and leaves
to the look of a form what that one leaves to it.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pyarrow as pa

from lexicon.guesser import SMALLEST, LookGuesser, teaching, weighed
from lexicon.shape import LIKELY

STEPS = 3000  # of training


class LSTMGuesser(LookGuesser):
    """Guesses by a LetterLSTM whose first letter is the look of the form."""

    name = "guesser-lstm"

    def __init__(self, network, tags: Sequence[str], taught: Sequence[str], licence: str):
        self.network, self.licence = network, licence
        self._upos, self._feats = np.array([tag.split(" ") for tag in tags], dtype=object).T
        # What forms of a look are that no form has taught.
        self._settled = {
            look: np.array([each.shares.get(tag.rstrip(), 0.0) for tag in tags], dtype=np.float32)
            for look, each in LIKELY.items()
            if look not in taught and each.shares
        }

    def _of_look(self, look: np.ndarray, forms: np.ndarray, share: np.ndarray) -> pd.DataFrame:
        shares = self.network.shares(spelled(look, forms))
        for name, settled in self._settled.items():
            shares[look == name] = settled
        # Of very many tags the likeliest too may be below what is worth keeping.
        shares[shares < np.minimum(SMALLEST, shares.max(axis=1, keepdims=True))] = 0
        shares *= (share / shares.sum(axis=1))[:, None]
        word, tag = np.nonzero(shares)
        texts = {"lemma": pa.repeat("", len(word)), "upos": self._upos[tag]}
        texts |= {"feats": self._feats[tag], "source": pa.repeat(self.name, len(word))}
        rows = pa.table(texts).to_pandas()
        rows.insert(0, "word", word)
        rows.insert(4, "weight", shares[word, tag])
        return rows


def spelled(looks: np.ndarray, forms: np.ndarray) -> list[list[str]]:
    """The look of each form, then its letters, all of them small."""
    return [[look, *form.lower()] for look, form in zip(looks, forms, strict=True)]


def learned_lstm_guesser(
    rows: pd.DataFrame, licence: str, steps: int = STEPS, seed: int = 0
) -> LSTMGuesser:
    """A guesser from rows of form, lemma, upos and feats, kept in memory only."""
    from lexicon.letter_lstm import train

    by_look = {look: weighed(taught) for look, taught in teaching(rows).items() if len(taught)}
    rows = pd.concat(by_look, names=["look"]).reset_index("look")
    priors = {f"{upos} " for look in LIKELY.values() for upos in look.shares}
    tags = pd.Index(sorted({*rows["tag"], *priors}))
    word = rows.groupby(["look", "form"], sort=False).ngroup().to_numpy()
    place = rows.groupby(word).cumcount().to_numpy()
    size = (word.max() + 1, place.max() + 1)
    tag_of, share_of = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.float32)
    tag_of[word, place] = tags.get_indexer(rows["tag"])
    weight = np.bincount(word, weights=rows["weight"])
    share_of[word, place] = rows["weight"] / weight[word]
    first = rows[place == 0]
    words = spelled(first["look"], first["form"])
    network = train(words, tag_of, share_of, weight, len(tags), steps, seed)
    return LSTMGuesser(network, tags, list(by_look), licence)
