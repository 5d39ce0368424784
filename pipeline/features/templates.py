"""Feature templates: from words and their analyses to (word, feature, value) rows.

A template of the lexicon reads one field of each analysis (`gender` gives `Gender=Fem`), a
crossed one several at once (`pos×gender` gives `pos=NOUN×Gender=Fem`), a template of the form is
a function of the word alone (`of_form.py`). The value of a lexicon feature is the weight of the
analyses that carry it: at most 1 for their union, their share of all for the weighted kind.
"""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import pandas as pd

from accord.lexicon.analysis import FEATURES, feature_names
from accord.pipeline.display.nearest import nearest
from accord.pipeline.features import TEMPLATES
from accord.pipeline.features.rows import rows
from accord.pipeline.features.template_names import chosen
from accord.pipeline.prepared.special_words import END, is_unknown


def fill(
    params,
    types: pd.DataFrame,
    analyses: pd.DataFrame,
    computed: Mapping[str, pd.DataFrame] = MappingProxyType({}),
) -> pd.DataFrame:
    """The rows of all templates, sorted by word and feature, one row each.

    The rows of templates that need more than this, those of vectors and clusters, are handed in.
    """
    end = types.index[types["form"] == END]
    unwritten = types.index[types["form"].map(is_unknown)]  # these have no letters yet
    parts = [rows(end, "form=" + types["form"].loc[end]).assign(template=END)]
    names = known_names(analyses)
    for template in dict.fromkeys([*chosen(params, names), *computed]):
        if template in computed:
            filled = computed[template]
        elif template in TEMPLATES:
            filled = TEMPLATES[template](params, types)
        else:
            filled = _of_analyses(template, names, params, types, analyses)
        without = end.union(unwritten) if _reads_letters(template) else end
        parts.append(filled[~filled["word"].isin(without)].assign(template=template))
    table = _left(pd.concat(parts, ignore_index=True), params.without)
    table["feature"] = table["feature"].astype("category")
    return table.sort_values(["word", "feature"], kind="stable", ignore_index=True)


def _reads_letters(template: str) -> bool:
    return template in TEMPLATES and bool(TEMPLATES.part(template).about.get("letters"))


def _left(table: pd.DataFrame, without: Sequence[str]) -> pd.DataFrame:
    """The rows without the single features, such as `PronType=Art`, that are left out."""
    left_out = {name.lower() for name in without if "=" in name}
    if not left_out:
        return table
    distinct = pd.Series(table["feature"].unique())
    held = distinct.str.lower().str.split("×").map(left_out.intersection)
    for name in sorted(left_out.difference(*held)):
        raise ValueError(f"featurise.without: no word has '{name}'{nearest(name, distinct)}")
    return table[~table["feature"].isin(distinct[held.map(bool)])]


def known_names(analyses: pd.DataFrame) -> list[str]:
    """The names of the features that these analyses have, or others may have."""
    return sorted({*FEATURES, *feature_names(analyses["feats"].astype("category").cat.categories)})


def _of_analyses(template: str, names, params, types, analyses: pd.DataFrame) -> pd.DataFrame:
    fields = [_field(name, names, params, types, analyses) for name in template.split("×")]
    feature = fields[0]
    for other in fields[1:]:
        feature = feature.str.cat(other, sep="×")  # null where one of them is
    table = rows(analyses["word"], feature, analyses["weight"].astype(float)).dropna()
    of_feature = table.groupby(["word", "feature"], sort=False, observed=True)["value"]
    table = of_feature.sum().reset_index()
    if params.values == "weighted":
        total = analyses.groupby("word")["weight"].sum()
        table["value"] /= table["word"].map(total)
    table["value"] = (table["value"].clip(upper=1.0) * params.steps).round() / params.steps
    return table[table["value"] > 0]


def _field(
    name: str, names: Sequence[str], params, types: pd.DataFrame, analyses: pd.DataFrame
) -> pd.Series:
    """The feature that each analysis gives this template, null where it gives none."""
    if name == "pos":
        return "pos=" + analyses["upos"].astype(str)
    if name == "source":
        return "source=" + analyses["source"].astype(str)
    if name == "lemma":
        return _lemma(params, types, analyses)
    spelled = "|".join(re.escape(each) for each in names if each.lower() == name)
    distinct = analyses["feats"].astype("category")
    value = distinct.cat.categories.to_series().str.extract(rf"(?:^|\|)((?:{spelled})=[^|]+)")[0]
    return pd.Series(value.to_numpy()[distinct.cat.codes], index=analyses.index)


def _lemma(params, types: pd.DataFrame, analyses: pd.DataFrame) -> pd.Series:
    """A feature for each of the most frequent lemmas, by the training counts of their forms."""
    lemma = analyses["lemma"].astype("category")
    counts = types["count"].reindex(analyses["word"]).to_numpy() * analyses["weight"].to_numpy()
    by_lemma = pd.Series(counts).groupby(lemma.cat.codes.to_numpy()).sum()
    top = by_lemma[by_lemma > 0].nlargest(params.lemmas).index
    return ("lemma=" + lemma.astype(str)).where(lemma.cat.codes.isin(top))
