"""Exact probabilities of grammar: those of the enumerated vocabulary, which sum to one."""

import json
from collections import defaultdict
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cli_cases import invoked

import accord
from accord import corpora
from accord.corpora.text import lines
from accord.pipeline.ask.scorer import Reader, expect, probabilities
from accord.pipeline.ask.split import OF_PARTS, PARTS
from accord.pipeline.ask.surprisal import by_region, with_joined_punctuation
from accord.pipeline.base.names import END, END_ID, is_unknown

TINY = Path(corpora.__file__).parent / "tiny.txt"
SPLIT = ["score", "--split", "--json", "Il dort."]
FEATURES = ["Number", "Gender", "pos", "VerbForm"]
TEXT = "Les chiens du voisin zorglubent la petite pomme."


@pytest.fixture(scope="module")
def scorers(tiny_run, tmp_path_factory, slow):
    """Of a softmax over words, of signatures, of signatures with shares, and over n-grams."""
    changes = {"featurise.values": "weighted", "background.kind": "ngram", "train.epochs": 1}
    runs = tmp_path_factory.mktemp("ngrams")
    over_ngrams = accord.run("tiny", set=changes, models=["ll-rnn"], until="evaluate", runs=runs)
    return {
        "rnn": accord.load(tiny_run.folder, "rnn"),
        "ll-rnn": accord.load(tiny_run.folder, "ll-rnn"),
        "ngrams": accord.load(over_ngrams.folder, "ll-rnn"),
    }


def share_by_hand(scorer, feature: str) -> list[dict[str, float]]:
    """What each word of the vocabulary has of each value, analysis by analysis."""
    table = pd.read_parquet(scorer.trained.folders["analyse"] / "analyses.parquet")
    of_word = defaultdict(lambda: defaultdict(float))
    for row in table.itertuples():
        feats = dict(pair.split("=") for pair in row.feats.split("|") if pair)
        value = row.upos if feature == "pos" else feats.get(feature, "none")
        of_word[row.word][value] += row.weight
    found = []
    for word in range(len(scorer.vocabulary.forms)):
        weights = of_word.get(word, {"none": 1.0})
        found.append({value: w / sum(weights.values()) for value, w in weights.items()})
    return found


@pytest.mark.parametrize("model", ["rnn", "ll-rnn", "ngrams"])
def test_a_probability_is_the_sum_over_all_words_of_the_vocabulary(scorers, model):
    scorer = scorers[model]
    found = expect(TEXT, scorer, FEATURES)
    batch, _ = scorer.encoded([scorer.words(TEXT)])
    p = np.exp(scorer.model.log_distributions(batch))
    for feature in FEATURES:
        shares = share_by_hand(scorer, feature)
        for value in {value for share in shares for value in share}:
            by_hand = p @ np.array([share.get(value, 0.0) for share in shares])
            np.testing.assert_allclose(found[f"{feature}={value}"], by_hand, atol=1e-6)


@pytest.mark.parametrize("model", ["rnn", "ll-rnn", "ngrams"])
def test_values_sum_to_one_on_a_thousand_contexts(scorers, model):
    reader = Reader(scorers[model], FEATURES)
    text = [line.strip() for line in lines(TINY)][:150]
    tables = [probabilities(reader, words) for words in reader.read(text)]
    found = pd.concat(tables)
    assert len(found) >= 1000
    for feature in FEATURES:
        total = found[[name for name in found if name.startswith(f"{feature}=")]].sum(axis=1)
        np.testing.assert_allclose(total, 1.0, atol=1e-5)


def test_the_rows_are_the_words_as_written_and_what_follows(scorers):
    table = expect("Les  CHIENS du voisin …", scorers["ll-rnn"], ["Number=Plur"])
    assert table["before"].tolist() == ["Les", "CHIENS", "du", "voisin", "…"]
    assert table.columns.tolist() == ["before", "start", "end", "Number=Plur"]
    whole = expect("Les chiens.", {"a": scorers["ll-rnn"], "b": scorers["rnn"]}, ["pos"])
    assert whole["before"].tolist() == ["Les", "chiens", ".", END] * 2
    assert whole["model"].tolist() == ["a"] * 4 + ["b"] * 4
    assert expect("…", scorers["rnn"], ["pos"])["before"].tolist() == ["…"]


