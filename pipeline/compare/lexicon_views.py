"""What `accord lexicon` looks at: the φ of a word, the words of a corpus."""

from collections import Counter
from collections.abc import Iterable
from itertools import islice

import pandas as pd

import corpora
from corpora.tokenise import tokenised
from lexicon import Lexicon
from lexicon.analysis import feature_names
from pipeline.data.folders import folder_of
from pipeline.features.templates import fill
from pipeline.stages import featurise


def features_of(word: str, chain: Lexicon) -> dict[str, float]:
    """φ of one word by a chain of lexicons and the default templates, as for a rare word."""
    types = pd.DataFrame({"form": [word], "count": [0]})
    filled = fill(featurise.Params(), types, chain.lookup([word]))
    return dict(zip(filled["feature"], filled["value"], strict=True))


def known_beside(word: str, chain: Lexicon, phi: Iterable[str]) -> list[str]:
    """What a chain says of a word and φ has no feature of, such as Sem=Hum."""
    templates = feature_names(phi)
    known = {pair for each in chain.analyses(word) for pair in each.feats.split("|") if pair}
    return sorted(pair for pair in known if not feature_names([pair]) <= templates)


def counted_words(source: str, limit: int | None = None) -> pd.DataFrame:
    """The distinct words of a corpus with their counts, and with their POS in a treebank.

    With a limit, those of so many sentences.
    """
    counts: Counter = Counter()
    if trees := corpora.trees(source, folder=folder_of):
        for tree in islice(trees, limit):
            counts.update((t.form, t.upos) for t in tree.tokens if t.id.isdigit())
        rows = [(form, upos, count) for (form, upos), count in counts.items()]
        return pd.DataFrame(rows, columns=["form", "upos", "count"])
    sentences = islice(corpora.read(source, folder=folder_of), limit)
    for words in tokenised(sentence.text for sentence in sentences):
        counts.update(words)
    return pd.DataFrame(counts.items(), columns=["form", "count"])
