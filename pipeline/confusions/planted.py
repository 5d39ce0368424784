"""Planted errors: real sentences in which one word became another that sounds the same."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from accord.lexicon.dictionaries.lexique import Homophones
from accord.pipeline.evaluation.pair import text_of

INFLECTED, OTHER_WORD = "homophone_inflected", "homophone_other_word"


def plant(
    sentences: Iterable[Sequence[str]], homophones: Homophones, seed: int = 1
) -> pd.DataFrame:
    """A suite: construction, good, bad; sentences without a word to confuse are left out.

    Every word that has homophones is as likely to go wrong; which one is written instead goes by
    how often it occurs. Words with a capital may be names, and stay.
    """
    random = np.random.default_rng(seed)
    rows = []
    for words in sentences:
        confused = {
            place: others
            for place, word in enumerate(words)
            if word == word.lower() and (others := _known(homophones.of(word), homophones))
        }
        if confused:
            place = random.choice(list(confused))
            counts = np.array([homophones.count(other) for other in confused[place]])
            wrong = str(random.choice(confused[place], p=counts / counts.sum()))
            same_word = homophones.share_lemma(words[place], wrong)
            bad = [*words[:place], wrong, *words[place + 1 :]]
            rows.append((INFLECTED if same_word else OTHER_WORD, text_of(words), text_of(bad)))
    if not rows:
        raise ValueError("expected sentences with words that sound like others, found none")
    return pd.DataFrame(rows, columns=["construction", "good", "bad"])


def _known(others: Sequence[str], homophones: Homophones) -> list[str]:
    """Those that occur at all."""
    return [other for other in others if homophones.count(other) > 0]
