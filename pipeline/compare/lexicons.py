"""Words of a corpus, guessers measured, lexicons trained side by side."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path

import pandas as pd

from accord import lexicon
from accord.corpora import sources
from accord.lexicon import Lexicon
from accord.lexicon.analysis import feature_names
from accord.lexicon.chain import Chain
from accord.lexicon.evaluation import LEARNERS, compare_guessers, held_out, unknown_to
from accord.pipeline.config.configuration import Config, load_config
from accord.pipeline.data.folders import MissingData, folder_of
from accord.pipeline.evaluation.comparison import comparison_table, scores
from accord.pipeline.evaluation.suites import CLAMS
from accord.pipeline.runner.run import run_config


def compare_lexicons(
    source: str, chains: Sequence[str], overrides: Sequence[str], runs: Path
) -> tuple[pd.DataFrame, Path]:
    """The last model of a configuration, trained once with each chain of lexicons.

    Each is judged on CLAMS, if it is fetched.
    """
    config = load_config(source, overrides)
    sections = config.models[[*config.models][-1]]
    suites = sections["analyse"].suites or _present(CLAMS)
    models = {}
    for chain in chains:
        analyse = replace(sections["analyse"], lexicon=tuple(chain.split(",")), suites=suites)
        models[chain.replace(",", "+")] = {**sections, "analyse": analyse}
    compared = Config(f"{config.name}-lexicons", config.sections, models)
    finished = run_config(compared, runs=runs)
    table = comparison_table(scores(finished.folder))
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


def known_beside(word: str, chain: Lexicon, phi: Iterable[str]) -> list[str]:
    """The features of a word that the chain has and φ lacks, such as Sem=Hum."""
    templates = feature_names(phi)
    known = {pair for each in chain.analyses(word) for pair in each.feats.split("|") if pair}
    return sorted(pair for pair in known if not feature_names([pair]) <= templates)


def counted_words(source: str, limit: int | None = None) -> pd.DataFrame:
    """The distinct words of a corpus with their counts, and with their POS in a treebank.

    `limit` is a number of sentences.
    """
    counts: Counter = Counter()
    if trees := sources.trees(source, folder=folder_of):
        for tree in islice(trees, limit):
            counts.update((t.form, t.upos) for t in tree.tokens if t.id.isdigit())
        rows = [(form, upos, count) for (form, upos), count in counts.items()]
        return pd.DataFrame(rows, columns=["form", "upos", "count"])
    for _, words in islice(sources.read_words(source, folder=folder_of), limit):
        counts.update(words)
    return pd.DataFrame(counts.items(), columns=["form", "count"])


SHARES = ("pos", "analysis", "among_three", "gender", "gender_of_nouns", "number")
SHARES += ("tense", "mood", "person")
FORMATS = dict.fromkeys(SHARES, "{:.1%}") | {"nats": "{:.3f}", "seconds": "{:.0f}"}
FORMATS |= dict.fromkeys(("forms", "per_second"), "{:,.0f}")


def guesser_table(
    taught: Lexicon, kinds: Sequence[str], treebanks: Sequence[Path], seed: int, lowercase: bool
) -> pd.DataFrame:
    """Figures on held-out lemmas of a lexicon, and on words of treebanks that it lacks."""
    for kind in kinds:
        if kind not in LEARNERS:
            raise ValueError(f"--kinds: expected some of {', '.join(LEARNERS)}, got {kind!r}")
    asked = {}
    shown, asked["held-out lemmas"] = held_out(taught, seed)
    if treebanks:
        load = partial(lexicon.load, folder=folder_of, lowercase=lowercase)
        texts = load([f"treebank:{path}" for path in treebanks], join="union")
        asked["unknown words of the treebank"] = unknown_to(
            Chain([load(["closed"]), taught]), texts
        )
    table = compare_guessers(kinds, shown, asked)
    for column, style in FORMATS.items():
        table[column] = table[column].map(style.format)
    return table.rename(columns=lambda column: column.replace("_", " "))
