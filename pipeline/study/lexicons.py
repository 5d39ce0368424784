"""Words of a corpus, guessers measured, lexicons trained side by side, two chains compared.

A model knows a word by its features φ. If the features of one word x change by δφ and nothing else
does, its probability in the context K follows from the model's weights a_t, exactly:

    p'(x | K) = p·e^δ / (1 − p + p·e^δ),    δ = a_t·δφ,    p = p(x | K)

The cost is log₂ p − log₂ p', in bits for each occurrence of the word; a negative cost is a gain.
Features that the model was not trained with have no weight and cost nothing. The input of the model
stays as it was.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
import pandas as pd

from accord import lexicon
from accord.corpora import sources
from accord.errors import AccordError
from accord.lexicon import Lexicon
from accord.lexicon.analysis import Chain, feature_names
from accord.lexicon.guesser import compare_guessers, held_out, learners, unknown_to
from accord.models.inference.interface import expect_sum
from accord.pipeline.ask.scorer import Scorer
from accord.pipeline.base.messages import track
from accord.pipeline.base.names import END
from accord.pipeline.base.tables import with_seeds
from accord.pipeline.config.configuration import Config, load_config
from accord.pipeline.data.catalogue import MissingData, folder_of
from accord.pipeline.data.templates import FREQUENT, fill
from accord.pipeline.model.comparison import comparison_table, scores
from accord.pipeline.model.query_lexicon import template_settings
from accord.pipeline.model.suites import CLAMS
from accord.pipeline.run.run import Run
from accord.pipeline.study.audit import texts_in_lexicons


def compare_lexicons(
    source: str,
    chains: Sequence[str],
    overrides: Sequence[str],
    runs: Path,
    names: Sequence[str] = (),
    seeds: int = 1,
    judged: bool = True,
) -> tuple[pd.DataFrame, Path]:
    """Train models of a configuration with each chain of lexicons, and compare the results.

    By default it is the last model. With `judged`, agreement is measured on CLAMS, if it is
    fetched and the configuration has no suite of its own.
    """
    config, models = load_config(source, overrides, names), {}
    for name in names or [*config.models][-1:]:
        sections = config.models[name]
        suites = sections["analyse"].suites if judged else ()
        if judged and not suites:
            with suppress(MissingData):
                folder_of(CLAMS)
                suites = (CLAMS,)
        for chain in chains:
            analyse = replace(sections["analyse"], lexicon=tuple(chain.split(",")), suites=suites)
            named = f"{name}+{chain}" if len(names) > 1 else chain
            models[named.replace(",", "+").replace("/", "_")] = {**sections, "analyse": analyse}
    seeded = with_seeds(models, seeds)
    finished = Run(Config(f"{config.name}-lexicons", config.sections, seeded), Path(runs))
    finished.execute()
    table = comparison_table(scores(finished.folder))
    table.insert(1, "covered", [_covered(finished.artefacts[m, "analyse"].folder) for m in models])
    known = [
        texts_in_lexicons(sections["analyse"].lexicon, finished.artefacts[m, "corpus"].folder)
        for m, sections in models.items()
    ]
    table.insert(2, "knows the test", [_tests(held) for held in known])
    return table, finished.folder


def _tests(held: Mapping[str, Mapping[str, str]]) -> str:
    """Return what lexicons hold of the tests."""
    texts = (text for of_lexicon in held.values() for s, text in of_lexicon.items() if s != "valid")
    return ", ".join(texts) or "no"


def _covered(folder: Path) -> str:
    """Return the share of training tokens that a lexicon knows, without the guesser."""
    coverage = pd.read_csv(folder / "coverage.csv")
    known = ~coverage["source"].isin(["guesser", "nothing"])
    return f"{coverage['tokens'][known].sum() / coverage['tokens'].sum():.2%}"


def known_beside(word: str, chain: Lexicon, phi: Iterable[str]) -> list[str]:
    """Return the features of a word that the chain has and φ lacks, such as Sem=Hum."""
    templates = feature_names(phi)
    known = {pair for a in chain.analyses(word) for pair in a.feats.split("|") if pair}
    return sorted(pair for pair in known if not feature_names([pair]) <= templates)


def counted_words(source: str, limit: int | None = None) -> pd.DataFrame:
    """Count the distinct words of a corpus, with their POS in a treebank.

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
    taught: Lexicon, kinds: Sequence[str], corpus: str | None, seed: int, lowercase: bool
) -> pd.DataFrame:
    """Return figures on held-out lemmas of a lexicon, and on words of a treebank that it lacks."""
    guessers, tests = learners(kinds), {}
    shown, tests["held-out lemmas"] = held_out(taught, seed)
    if corpus and sources.trees(corpus, folder=folder_of):
        load = partial(lexicon.load, folder=folder_of, lowercase=lowercase)
        paths = sources.files(corpus, folder=folder_of)
        texts = load([f"treebank:{path}" for path in paths], join="union")
        known = Chain([load(["closed"]), taught])
        tests["unknown words of the treebank"] = unknown_to(known, texts)
    table = compare_guessers(guessers, shown, tests)
    for column, style in FORMATS.items():
        table[column] = table[column].map(style.format)
    return table.rename(columns=lambda column: column.replace("_", " "))


AT_ONCE = 100  # sentences that are scored together
TEXT = ("lemma", "upos", "feats")


