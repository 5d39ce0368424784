"""What `accord lexicon` shows: a word's φ, a corpus's words, models trained with each lexicon."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

import corpora
import lexicon
from corpora.tokenise import tokenised
from pipeline import api, featurise
from pipeline.config import Config, load_config
from pipeline.data import MissingData, folder_of
from pipeline.report import comparison
from pipeline.suite import CLAMS
from pipeline.templates import fill


def features_of(word: str, chain: Sequence[str]) -> dict[str, float]:
    """φ of one word by a chain of lexicons and the default templates, as for a rare word."""
    found = lexicon.load(chain, folder=folder_of).lookup([word])
    types = pd.DataFrame({"form": [word], "count": [0]})
    filled = fill(featurise.Params(), types, found)
    return dict(zip(filled["feature"], filled["value"], strict=True))


def counted_words(source: str) -> pd.DataFrame:
    """The distinct words of a corpus with their counts, and with their POS in a treebank."""
    counts: Counter = Counter()
    if trees := corpora.trees(source, folder=folder_of):
        for tree in trees:
            counts.update((t.form, t.upos) for t in tree.tokens if t.id.isdigit())
        rows = [(form, upos, count) for (form, upos), count in counts.items()]
        return pd.DataFrame(rows, columns=["form", "upos", "count"])
    sentences = corpora.read(source, folder=folder_of)
    for words in tokenised(sentence.text for sentence in sentences):
        counts.update(words)
    return pd.DataFrame(counts.items(), columns=["form", "count"])


def compare_lexicons(
    source: str, chains: Sequence[str], overrides: Sequence[str], runs: Path
) -> tuple[pd.DataFrame, Path]:
    """The last model of a configuration, trained once with each chain of lexicons.

    Where CLAMS is here, each is asked it.
    """
    config = load_config(source, overrides)
    sections = config.models[[*config.models][-1]]
    suites = sections["analyse"].suites or _present(CLAMS)
    models = {}
    for chain in chains:
        analyse = replace(sections["analyse"], lexicon=tuple(chain.split(",")), suites=suites)
        models[chain.replace(",", "+")] = {**sections, "analyse": analyse}
    compared = Config(f"{config.name}-lexicons", config.sections, models)
    finished = api.run_config(compared, runs=runs)
    table = comparison(api.scores(finished.folder))
    table.insert(1, "covered", [_covered(finished.artefacts[m, "analyse"].folder) for m in models])
    return table, finished.folder


def _present(source: str) -> tuple[str, ...]:
    """The source, if its data is here."""
    try:
        folder_of(source)
    except MissingData:
        return ()
    return (source,)


def _covered(folder: Path) -> str:
    """Share of training tokens that a lexicon knows, the guesser left out."""
    coverage = pd.read_csv(folder / "coverage.csv")
    known = ~coverage["source"].isin(["guesser", "nothing"])
    return f"{coverage['tokens'][known].sum() / coverage['tokens'].sum():.2%}"
