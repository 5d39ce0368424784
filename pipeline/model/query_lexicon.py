"""A lexicon at query time: words are added to a trained model, or analysed anew, without training.

No weight of a log-linear model belongs to a word that is not among the most frequent ones: its row
of Φ is what the lexicon says, so a word of a user's table has as exact a probability as any other:

    φ(x)    the features of its analyses in the table; all others (its own feature, its frequency)
            stay those of the word, or of the unknown words that a new one would be spelled as
    b(x)    the column `frequency` of the table, per million words; else the present b of a known
            word, and that of a word seen once for a new one

B_s is summed anew, so that Σp = 1 holds. The model then reads the word by the same features.
"""

import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from accord import lexicon
from accord.errors import AccordError
from accord.lexicon.analysis import TABLES
from accord.models.common.registry import parted
from accord.models.phi import Features, chosen_rows
from accord.pipeline.base.artefact import FinishedRun, read_json
from accord.pipeline.base.messages import say
from accord.pipeline.base.names import CONFIG, END_ID, is_special
from accord.pipeline.base.tables import read_table
from accord.pipeline.config.sections import FeaturiseParams
from accord.pipeline.data.catalogue import folder_of
from accord.pipeline.data.templates import FREQUENT, fill, of_analyses
from accord.pipeline.model.folder import ModelFolder
from accord.pipeline.model.words import NamedFeatures, Reading

if TYPE_CHECKING:
    from accord.pipeline.model.find import TrainedModel

FREQUENCY = "frequency"  # the column, and the template
MASSES = ("unigram", "uniform")  # backgrounds that no context changes
CROSSED = re.compile(r"×(?=[A-Za-z]+=)")


def with_lexicon(parts: ModelFolder, trained: "TrainedModel | None", table: Path) -> ModelFolder:
    """Return a model folder whose words have the analyses and frequencies of a user's table."""
    if table.suffix not in TABLES:
        raise AccordError(f"lexicon: expected a table in {' or '.join(TABLES)}, got {table}")
    settings = template_settings(trained)
    kind = parted(parts.background.kind)[0]
    if not parts.recipe.is_log_linear or kind not in MASSES or parts.classes is not None:
        raise AccordError(
            f"lexicon: expected a log-linear model with the background {' or '.join(MASSES)}, "
            f"got the output {parts.recipe.output_kind} with the background {kind}"
        )
    lookup, known, first = parts.lookup, parts.vocabulary.known, len(parts.words)
    loaded = lexicon.load([str(table)], lowercase=lookup.lowercase, folder=folder_of)
    for skipped in loaded.skipped:
        say(f"lexicon: {skipped}")
    forms = [form for form in sorted(loaded) if not is_special(form)]
    analyses = loaded.lookup(forms)
    _say_unknown(analyses, parts)
    new = [form for form in forms if form not in known]
    of_new = dict(zip(new, range(first, first + len(new)), strict=True))
    ids = np.array([of_new.get(form) or known[form] for form in forms])
    bases = ids.copy()  # the words that have the other features
    bases[ids >= first] = parts.vocabulary.ids(new)
    per_million = _frequencies(table, forms, lookup.lowercase)
    is_counted = np.isfinite(per_million)
    types = pd.DataFrame({"form": forms, "count": FREQUENT})
    of_lexicon = fill(settings, types, analyses)[["word", "feature", "value"]]
    # A new word is as if the model's first dictionary had it: it does not know a user's table.
    source = next((name for name in lookup.names if name != "closed"), "guesser")
    sources = {"word": np.flatnonzero(ids >= first), "feature": f"source={source}", "value": 1.0}
    of_lexicon = of_lexicon.astype({"feature": str})
    filled = pd.concat([of_lexicon, _levels(per_million), pd.DataFrame(sources)])
    names = parts.feature_names
    phi = _with_rows(NamedFeatures(parts.phi, names), ids, bases, filled)
    psi = parts.psi and _with_rows(NamedFeatures(parts.psi, names), ids, bases, filled)
    mass = np.concatenate([parts.mass(), np.full(len(new), _mass_seen_once(parts))])
    mass[ids[is_counted]] = per_million[is_counted] * 1e-6 * (1 - mass[END_ID])
    readings: dict[int, list[Reading]] = {number: [] for number in ids.tolist()}
    columns = (analyses[field].tolist() for field in Reading._fields)
    for number, *reading in zip(ids[analyses["word"]].tolist(), *columns, strict=True):
        readings[number].append(Reading(*reading))
    by_id = {"mass": mass, "signature": phi.signature}
    if psi:
        by_id["read"] = psi.signature
    other = ModelFolder(parts.folder, parts.config)
    other.readings = parts.readings.with_readings(new, readings, **by_id)
    other.words, other.phi, other.psi = other.readings.words, phi, psi
    return other


