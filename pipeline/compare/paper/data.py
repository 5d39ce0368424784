"""The data of the LL-RNN paper and of a run: Tables 1 to 3."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from accord.pipeline.artefacts.arrow import open_table, rows, splits, word_counts
from accord.pipeline.compare.paper.figures import BOUNDARIES, CORPUS, SENTENCES, TAGS, TESTS
from accord.pipeline.prepared.named_features import NamedFeatures


def sentences_table(corpus: Path) -> pd.DataFrame:
    """Sentences of each part; validation is drawn from the release's training sentences."""
    ours = {
        TESTS.get(split, split): open_table(path).num_rows for split, path in splits(corpus).items()
    }
    shown = {part: [f"{count:,}", f"{ours[part]:,}"] for part, count in SENTENCES.items()}
    return pd.DataFrame({"": ["paper", "ours"], **shown})


def corpus_table(corpus: Path, tokenised: Path) -> pd.DataFrame:
    """Sizes of the corpus: the paper's release 1.3 and the run's."""
    kinds: Counter[str] = Counter()
    sentences = 0
    for path in splits(corpus).values():
        for row in rows(path):
            kinds.update(row["kinds"])
            sentences += 1
    types = len(set().union(*map(word_counts, splits(tokenised).values())))
    words, contracted = kinds["word"] + kinds["part"], kinds["contracted"]
    tokens = words + contracted + BOUNDARIES * sentences
    ours = (sentences, words, contracted, tokens, tokens / sentences, types, tokens / types)
    shown = zip(CORPUS, map(_size, CORPUS.values()), map(_size, ours), strict=True)
    return pd.DataFrame(shown, columns=["", "paper", "ours"])


def tags_table(featurised: Iterable[Path]) -> pd.DataFrame:
    """Which of the paper's tags the φ of the run has, and which others."""
    names = {name for folder in featurised for name in NamedFeatures.load(folder).names}
    found = {name for name in names if not name.startswith(("form=", "@"))}
    table = []
    for attribute, values in TAGS.items():
        tags = {f"{attribute}={value}" for value in values.split()}
        of_kind = {name for name in found if name.startswith(f"{attribute}=")}
        table.append((attribute, tags, tags - found, of_kind - tags))
    others = {name for name in found if name.partition("=")[0] not in TAGS}
    table.append(("others", set(), set(), others))
    table.append(("all", *(set().union(*column) for column in list(zip(*table, strict=True))[1:])))
    shown = [
        (name, len(tags), len(tags - lacking) + len(besides), _named(lacking), _named(besides))
        for name, tags, lacking, besides in table
        if tags or besides
    ]
    return pd.DataFrame(shown, columns=["", "paper", "ours", "lacking", "besides"])


def _named(names: set[str]) -> str:
    return " ".join(sorted(names)) or "–"


def _size(size: float) -> str:
    return f"{size:,}" if isinstance(size, int) else f"{size:,.2f}"
