"""Exact probabilities of grammar: those of the enumerated vocabulary, which sum to one."""

from collections import defaultdict
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import accord
from accord import corpora
from accord.corpora.text import lines
from accord.pipeline.ask.reader import FeatureValues, Reader, expect, probabilities
from accord.pipeline.base.names import END

TINY = Path(corpora.__file__).parent / "tiny.txt"
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


def test_what_is_guessed_of_the_end_counts_for_nothing(scorers):
    scorer = scorers["rnn"]
    analyses = scorer.parts.analyses(["word", "upos", "feats", "weight"])
    guessed = analyses[analyses["upos"] == "NOUN"].head(1).assign(word=0)
    both = pd.concat([guessed, analyses])
    shares = FeatureValues(both.get, len(scorer.vocabulary.forms), ["pos=NOUN"]).shares
    assert 0 not in shares.word


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
