"""Templates of features: from analyses and forms of words to the rows of Φ.

A template of the lexicon reads one field of each analysis (`gender` gives `Gender=Fem`). A crossed
one reads several at once (`pos×gender` gives `pos=NOUN×Gender=Fem`); `pos*gender` and `posxgender`
are the same, and capitals do not count. A template of the form is a function of the word alone. The
value of a lexicon feature is the weight of the analyses that carry it: at most 1 for their union,
their share of all for the weighted kind.

A template that reads `letters` has no feature of unknown words, which have no letters yet.
"""

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from types import MappingProxyType

import numpy as np
import pandas as pd

from accord.errors import AccordError
from accord.lexicon.analysis import FEATURES, Lexicon, feature_names
from accord.lexicon.vectors import string_hashes
from accord.models.common.checks import expect, nearest
from accord.models.common.registry import Registry
from accord.pipeline.base.names import END, END_ID, NOT_TOP, is_unknown, read_as_unknown
from accord.pipeline.config.sections import FeaturiseParams

TEMPLATES = Registry("template", "accord.templates", modules=(__name__,))
OF_ANALYSIS = ("pos", "source", "lemma")  # beside the features of the lexicon
OF_MEANING = re.compile("(class|cluster)-([1-9][0-9]{0,5})")  # of vectors, of the training text
OFTEN = 2  # occurrences in training, in any form, of a lemma that has a feature
FREQUENT = 1_000_000  # a count with which even the rarest reading of a word counts
SMALL = 31  # the largest of the small numbers: days of a month are among them
VECTORS = "vectors"  # the dense features, and the sparse one of words without a vector


def chosen(params, names: Sequence[str] | None) -> list[str]:
    """Return the templates of φ: all but those left out, which must be among them.

    `names` are those of the lexicon's features; None: any name may be one.
    """
    templates = [_parsed(template, names, "templates") for template in params.templates]
    fields = {name for template in templates for name in template.split("×")}
    left_out = {name.lower() for name in params.without}
    for name in params.without:
        if name.lower().partition("=")[0] not in fields:
            valid = ", ".join(sorted(fields))
            raise AccordError(f"featurise.without: no template has '{name}'; there are {valid}")
    return [template for template in templates if left_out.isdisjoint(template.split("×"))]


def of_analyses(templates: Sequence[str]) -> list[str]:
    """Return the templates that read analyses, not the form or the vector of a word."""
    parsed = [_parsed(template, None, "templates") for template in templates]
    return [name for name in parsed if name not in TEMPLATES and not OF_MEANING.fullmatch(name)]


def sides(params, names: Sequence[str] | None) -> tuple[Set[str], Set[str]]:
    """Return the templates of ψ and of φ: all, or those that `read` and `predict` name."""
    every = chosen(params, names)
    if params.vectors and params.vectors.dimensions:
        every.append(VECTORS)

    def side(key: str) -> Set[str]:
        named = getattr(params, key)
        if named is None:
            return {*every}
        side = {name if name == VECTORS else _parsed(name, names, key) for name in named}
        for template in sorted(side.difference(every)):
            raise AccordError(
                f"featurise.{key}: no '{template}' among the templates{nearest(template, every)}"
            )
        return side

    return side("read"), side("predict")


def check(params, names: Sequence[str] | None) -> None:
    """Reject invalid values."""
    templates = chosen(params, names)
    for key, side in zip(("read", "predict"), sides(params, names), strict=True):
        key = "templates" if getattr(params, key) is None else key
        expect(f"featurise.{key}", bool(side), "one or more that are not left out", "none")
    classes = [template for template in templates if template.startswith("class-")]
    if classes and params.vectors is None:
        raise AccordError(
            f"featurise.templates: {classes[0]} needs word vectors, such as "
            f"featurise.vectors: {{source: spacy, dimensions: 0}}"
        )


def _parsed(template: str, names: Sequence[str] | None, key: str) -> str:
    """Return a template as φ names it; for an unknown one, an error names the nearest."""
    template = template.lower()
    if template in TEMPLATES or OF_MEANING.fullmatch(template):
        return template
    known = [*OF_ANALYSIS, *(name.lower() for name in (FEATURES if names is None else names))]
    fields: list[str] = []
    for part in map(str.strip, re.split("[×*]", template)):
        parts = _parted_by_x(part, {*known})
        if parts is None and part != template and (part in TEMPLATES or OF_MEANING.fullmatch(part)):
            raise AccordError(
                f"featurise.{key}: expected fields of the lexicon in '{template}', found '{part}', "
                f"which stands alone"
            )
        if parts is None and names is not None:
            valid = [*TEMPLATES, *known, "class-100", "cluster-100"]
            raise AccordError(f"featurise.{key}: unknown template '{part}'{nearest(part, valid)}")
        fields += parts or [part]
    return "×".join(fields)


def _parted_by_x(text: str, names: Set[str]) -> list[str] | None:
    """Return the names in a text such as `genderxnumber`; None if it holds others."""
    if text in names:
        return [text]
    for place in (place for place, letter in enumerate(text) if letter == "x"):
        if text[:place] in names and (others := _parted_by_x(text[place + 1 :], names)):
            return [text[:place], *others]
    return None