@dataclass(frozen=True)
class LexiconDiff:
    """The words of a corpus that two chains analyse differently, the costliest first."""

    table: pd.DataFrame  # word, count, only before, only after, bits (on average), total
    words: int  # different words of the corpus
    tokens: int

    @property
    def changed_tokens(self) -> int:
        return int(self.table["count"].sum())

    @property
    def bits_per_word(self) -> float:
        """Return the cost of all changes per word of the corpus."""
        return float(self.table["total"].sum()) / max(self.tokens, 1)


def lexicon_diff(
    old_names: Sequence[str],
    new_names: Sequence[str],
    corpus: str,
    scorer: Scorer,
    limit: int | None,
) -> LexiconDiff:
    """Compare two chains on the words of a corpus by a model; `limit` is a number of sentences."""
    read = islice(sources.read_words(corpus, folder=folder_of), limit)
    sentences = [scorer.cased(words) for _, words in read]
    counts = pd.Series([word for words in sentences for word in words]).value_counts()
    if counts.empty:
        raise AccordError(f"{corpus}: expected sentences, found none")
    forms = counts.index.tolist()
    load = partial(lexicon.load, folder=folder_of, lowercase=scorer.lowercase)
    chains = [load(old_names), load(new_names)]
    old, new = (_analyses(chain, forms) for chain in chains)
    changed = [row for row in range(len(forms)) if old[row] != new[row]]
    words = [forms[row] for row in changed]
    bits = _bits(scorer, chains, words, sentences) if words else {}
    table = pd.DataFrame(
        {
            "word": words,
            "count": counts.to_numpy()[changed],
            "only before": [_glosses(old[row] - new[row]) for row in changed],
            "only after": [_glosses(new[row] - old[row]) for row in changed],
            "bits": [np.mean(bits[word]) if word in bits else np.nan for word in words],
            "total": [np.sum(bits.get(word, 0.0)) for word in words],
        }
    )
    costliest = table["total"].abs().sort_values(ascending=False, kind="stable").index
    return LexiconDiff(table.loc[costliest].reset_index(drop=True), len(forms), int(counts.sum()))


def _analyses(chain: Lexicon, forms: Sequence[str]) -> list[set[tuple[str, str, str]]]:
    """Look up the analyses of each form: lemmas, parts of speech and features."""
    analyses: list[set[tuple[str, str, str]]] = [set() for _ in forms]
    rows = chain.lookup(forms)[["word", "lemma", "upos", "feats"]].astype(dict.fromkeys(TEXT, str))
    for word, *analysis in rows.itertuples(index=False):
        analyses[word].add(tuple(analysis))
    return analyses


def _glosses(analyses: Collection[tuple[str, str, str]]) -> str:
    """Return analyses as linguists gloss: `chat NOUN.Masc.Sing, …`; a dash for none."""
    glosses = []
    for lemma, upos, feats in analyses:
        values = [pair.partition("=")[2] for pair in feats.split("|") if pair]
        glosses.append(f"{lemma} {'.'.join([upos, *values])}".strip())
    return ", ".join(sorted(glosses)) or "–"


def _bits(
    scorer: Scorer, chains: Sequence[Lexicon], words: list[str], sentences: Sequence[list[str]]
) -> dict[str, list[float]]:
    """Return the cost of each occurrence of a changed word that the model knows."""
    expect_sum(scorer.model)
    bits: dict[str, list[float]] = {}
    changes = _changes(scorer, scorer.parts.features.names, chains, words)
    concerned = [words for words in sentences if not changes.keys().isdisjoint(words)]
    pieces = [concerned[first : first + AT_ONCE] for first in range(0, len(concerned), AT_ONCE)]
    for piece in track(pieces, "pieces of the corpus", len(pieces)):
        batch, text = scorer.encoded(piece)
        log_p, _ = scorer.score_encoded(batch, text)
        forms = [form for words in piece for form in (*words, END)]
        for read in scorer.model.states(batch):
            for row, position in enumerate(read.positions.tolist()):
                if (form := forms[position]) in changes:
                    features, values = changes[form]
                    weights = scorer.model.adaptor(read.h[row : row + 1])[0, features]
                    bits.setdefault(form, []).append(_cost(log_p[position], weights @ values))
    return bits


def _cost(log_p: float, delta: float) -> float:
    """Return log₂ p − log₂ p', by logarithms so that nothing overflows."""
    others = np.log1p(-np.exp(log_p)) if log_p < 0 else -np.inf
    return float((np.logaddexp(others, log_p + delta) - delta) / np.log(2))


def _changes(
    scorer: Scorer, names: Sequence[str], chains: Sequence[Lexicon], words: list[str]
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return δφ of each word that the model knows: the changed features and their differences."""
    params = template_settings(scorer.trained)
    known = [word for word in words if word in scorer.vocabulary.known]
    if not known:
        return {}
    types = pd.DataFrame({"form": known, "count": FREQUENT})
    old, new = (fill(params, types, chain.lookup(known)) for chain in chains)
    table = pd.concat([old.assign(value=-old["value"]), new]).astype({"feature": str})
    change = table.groupby(["word", "feature"])["value"].sum()
    number = {name: column for column, name in enumerate(names)}
    changes: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    for word, of_word in change[change != 0].groupby(level="word"):
        columns = of_word.index.get_level_values("feature").map(number)
        is_known = columns.notna()
        changes[known[word]] = columns[is_known].to_numpy(int), of_word.to_numpy(float)[is_known]
    return changes
