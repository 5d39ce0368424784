"""Templates: how they are written, what each puts into φ, which does not betray unseen words."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from accord import lexicon
from accord.corpora import sources
from accord.corpora.text import words as words_of
from accord.lexicon.analysis import FEATURES
from accord.lexicon.vectors import string_hashes
from accord.pipeline.base.names import END, UNKNOWN
from accord.pipeline.config.sections import FeaturiseParams, VectorParams
from accord.pipeline.data import word_vectors
from accord.pipeline.data.catalogue import folder_of
from accord.pipeline.data.templates import TEMPLATES, check, chosen, factors_of, fill, sides

FORMS = [END, UNKNOWN, "le", "portes", "1999", "XIVe", "zorglubons"]
COUNTS = [9, 1, 5, 2, 1, 0, 0]


@pytest.fixture(scope="module")
def types() -> pd.DataFrame:
    return pd.DataFrame({"form": FORMS, "count": COUNTS, "frequency": [0, 0, 9e3, 2.5, 0, 0, 0]})


@pytest.fixture(scope="module")
def analyses() -> pd.DataFrame:
    """Two readings of `portes`, one of `le`, and a guess in shares."""
    rows = [
        (2, "le", "DET", "Gender=Masc|Number=Sing", 1.0, "closed"),
        (3, "porte", "NOUN", "Gender=Fem|Number=Plur", 1.0, "dela"),
        (3, "porter", "VERB", "Number=Sing|Person=2|VerbForm=Fin", 1.0, "dela"),
        (6, "", "VERB", "Number=Plur|Person=1|VerbForm=Fin", 0.7, "guesser"),
        (6, "", "NOUN", "Gender=Masc|Number=Plur", 0.3, "guesser"),
    ]
    return pd.DataFrame(rows, columns=["word", "lemma", "upos", "feats", "weight", "source"])


def phi(types, analyses, *templates: str, **params) -> dict[str, dict[str, float]]:
    filled = fill(replace(FeaturiseParams(), templates=templates, **params), types, analyses)
    return {
        form: dict(zip(rows["feature"], rows["value"], strict=True))
        for form, rows in filled.groupby(filled["word"].map(dict(enumerate(FORMS))))
    }


def test_an_ambiguous_word_carries_the_union_of_its_analyses(types, analyses):
    assert phi(types, analyses, "pos", "number", "gender")["portes"] == {
        "pos=NOUN": 1,
        "pos=VERB": 1,
        "Number=Plur": 1,
        "Number=Sing": 1,
        "Gender=Fem": 1,
    }


def test_a_hashed_identity_is_one_of_so_many_for_seen_and_unseen_words_alike(types, analyses):
    found = phi(types, analyses, "hashed", forms=5)
    for form in FORMS[2:]:
        assert found[form] == {f"hash={int(string_hashes([form])[0]) % 5}": 1}
    assert UNKNOWN not in found, "a class of unknown words has no letters to hash"
    with pytest.raises(ValueError, match="hashed expects forms"):
        phi(types, analyses, "hashed", forms=0)


def test_weighted_values_are_shares(types, analyses):
    found = phi(types, analyses, "pos", "gender", values="weighted")["portes"]
    assert found == {"pos=NOUN": 0.5, "pos=VERB": 0.5, "Gender=Fem": 0.5}


def test_a_guess_is_real_valued_in_steps(types, analyses):
    found = phi(types, analyses, "pos", "number", steps=4)["zorglubons"]
    assert found == {"pos=VERB": 0.75, "pos=NOUN": 0.25, "Number=Plur": 1}


def test_crossed_templates_join_the_fields_of_one_analysis(types, analyses):
    found = phi(types, analyses, "pos×gender×number")
    assert found["portes"] == {"pos=NOUN×Gender=Fem×Number=Plur": 1}
    assert found["le"] == {"pos=DET×Gender=Masc×Number=Sing": 1}


def test_the_most_frequent_forms_and_lemmas_have_their_own_features(types, analyses):
    found = phi(types, analyses, "form", "lemma", forms=3, lemmas=1)
    assert found["le"] == {"form=le": 1, "lemma=le": 1}
    assert found["portes"] == {"@notTop": 1}
    assert phi(types, analyses, "form", forms=None)["portes"] == {"form=portes": 1}
    assert phi(types, analyses, "form", forms=None)["1999"] == {"@notTop": 1}, "seen only once"


def test_the_default_has_the_lemmas_that_training_has_twice(types, analyses):
    def lemmas(counts) -> set[str]:
        found = phi(types.assign(count=counts), analyses, *FeaturiseParams().templates)
        return {name for each in found.values() for name in each if name.startswith("lemma=")}

    assert lemmas(COUNTS) == {"lemma=le", "lemma=porte", "lemma=porter"}
    assert lemmas([9, 1, 5, 1, 1, 0, 4]) == {"lemma=le"}, "porte once; a guess has no lemma"


def test_templates_of_the_letters(types, analyses):
    found = phi(types, analyses, "suffix", "shape", "number-class")
    assert found["portes"] == {"suffix=tes": 1, "shape=x": 1}
    assert found["XIVe"] == {"suffix=IVe": 1, "shape=Xx": 1}
    year = {"suffix=999": 1, "shape=0": 1, "number=year": 1, "number=log10": 3}
    assert found["1999"] == year


def test_numbers_of_every_script_are_numbers(analyses):
    types = pd.DataFrame({"form": [END, "٣", "１２", "१९९९", "²", "a"], "count": 1})
    filled = fill(replace(FeaturiseParams(), templates=("number-class",)), types, analyses[:0])
    of_form = {word: set(rows["feature"]) for word, rows in filled.groupby("word")}
    small, year = {"number=small", "number=log10"}, {"number=year", "number=log10"}
    assert of_form == {0: {f"form={END}"}, 1: small, 2: small, 3: year}


def test_the_feature_of_small_numbers_falls(analyses):
    types = pd.DataFrame({"form": [END, "0", "1", "31", "32", "1999", "a"], "count": 1})
    filled = fill(replace(FeaturiseParams(), templates=("number-falling",)), types, analyses[:0])
    falling = filled[filled["feature"] == "number=falling"].set_index("word")["value"]
    assert falling.to_dict() == {1: 1, 2: 1 / 2, 3: 1 / 32}  # 1/(1 + n)


def test_frequency_goes_by_half_powers_of_ten_and_source_names_the_lexicon(types, analyses):
    found = phi(types, analyses, "frequency", "source")
    assert found["le"] == {"frequency=7": 1, "source=closed": 1}
    assert found["portes"] == {"frequency=0": 1, "source=dela": 1}
    assert found["zorglubons"] == {"frequency=unknown": 1, "source=guesser": 1}


def test_the_end_has_only_itself_and_an_unknown_word_no_letters(types, analyses):
    guess = analyses[analyses["word"] == 6].assign(word=1)
    uncounted = types.assign(count=types["count"].where(types["form"] != UNKNOWN, 0))
    found = phi(uncounted, pd.concat([analyses, guess]), *TEMPLATES, "pos", *FEATURES)
    assert found[END] == {f"form={END}": 1}
    of_class = {"pos=VERB": 0.75, "pos=NOUN": 0.25, "Number=Plur": 1, "Person=1": 0.75}
    of_class |= {"VerbForm=Fin": 0.75, "Gender=Masc": 0.25}
    assert found[UNKNOWN] == {"@notTop": 1, "frequency=unknown": 1, **of_class}


def test_what_is_left_out_takes_the_crossed_templates_that_hold_it_along(types, analyses):
    kept = phi(types, analyses, "pos", "gender", "pos×gender", without=("gender",))
    assert kept == phi(types, analyses, "pos")
    with pytest.raises(ValueError, match=r"no template has 'gendre'; there are gender, pos"):
        phi(types, analyses, "pos", "pos×gender", without=("gendre",))


@pytest.fixture(scope="module")
def rare_and_unseen(fetched) -> list[tuple[pd.DataFrame, pd.DataFrame]]:
    """The words seen once in training and those held out of it, each with their analyses."""
    for source in ("ud-french-1.4", "lefff"):
        fetched(source)
    counts = {"train": Counter(), "test": Counter(), "dev": Counter()}
    written = {}
    for sentence in sources.read("ud-french-1.4", folder=folder_of):
        words = words_of(sentence.rows, "surface")
        counts[sentence.split].update(word.lower() for word in words)
        if sentence.split == "train":
            written |= {word.lower(): word for word in words}
    once = [word for word, count in counts["train"].items() if count == 1]
    unseen = [word for word in counts["test"] | counts["dev"] if word not in counts["train"]]
    chain = lexicon.load(["closed", "lefff", "guesser"], folder=folder_of, lowercase=True)
    return [
        (
            pd.DataFrame({"form": words, "count": 0, "written": pd.Series(words).map(written)}),
            chain.lookup(words),
        )
        for words in (once, unseen)
    ]


def apart(tables: list[pd.DataFrame], sizes: list[int]) -> pd.Series:
    """How far the mean values of features are apart."""
    shares = [
        table.groupby("feature", observed=True)["value"].sum() / size
        for table, size in zip(tables, sizes, strict=True)
    ]
    return shares[0].sub(shares[1], fill_value=0).abs()


def test_phi_does_not_betray_whether_a_word_was_seen(rare_and_unseen):
    """Words held out of training look like rare words of training, feature by feature."""
    filled = [fill(FeaturiseParams(), *each) for each in rare_and_unseen]
    found = apart(filled, [len(types) for types, _ in rare_and_unseen])
    assert np.max(found) < 0.06, found.nlargest(5)


def test_vectors_do_not_betray_it_either(rare_and_unseen, fetched):
    """Also what words mean, though training shows how it writes its own words alone."""
    fetched("spacy-vectors")
    (once, of_once), (unseen, of_unseen) = rare_and_unseen
    types = pd.concat([once, unseen], ignore_index=True)
    analyses = pd.concat([of_once, of_unseen.assign(word=of_unseen["word"] + len(once))])
    params = FeaturiseParams(vectors=VectorParams(dimensions=64))
    rows, dense = word_vectors.rows(params, ["class-100"], types, analyses)
    filled = pd.concat(rows.values())
    parts = [filled[filled["word"] < len(once)], filled[filled["word"] >= len(once)]]
    found = apart(parts, [len(once), len(unseen)])
    assert np.max(found) < 0.06, found.nlargest(5)
    vectors = dense.vectors[dense.row]
    means = [part.mean(axis=0) for part in (vectors[: len(once)], vectors[len(once) :])]
    assert np.abs(means[0] - means[1]).max() < 0.25, "of a standard deviation of 1"


ANALYSES = pd.DataFrame(
    [
        (0, "", "X", "", 1.0),
        (1, "chat", "NOUN", "Gender=Masc|Number=Sing", 1.0),
        (2, "chat", "NOUN", "Gender=Masc|Number=Plur", 1.0),
        (3, "porte", "NOUN", "Gender=Fem|Number=Sing", 1.0),
        (3, "porter", "VERB", "Number=Sing|Person=3", 1.0),
        (4, "porter", "VERB", "Number=Plur|Person=3", 0.6),
        (4, "porte", "NOUN", "Gender=Fem|Number=Sing", 0.1),
        (5, "marche", "NOUN", "Gender=Fem|Number=Sing", 1.0),
        (5, "marcher", "VERB", "Number=Sing|Person=3", 1.0),
    ],
    columns=["word", "lemma", "upos", "feats", "weight"],
)


def test_words_have_a_factor_in_common_where_the_same_is_said_of_them():
    found = factors_of(ANALYSES, 7, ["lemma", "pos", "gender"])
    lemma, pos, gender = (found[name].tolist() for name in ("lemma", "pos", "gender"))
    assert lemma[1] == lemma[2] and len({*lemma[2:6]}) == 4
    assert pos[1] == pos[2] and pos[3] == pos[5], "a noun or verb is a kind of its own"
    assert len({pos[1], pos[3], pos[4]}) == 3, "what is unlikely does not count"
    assert gender[1] == gender[2] != gender[3] == gender[5]
    for factor in (lemma, pos, gender):
        assert factor[0] == 0 and 0 not in factor[1:], "the end is like nothing else"


@pytest.mark.parametrize(
    "written",
    ["Gender×Number", "gender*number", "genderxnumber", "GENDERxNumber", "gender × number"],
)
def test_a_crossed_template_is_written_in_any_way(written):
    assert chosen(FeaturiseParams(templates=(written,)), FEATURES) == ["gender×number"]


def test_an_x_within_a_name_parts_nothing():
    names = [*FEATURES, "Register", "Taxon"]
    written = ("reflexxtaxon", "taxon", "registerxtaxonxreflex", "suffix")
    parsed = ["reflex×taxon", "taxon", "register×taxon×reflex", "suffix"]
    assert chosen(FeaturiseParams(templates=written), names) == parsed


@pytest.mark.parametrize(
    ("template", "fault"),
    [
        ("gendre", "unknown template 'gendre'; the nearest is 'gender'"),
        ("class-0", "unknown template 'class-0'; the nearest is 'class-100'"),
        ("pos×suffix", "found 'suffix', which stands alone"),
    ],
)
def test_what_is_no_template_is_refused_with_the_nearest(template, fault):
    with pytest.raises(ValueError, match=r"^featurise\.templates: ") as error:
        chosen(FeaturiseParams(templates=("form", template)), FEATURES)
    assert fault in str(error.value)


def test_where_the_lexicon_may_have_any_feature_any_name_is_taken():
    params = FeaturiseParams(templates=("Register", "posxgender", "pos×aloi"))
    assert chosen(params, None) == ["register", "pos×gender", "pos×aloi"]


@pytest.mark.parametrize(
    ("params", "key"),
    [
        ({"templates": (), "vectors": VectorParams(dimensions=0)}, "templates"),
        ({"read": ()}, "read"),
    ],
)
def test_words_without_any_feature_cannot_be_told_apart(params, key):
    with pytest.raises(ValueError, match=rf"^featurise\.{key}: expected .*, got none$"):
        check(FeaturiseParams(**params), FEATURES)
    check(FeaturiseParams(templates=(), vectors=VectorParams(dimensions=2)), FEATURES)


@pytest.mark.parametrize(("key", "number"), [("read", 0), ("predict", 1)])
def test_what_is_read_or_predicted_is_some_of_the_templates(key, number):
    params = {"templates": ("form", "pos*gender"), "vectors": VectorParams()}
    every = {"form", "pos×gender", "vectors"}
    assert sides(FeaturiseParams(**params), FEATURES) == (every, every)
    some = sides(FeaturiseParams(**params, **{key: ("posxgender",)}), FEATURES)
    assert some[number] == {"pos×gender"}
    assert some[1 - number] == every
    for wrong in ("number", "vectors"):
        with pytest.raises(ValueError, match=rf"featurise\.{key}: no '{wrong}' among"):
            sides(FeaturiseParams(templates=("form",), **{key: (wrong,)}), FEATURES)