@pytest.mark.parametrize(
    ("features", "said"),
    [
        (["number"], "the nearest is 'Number'"),
        (["Number=Plural"], "unknown value 'Plural' of Number; the nearest is 'Plur'"),
    ],
)
def test_a_feature_that_nothing_has_is_named(scorers, features, said):
    with pytest.raises(ValueError, match=said):
        expect(TEXT, scorers["rnn"], features)


def analyses_by_hand(scorer, word: int) -> dict[tuple, float]:
    """The share of each (part of speech, features, lemma) of a word of the vocabulary."""
    readings = [] if word == END_ID else scorer.parts.readings.of_word(word)
    unknown = is_unknown(scorer.vocabulary.forms[word])
    shares = defaultdict(float)
    for reading in readings:
        lemma = "unknown" if unknown else reading.lemma or word
        shares[reading.upos, reading.feats, lemma] += reading.weight / sum(r[3] for r in readings)
    alone = "unknown" if unknown else word
    return shares or {("end" if word == END_ID else "none", "", alone): 1.0}


@pytest.mark.parametrize("model", ["rnn", "ll-rnn", "ngrams"])
def test_the_parts_of_a_surprisal_are_those_of_the_enumerated_vocabulary(scorers, model):
    scorer = scorers[model]
    words = scorer.words(TEXT)
    batch, _ = scorer.encoded([words])
    log_p = scorer.model.log_distributions(batch).astype(float)
    shares = [analyses_by_hand(scorer, w) for w in range(log_p.shape[1])]
    spell = np.exp(scorer.letters([*words, END]))
    first = 1  # of the unknown words
    found = Reader(scorer, split=True).read_text(TEXT)
    for place, word in enumerate(batch.ids.tolist()):
        sums = [defaultdict(float) for _ in range(3)]  # of c; c, m; c, m, l
        joint = defaultdict(float)
        for number, (p, of_word) in enumerate(zip(np.exp(log_p[place]), shares, strict=True)):
            spelled = spell[place, number - first] if 0 < number <= spell.shape[1] else 0.0
            for analysis, share in of_word.items():
                for length, table in enumerate(sums, start=1):
                    table[analysis[:length]] += p * share
                is_it = number == word and not is_unknown(scorer.vocabulary.forms[word])
                joint[analysis] += p * share * (is_it + spelled)
        total, expected = sum(joint.values()), np.zeros(len(PARTS))
        for analysis, p in joint.items():
            if p:
                chain = [1.0, *(sums[n][analysis[: n + 1]] for n in range(3)), p, total]
                expected += p / total * -np.diff(np.log(chain))
        np.testing.assert_allclose(found.parts[place], expected, atol=1e-5)
        np.testing.assert_allclose(found.nats[place], -np.log(total), atol=1e-5)
    assert (found.parts[:, :-1] > -1e-6).all() and (found.parts[:, -1] < 1e-6).all()


def test_the_parts_add_up_to_the_surprisal_of_words_and_regions():
    text = "La porte est schtroumpfée ; | iel n'y va qu'à 12 h 30, 東京… | Elle le la lui rend. "
    model = accord.load()
    words = model.surprisal([text + "z" * 300, "Il | va."], split=True, expect=["Number"])
    assert words["spelled"].any() and (words["bits_ambiguity"] < -0.9).any()
    for table in (words, by_region(words), with_joined_punctuation(words)):
        parts = table[[*OF_PARTS]].sum(axis=1)
        np.testing.assert_allclose(parts, table["surprisal"], atol=1e-5)
    alone = Reader(model, split=True).read_text(text)
    np.testing.assert_allclose(alone.parts.sum(axis=1), alone.nats, atol=1e-9)
    scored = json.loads(invoked(*SPLIT).stdout)
    for word in scored["words"]:
        assert sum(word["parts"].values()) == pytest.approx(-word["log_p"], abs=1e-6)
