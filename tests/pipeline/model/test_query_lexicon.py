"""A lexicon at query time: new words and new analyses are exact, and all words still sum to one."""

import numpy as np
import pytest

import accord
from accord.pipeline.ask.explain import Explainer
from accord.pipeline.ask.scorer import Reader
from accord.pipeline.model.words import FrontCoded

TABLE = """form\tlemma\tupos\tfeats\tfrequency
zorglubes\tzorglube\tNOUN\tGender=Fem|Number=Plur\t40
aaa\taaa\tADV\t_\t
zorglube\tzorglube\tNOUN\tGender=Fem|Number=Sing\t
zorglube\tzorgluber\tVERB\tMood=Ind|Number=Sing|Person=3|Tense=Pres|VerbForm=Fin\t
chats\tchat\tNOUN\tGender=Fem|Number=Plur\t
pomme\tpomme\tNOUN\tGender=Fem|Number=Sing\t9
"""
TEXT = "Les chats mangent une pomme. Les zorglubes dorment."


@pytest.fixture(scope="module")
def models(tiny_run, tmp_path_factory):
    table = tmp_path_factory.mktemp("lexicon") / "mine.tsv"
    table.write_text(TABLE, encoding="utf-8")
    compact = accord.export(tiny_run.folder, "ll-rnn", table.parent / "compact", compact=True)
    return {
        "run": (
            accord.load(tiny_run.folder, "ll-rnn"),
            accord.load(tiny_run.folder, "ll-rnn", table),
        ),
        "compact": (accord.load(compact), accord.load(compact, lexicon=table)),
    }


@pytest.mark.parametrize("kind", ["run", "compact"])
def test_all_words_still_sum_to_one_and_old_ones_keep_their_ids(models, kind):
    old, new = models[kind]
    batch, _ = new.encoded([new.words(TEXT)])
    p = np.exp(new.model.log_distributions(batch).astype(float))
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-5)
    assert p.shape[1] == len(old.vocabulary.forms) + 3
    assert [*new.vocabulary.forms][: len(old.vocabulary.forms)] == [*old.vocabulary.forms]
    assert {*new.vocabulary.known} == {*old.vocabulary.known, "aaa", "zorglube", "zorglubes"}
    for word in new.vocabulary.known:
        if word not in TABLE:
            assert new.parts.readings.of_form(word) == old.parts.readings.of_form(word)
            assert new.parts.features.row(new.id_of(word)) == old.parts.features.row(
                old.id_of(word)
            )


@pytest.mark.parametrize("kind", ["run", "compact"])
def test_a_word_is_as_likely_as_its_features_and_mass_make_it(models, kind):
    """p'(x | K) = b'(x)·e^(a·φ'(x))/Z', for all words x, by the weights of the old model."""
    old, new = models[kind]
    words = new.words("Les")
    h, context = Explainer(old)._read(words)[1]
    weights = old.model.adaptor(h)[0]
    names, phi = new.parts.feature_names, new.parts.features
    assert names == old.parts.feature_names
    scores = np.log(new.parts.mass()) + [
        sum(weights[feature] * value for feature, value in phi.row(word).items())
        for word in range(len(new.vocabulary.forms))
    ]
    expected = scores - np.logaddexp.reduce(scores)
    found = new.model.log_prob(Explainer(new)._read(words)[1][0], context)[0]
    np.testing.assert_allclose(found, expected, atol=1e-4)
    row = {names[feature] for feature in phi.row(new.id_of("zorglubes"))}
    assert {"Gender=Fem", "Number=Plur", "pos=NOUN"} <= row and "Gender=Masc" not in row
    gender = {names[feature] for feature in phi.row(new.id_of("chats"))}
    assert "Gender=Fem" in gender and "Gender=Masc" not in gender
    mass = new.parts.mass()
    assert mass[new.id_of("zorglubes")] == pytest.approx(40e-6 * (1 - old.parts.mass()[0]))


def test_readings_lemmas_and_parts_are_those_of_the_table(models):
    _, new = models["compact"]
    readings = new.parts.readings
    assert readings.forms_of("zorglube") == ["zorglube", "zorglubes"]
    assert [reading.lemma for reading in readings.of_form("zorglube")] == ["zorglube", "zorgluber"]
    assert "chats" in readings.forms_of("chat")
    table = readings.table(["word", "lemma", "feats"])
    of_word = table[table["word"] == new.id_of("chats")]
    assert of_word["feats"].tolist() == ["Gender=Fem|Number=Plur"]
    read = Reader(new, [], split=True).read_text(TEXT)
    np.testing.assert_allclose(read.parts.sum(axis=1), read.nats, atol=1e-6)
    assert not read.spelled[read.form.index("zorglubes")]


def test_a_table_may_only_correct_words(models, tmp_path):
    old, _ = models["compact"]
    table = tmp_path / "mine.csv"
    table.write_text("form,lemma,upos,feats\nchats,chat,NOUN,Gender=Fem|Number=Plur\n", "utf-8")
    new = accord.load(old.trained.folder, lexicon=table)
    assert len(new.vocabulary.forms) == len(old.vocabulary.forms)
    assert new.parts.readings.of_form("chats")[0].feats == "Gender=Fem|Number=Plur"
    assert new.score("Les chats.")[1].log_p != old.score("Les chats.")[1].log_p


def test_forms_are_found_among_new_ones():
    old = sorted(f"{letter}{number}" for letter in "abé" for number in range(40))
    new = sorted(["", "a", "a05", "a11b", "zz", "é3", "éé", "é390", "é391"][1:])
    coded, places = FrontCoded.encode(old).with_forms(new)
    assert [*coded] == sorted([*old, *new], key=str.encode)
    assert all(coded[coded.find(form)] == form for form in [*old, *new])
    assert places.tolist() == [sum(form.encode() < n.encode() for form in old) for n in new]
    assert [coded.find(form) for form in ("", "a12b", "zzz")] == [-1, -1, -1]


def test_a_model_without_features_of_a_lexicon_is_named(tiny_run, tmp_path):
    table = tmp_path / "mine.tsv"
    table.write_text(TABLE, encoding="utf-8")
    with pytest.raises(ValueError, match=r"expected a (log-linear )?model with"):
        accord.load(tiny_run.folder, "rnn", table)
    with pytest.raises(ValueError, match=r"expected a table in \.tsv or \.csv, got lefff"):
        accord.load(lexicon="lefff")


def test_what_has_no_effect_is_said(tmp_path, capsys):
    table = tmp_path / "mine.tsv"
    table.write_text(
        "form\tlemma\tupos\tfeats\nzorglubine\tzorglubine\tNOUN\tGenre=Fem\nbla\tbla\tNOM\t_\n",
        encoding="utf-8",
    )
    accord.load(lexicon=table)
    said = capsys.readouterr().err
    assert "1 row left out: unknown upos 'NOM'" in said
    assert "the model knows no Genre=Fem: without effect" in said