def rows(words, features, values=1.0) -> pd.DataFrame:
    return pd.DataFrame({"word": np.asarray(words), "feature": features, "value": values})


def fill(
    params,
    types: pd.DataFrame,
    analyses: pd.DataFrame,
    computed: Mapping[str, pd.DataFrame] = MappingProxyType({}),
) -> pd.DataFrame:
    """Return the rows of all templates, sorted by word and feature.

    `computed` has the rows of templates of vectors and clusters.
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
        reads_letters = template in TEMPLATES and TEMPLATES.part(template).about.get("letters")
        without = end.union(unwritten) if reads_letters else end
        parts.append(filled[~filled["word"].isin(without)].assign(template=template))
    table = _left(pd.concat(parts, ignore_index=True), params.without)
    table["feature"] = table["feature"].astype("category")
    return table.sort_values(["word", "feature"], kind="stable", ignore_index=True)


def features_of(
    word: str, chain: Lexicon, params: FeaturiseParams | None = None
) -> dict[str, float]:
    """Return φ of one word by a chain of lexicons and some templates, as for a rare word.

    Its lemmas count as frequent, so that they have features. Templates that need more than the word
    and its analyses give none.
    """
    types = pd.DataFrame({"form": [word], "count": [FREQUENT]})
    params = params or FeaturiseParams()
    needy = re.compile(f"frequency|hashed|{OF_MEANING.pattern}")
    alone = tuple(name for name in params.templates if not needy.fullmatch(name))
    filled = fill(replace(params, templates=alone, forms=0), types, chain.lookup([word]))
    return dict(zip(filled["feature"], filled["value"], strict=True))


def _left(table: pd.DataFrame, without: Sequence[str]) -> pd.DataFrame:
    """Return the rows without the single features, such as `PronType=Art`, that are left out."""
    left_out = {name.lower() for name in without if "=" in name}
    if not left_out:
        return table
    distinct = pd.Series(table["feature"].unique())
    held = distinct.str.lower().str.split("×").map(left_out.intersection)
    for name in sorted(left_out.difference(*held)):
        raise AccordError(f"featurise.without: no word has '{name}'{nearest(name, distinct)}")
    return table[~table["feature"].isin(distinct[held.map(bool)])]


def known_names(analyses: pd.DataFrame) -> list[str]:
    """Return the names of the features that these analyses have, or others may have."""
    return sorted({*FEATURES, *feature_names(analyses["feats"].astype("category").cat.categories)})


def _of_analyses(template: str, names, params, types, analyses: pd.DataFrame) -> pd.DataFrame:
    feature, *others = (_field(n, names, params, types, analyses) for n in template.split("×"))
    for other in others:
        feature = feature.str.cat(other, sep="×")  # null where one of them is
    table = rows(analyses["word"], feature, analyses["weight"].astype(float)).dropna()
    keys = ["word", "feature"]
    table = table.groupby(keys, sort=False, observed=True)["value"].sum().reset_index()
    if params.values == "weighted":
        total = analyses.groupby("word")["weight"].sum()
        table["value"] /= table["word"].map(total)
    table["value"] = (table["value"].clip(upper=1.0) * params.steps).round() / params.steps
    return table[table["value"] > 0]


def _field(
    name: str, names: Sequence[str], params, types: pd.DataFrame, analyses: pd.DataFrame
) -> pd.Series:
    """Return the feature of each analysis by this template, null where it has none."""
    if name in ("pos", "source"):
        return f"{name}=" + analyses[COLUMNS.get(name, name)].astype(str)
    if name == "lemma":
        return _lemma(params, types, analyses)
    first, *others = (spelling for spelling in names if spelling.lower() == name)
    feature = f"{first}=" + values_of(analyses["feats"], first)
    for other in others:
        feature = feature.fillna(f"{other}=" + values_of(analyses["feats"], other))
    return feature


def values_of(feats: pd.Series, name: str) -> pd.Series:
    """Return the value of a feature in each of these strings, null where it has none."""
    distinct = feats.astype("category")
    pattern = rf"(?:^|\|){re.escape(name)}=([^|]+)"
    value = distinct.cat.categories.to_series().str.extract(pattern)[0]
    return pd.Series(value.to_numpy()[distinct.cat.codes], index=feats.index)


def _lemma(params, types: pd.DataFrame, analyses: pd.DataFrame) -> pd.Series:
    """Return a feature for each of the most frequent lemmas, by the counts of their forms.

    The guesser has no lemmas.
    """
    lemma = analyses["lemma"].astype("category")
    counts = types["count"].reindex(analyses["word"]).to_numpy() * analyses["weight"].to_numpy()
    counts = counts * (lemma != "").to_numpy()
    by_lemma = pd.Series(counts).groupby(lemma.cat.codes.to_numpy()).sum()
    top = by_lemma[by_lemma >= OFTEN].nlargest(params.lemmas).index
    return ("lemma=" + lemma.astype(str)).where(lemma.cat.codes.isin(top))


SHAPE = ((r"\d+", "0"), (r"[A-ZÀ-ÖØ-ÞŒ]+", "X"), (r"[^\W\dX_]+", "x"))


@TEMPLATES.register("form")
def form(params, types: pd.DataFrame) -> pd.DataFrame:
    """Give each of the M most frequent words a feature of its own, the others @notTop.

    A word that training reads as unknown has none.
    """
    seen = (types["count"] > (1 if params.forms is None else 0)) & ~read_as_unknown(types)
    top = seen & (np.arange(len(types)) < (len(types) if params.forms is None else params.forms))
    return rows(types.index, ("form=" + types["form"]).where(top, NOT_TOP))


@TEMPLATES.register("hashed", letters=True)
def hashed(params, types: pd.DataFrame) -> pd.DataFrame:
    """Give a word one of M features by its hash, M being `forms`: words share them by chance.

    Feature hashing (Weinberger et al. 2009; Goldberg 2017, §13.2): every word, seen or not, has an
    identity feature, and no table of words is needed.
    """
    if not params.forms:
        raise AccordError("featurise.templates: hashed expects forms, the number of its features")
    buckets = string_hashes(types["form"].tolist()) % np.uint64(params.forms)
    return rows(types.index, "hash=" + pd.Series(buckets, index=types.index).astype(str))


@TEMPLATES.register("suffix", letters=True)
def suffix(params, types: pd.DataFrame) -> pd.DataFrame:
    """Give the last three letters."""
    return rows(types.index, "suffix=" + types["form"].str[-3:])


@TEMPLATES.register("shape", letters=True)
def shape(params, types: pd.DataFrame) -> pd.DataFrame:
    """Write capitals as X, other letters as x, digits as 0, runs shortened: `XIVe` as Xx."""
    shape = types["form"]
    for pattern, sign in SHAPE:
        shape = shape.str.replace(pattern, sign, regex=True)
    return rows(types.index, "shape=" + shape)


@TEMPLATES.register("number-class", letters=True)
def number_class(params, types: pd.DataFrame) -> pd.DataFrame:
    """Give the paper's example: small numbers, year-like numbers, and the size of any number."""
    value = _numerals(types)
    small, year = value[value <= SMALL], value[(value >= 1000) & (value <= 2100)]
    size = rows(value.index, "number=log10", np.log10(1 + value.to_numpy()).round())
    return pd.concat([rows(small.index, "number=small"), rows(year.index, "number=year"), size])


