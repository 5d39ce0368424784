"""The open vocabulary on real parts: any text is scored, and nothing tells seen from unseen."""

import json

import numpy as np
import pandas as pd
import pytest
from cli_cases import invoked
from hypothesis import given, settings
from hypothesis import strategies as st

import accord
from accord import lexicon
from accord.corpora.tokenise import normalise
from accord.models.phi import Features
from accord.models.spelling import load_spelling
from accord.pipeline.base.arrow import open_table
from accord.pipeline.base.names import END, UNKNOWN, UNKNOWN_ID
from accord.pipeline.data.catalogue import folder_of
from accord.pipeline.data.encoded import read_held_out
from accord.pipeline.model.endings import SMALLEST, UnknownClasses
from accord.pipeline.model.metrics import measure

STRANGE = "La xylophoniste zorglube 1987 fois à Tchernihiv, dit Łukasz ☺."
TEXT = ["La petite fille mange une pomme.", STRANGE]
CLOSED = lexicon.load(["closed"], folder=folder_of)


@pytest.fixture(scope="module", params=["rnn", "ll-rnn"])
def scorer(tiny_run, request):
    return accord.load(tiny_run.folder, request.param)


@settings(max_examples=40)
@given(text=st.text(max_size=1000).filter(normalise))
def test_any_string_of_unicode_has_a_finite_log_probability(scorer, text):
    words = scorer.score(text)
    assert words[-1].form == END
    assert all(np.isfinite(word.log_p) and word.log_p < 0 for word in words)


def test_the_names_of_special_words_are_spelled_when_they_are_typed(scorer):
    ids = scorer.vocabulary.ids([END, UNKNOWN, f"{UNKNOWN} NOUN"])
    assert {*ids} <= {*range(UNKNOWN_ID, UNKNOWN_ID + scorer.spelling.classes)}


def test_the_stage_and_the_scorer_agree(tiny_run, scorer):
    """What `evaluate` says of the test's sentences is what they score when they are typed."""
    check_agreement(scorer)


def check_agreement(scorer) -> list:
    table = open_table(scorer.trained.folders["tokenise"] / "test.arrow")
    words = table["words"].to_pandas().head(5)
    split = read_held_out(scorer.trained.folders["encode"], "test")
    _, scored = measure(scorer.model, scorer.spelling, split)
    typed = [word for text in words for word in scorer.score(" ".join(text))]
    expected = pytest.approx(scored.log_p[: len(typed)], abs=1e-4)
    assert [word.log_p for word in typed] == expected
    return typed


def test_unknown_words_have_the_mass_that_words_seen_once_leave(tmp_path):
    changes = {"analyse.lexicon": "[closed]"}
    run = accord.run("tiny", set=changes, until="encode", runs=tmp_path)
    made = {s: run.artefacts["ll-rnn", s].folder for s in ("analyse", "background", "encode")}
    types = pd.read_parquet(made["analyse"] / "types.parquet")
    mass = np.load(made["background"] / "b.npy")
    once = (types["count"] == 1) & (types["unknown"] > 0)
    assert once.any()
    ids = np.load(made["encode"] / "train.ids.npy")
    assert not np.isin(ids, types.index[once]).any(), "training reads them as unknown"
    classes = load_spelling(made["background"]).classes
    unknown = slice(UNKNOWN_ID, UNKNOWN_ID + classes)
    assert np.isin(ids, range(*unknown.indices(len(mass)))).sum() == once.sum()
    assert mass[unknown].sum() > mass[once].sum() > 0


@pytest.fixture(scope="module")
def guesses():
    chain = lexicon.load(["closed", "tiny", "guesser"], folder=folder_of, lowercase=True)
    stems = ["zorgl", "brax", "plinqu", "gromp", "fliv", "drast", "scob", "prux", "vlim", "tron"]
    once = [stem + ending for stem in stems for ending in ("ation", "ations", "er", "ait", "é")]
    once += [str(number) for number in range(1900, 1912)]
    return once, UnknownClasses.learn(once, chain)