def _say_unknown(analyses: pd.DataFrame, parts: ModelFolder) -> None:
    """Say which features of a table no analysis of the model has: they have no effect."""
    known = {pair for feats in parts.readings.distinct["feats"] for pair in feats.split("|")}
    in_table = {pair for feats in analyses["feats"].unique() for pair in feats.split("|")}
    if unknown := sorted(in_table - known - {""}):
        say(f"lexicon: the model knows no {', '.join(unknown[:5])}: without effect")


def template_settings(trained: "TrainedModel | None") -> FeaturiseParams:
    """Return the templates that read analyses, but `source`, which changes with every lexicon."""
    if trained is None or trained.folder is None:
        raise AccordError("expected a model with features of a lexicon, such as the bundled model")
    if trained.is_exported:
        settings = read_json(trained.folder / CONFIG)["params"]["featurise"]
    else:
        settings = FinishedRun.read(trained.place).params[trained.name]["featurise"]
    templates = [name for name in of_analyses(settings["templates"]) if "source" not in name]
    if not templates:
        raise AccordError(f"{trained.name}: expected a model with features of a lexicon")
    others = {key: settings[key] for key in ("lemmas", "values", "steps") if key in settings}
    return FeaturiseParams(templates=tuple(templates), **others)


def _frequencies(path: Path, forms: list[str], lowercase: bool) -> np.ndarray:
    """Return the occurrences per million words that a table gives for each form, else NaN."""
    table = read_table(path, "form").rename(columns=str.lower)
    if FREQUENCY not in table:
        return np.full(len(forms), np.nan)
    values = pd.to_numeric(table[FREQUENCY], errors="coerce")
    names = table["form"].str.strip()
    return values.groupby(names.str.lower() if lowercase else names).max().reindex(forms).to_numpy()


def _levels(per_million: np.ndarray) -> pd.DataFrame:
    """Return the feature of each word with a frequency: half powers of ten."""
    words = np.flatnonzero(np.isfinite(per_million))
    with np.errstate(divide="ignore"):
        levels = np.floor(2 * np.log10(per_million[words]))
    names = [f"{FREQUENCY}={level:.0f}" for level in levels]
    return pd.DataFrame({"word": words, "feature": names, "value": 1.0})


def _mass_seen_once(parts: ModelFolder) -> float:
    """Return b of a word that training has once, or the least there is."""
    mass = parts.mass()
    once = mass[parts.words.column("count") == 1]
    return float(np.median(once) if len(once) else mass[mass > 0].min())


def _with_rows(
    named: NamedFeatures, ids: np.ndarray, bases: np.ndarray, filled: pd.DataFrame
) -> Features:
    """Return Φ with other rows of some words, the last of which are new.

    A row has the features in `filled`, and those of its base that no analysis gives. Features that
    no word of the model has are left out: they have no weights.
    """
    phi = named.phi
    number = {named.names[feature]: feature for feature in np.unique(phi.indices).tolist()}
    filled = filled[filled["feature"].isin(number)].sort_values("word", kind="stable")
    added = Features.from_rows(
        np.searchsorted(filled["word"], np.arange(len(ids) + 1)),
        filled["feature"].map(number).to_numpy(np.int64),
        filled["value"].to_numpy(float),
        phi.sparse_count,
    )
    # Words with the same base and the same features are made once.
    pairs = phi.signature[bases] * added.signature_count + added.signature
    _, words, of_pair = np.unique(pairs, return_index=True, return_inverse=True)
    of_added, rows = NamedFeatures(added, named.names), []
    for word in words.tolist():
        row = of_added.row(word)
        replaced = {named.names[feature].partition("=")[0] for feature in row}
        for feature, value in named.row(bases[word]).items():
            name = named.names[feature]
            if not _is_analysed(name) and name.partition("=")[0] not in replaced:
                row[feature] = value
        rows.append(row)
    changed = Features.from_rows(
        np.cumsum([0, *map(len, rows)]),
        np.array([feature for row in rows for feature in row], np.int64),
        np.array([value for row in rows for value in row.values()]),
        phi.sparse_count,
    )
    vector = phi.vector[phi.signature[bases[words]]]
    changed = changed.split_by(vector)
    new = np.count_nonzero(ids >= len(phi.signature))
    signature = np.concatenate([phi.signature, np.zeros(new, np.int64)])
    signature[ids] = phi.signature_count + changed.signature[of_pair]
    used, signature = np.unique(signature, return_inverse=True)  # some have lost all their words
    rows_of_used = chosen_rows(
        np.concatenate([phi.indptr, phi.indptr[-1] + changed.indptr[1:]]),
        np.concatenate([phi.indices, changed.indices]),
        np.concatenate([phi.values, changed.values]),
        used,
    )
    vectors = np.concatenate([phi.vector, changed.group_of_signatures("vector", vector)])
    return Features(*rows_of_used, signature, phi.feature_count, phi.vectors, vectors[used])


def _is_analysed(name: str) -> bool:
    """Return whether analyses give a feature: a part of speech, a lemma, or one such as Gender."""
    keys = (part.partition("=")[0] for part in CROSSED.split(name))
    return all(key in ("pos", "lemma") or key[:1].isupper() for key in keys)
