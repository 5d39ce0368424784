"""Names of templates: however they are written they mean the same, and no others are taken."""

import pytest

import accord
from accord.lexicon.analysis import FEATURES
from accord.pipeline.config.sections import FeaturiseParams, VectorParams
from accord.pipeline.data.templates import check, chosen, sides


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


def test_a_table_of_ones_own_may_have_features_of_its_own(tmp_path):
    table = tmp_path / "own.tsv"
    table.write_text("form\tlemma\tupos\tfeats\nchat\tchat\tNOUN\tRegister=Std|Sem=Anl\n")
    settings = {
        "analyse.lexicon": [str(table), "tiny"],
        "featurise.templates": ["form", "registerxsem"],
    }
    made = accord.run("tiny", set=settings, until="featurise", runs=tmp_path / "runs")
    names = made.artefacts["ll-rnn", "featurise"].folder / "names.json"
    assert "Register=Std×Sem=Anl" in names.read_text(encoding="utf-8")
    settings["featurise.templates"] = ["form", "registre"]
    with pytest.raises(ValueError, match="unknown template 'registre'; the nearest is 'register'"):
        accord.run("tiny", set=settings, until="featurise", runs=tmp_path / "runs")