def test_a_string_is_of_the_class_that_the_guesser_says_and_is_spelled_from_it(guesses):
    _, classes = guesses
    assert classes.names[0] == UNKNOWN and len(classes.names) > 3
    for form in ("quombation", "mirvait", "1915"):
        best = max(classes.chain.analyses(form), key=lambda analysis: analysis.weight)
        name = f"{UNKNOWN} {best.upos} {best.feats}".strip()
        assert classes.names[classes.ids([form])[0] - UNKNOWN_ID] == name
    rare = classes.chain.analyses("☺")[0].upos
    assert not any(f" {rare}" in name for name in classes.names)
    assert classes.ids(["☺"]) == [UNKNOWN_ID], "what has no class of its own is in the first"


def test_a_class_has_the_analyses_of_its_words_by_their_mean_share(guesses):
    once, classes = guesses
    found = classes.analyses(once)
    of_word = np.array(classes.ids(once))
    keys = ["upos", "feats", "source"]
    assert set(found["word"]) >= set(range(UNKNOWN_ID + 1, UNKNOWN_ID + len(classes.names)))
    for unknown, of_class in found[found["word"] > UNKNOWN_ID].groupby("word"):
        words = [word for word, number in zip(once, of_word, strict=True) if number == unknown]
        rows = classes.chain.lookup(words)
        mean = rows.groupby(keys, observed=True)["weight"].sum() / len(words)
        expected = mean[mean >= SMALLEST]
        assert of_class.set_index(keys)["weight"].to_dict() == pytest.approx(expected.to_dict())


def command(*words, text=None):
    return invoked("score", *words, input=text)


def test_the_command_reads_standard_input_and_prints_json_lines(tiny_run):
    expected = accord.load(tiny_run.folder, "rnn").score_all(TEXT)
    options = ["-", "--run", tiny_run.folder, "--model", "rnn", "--json"]
    done = command(*options, text="\n".join(TEXT))
    assert done.exit_code == 0, done.output
    sentences, total = map(json.loads, done.stdout.splitlines()), json.loads(done.stderr)
    for found, words in zip(sentences, expected, strict=True):
        assert found["log_p"] == pytest.approx(sum(word.log_p for word in words), abs=1e-3)
        assert [w["form"] for w in found["words"]] == [word.form for word in words]
    words = sum(map(len, expected))
    assert np.log(total["perplexity"]) == pytest.approx(-total["log_p"] / words)
    assert total["words"] == words - 2


@pytest.fixture(scope="module")
def half_known(tmp_path_factory, slow):
    """A run with every other word of the tiny lexicon, so that there are classes of unknown ones,
    and with a network that spells them."""
    folder = tmp_path_factory.mktemp("half")
    forms = sorted(lexicon.load(["tiny"], folder=folder_of))[::2]
    rows = lexicon.load(["tiny"], folder=folder_of).lookup(forms)
    rows.insert(0, "form", np.array(forms, dtype=object)[rows["word"]])
    columns = ["form", "lemma", "upos", "feats"]
    rows[columns].to_csv(folder / "half.tsv", sep="\t", index=False)
    changes = {"analyse.lexicon": f"[closed, {folder / 'half.tsv'}, guesser]"}
    changes |= {"background.spelling": "neural", "train.epochs": 1}
    return accord.run("tiny", set=changes, until="evaluate", runs=folder / "runs")


def test_where_there_are_classes_the_stage_and_the_scorer_agree_too(half_known):
    scorer = accord.load(half_known.folder, "ll-rnn")
    assert scorer.spelling.classes > 2
    assert any(word.spelled for word in check_agreement(scorer))


def test_words_of_one_class_have_one_signature_whether_training_has_them_or_not(half_known):
    made = {s: half_known.artefacts["ll-rnn", s].folder for s in ("analyse", "featurise")}
    types = pd.read_parquet(made["analyse"] / "types.parquet")
    signature = Features.load(made["featurise"] / "phi.npz").signature
    by_rule = types["form"].map(lambda form: bool(CLOSED.analyses(form)))
    for unknown, of_class in types[(types["unknown"] > 0) & ~by_rule].groupby("unknown"):
        rare = of_class.index[of_class["count"] <= 1]
        assert len(rare) > 1 and set(signature[rare]) == {signature[unknown]}