def _numerals(types: pd.DataFrame) -> pd.Series:
    """Return the value of each word of digits; `int` reads those of every script, as does `\\d`."""
    return types["form"][types["form"].str.fullmatch(r"\d{1,15}")].map(int).astype(np.int64)


@TEMPLATES.register("number-falling", letters=True)
def number_falling(params, types: pd.DataFrame) -> pd.DataFrame:
    """Give a small number n, up to 31, a feature that falls as in the paper: 1/(1 + n)."""
    value = _numerals(types)
    small = value[value <= SMALL]
    return rows(small.index, "number=falling", 1 / (1 + small.to_numpy()))


@TEMPLATES.register("frequency")
def frequency(params, types: pd.DataFrame) -> pd.DataFrame:
    """Give the frequency of the word in French: half powers of ten per million, or unknown."""
    if "frequency" not in types:
        raise AccordError(
            "featurise.templates: frequency needs a lexicon that has frequencies, "
            "such as analyse.frequency: lexique"
        )
    with np.errstate(divide="ignore"):
        level = np.floor(2 * np.log10(types["frequency"].to_numpy()))
    known = np.isfinite(level)
    names = np.where(known, np.where(known, level, 0).astype(int).astype(str), "unknown")
    return rows(types.index, "frequency=" + pd.Series(names, index=types.index))


COLUMNS = {"lemma": "lemma", "pos": "upos"}
LIKELY = 0.5  # of the weight of the likeliest analysis; less likely ones do not count


def factors_of(analyses: pd.DataFrame, words: int, names: Sequence[str]) -> dict[str, np.ndarray]:
    """Return a number for each factor of each word; 0 is END alone.

    An ambiguous word has one number for all its values: `noun or verb` is a part of speech of its
    own.
    """
    weight = analyses["weight"]
    likeliest = weight.groupby(analyses["word"]).transform("max")
    likely = analyses[weight >= LIKELY * likeliest]
    factors = {}
    for name in names:
        table = pd.DataFrame({"word": likely["word"], "value": _values(likely, name)})
        of_word = table.drop_duplicates().sort_values(["word", "value"]).groupby("word")["value"]
        together = of_word.agg("|".join).reindex(range(words), fill_value="")
        factors[name] = 1 + pd.factorize(together)[0]
        factors[name][END_ID] = 0
    return factors


def _values(analyses: pd.DataFrame, name: str) -> pd.Series:
    if name in COLUMNS:
        return analyses[COLUMNS[name]].astype(str)
    spelling = {known.lower(): known for known in known_names(analyses)}
    if name not in spelling:
        raise AccordError(
            f"background.history: factored: expected factors among "
            f"{', '.join([*COLUMNS, *spelling])}; found '{name}'"
        )
    return values_of(analyses["feats"], spelling[name]).fillna("")
