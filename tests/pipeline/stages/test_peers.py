"""Models of words, of pieces and of letters: prepared, trained and measured on the same words."""

import numpy as np
import pytest
from run_cases import scores_of

import accord
from accord.models.data import Sentences
from accord.models.spelling import count_subwords, score_text
from accord.pipeline.base.names import UNKNOWN_ID
from accord.pipeline.cli.model import Total, Unit
from accord.pipeline.data.encoded import BOUNDARY, Speller, read_forms, read_sentences, read_text
from accord.pipeline.model.folder import ModelFolder
from accord.pipeline.model.network import load_inference

MODELS = """
base: tiny
corpus: {limit: 150}
train: {epochs: 1}
models:
  words: {}
  pieces:
    encode: {merges: 50}
    train: {encoder: transformer, text: sentences}
  letters:
    encode: {merges: 0}
    train: {tied: false}
  adaptive:
    featurise: {templates: [form], forms: null}
    train: {output: adaptive}
  n-grams:
    featurise: {templates: [form], forms: null}
    background: {kind: ngram}
    train: {output: background}
"""
STRINGS = ["La petite zouave mange une pomme.", "Les chats dorment, dit-elle."]


@pytest.fixture(scope="module")
def finished(tmp_path_factory, slow):
    folder = tmp_path_factory.mktemp("peers")
    (folder / "peers.yaml").write_text(MODELS)
    return accord.run(str(folder / "peers.yaml"), until="evaluate", runs=folder / "runs")


def test_their_figures_have_the_same_denominators(finished):
    scores = scores_of(finished.folder)
    test = scores[scores["split"] == "test"].pivot(index="model", columns="metric", values="value")
    assert set(test.index) == {"words", "pieces", "letters", "adaptive", "n-grams"}
    for counted in ("words", "sentences"):
        assert test[counted].nunique() == 1
    nats = test["nats per word"] * (test["words"] + test["sentences"])
    characters = nats / np.log(2) / test["bits per character"]
    assert np.allclose(characters, characters.iloc[0])
    assert (np.exp(test["nats per word"]) - test["perplexity"]).abs().max() < 1e-6


def test_strings_from_elsewhere_have_the_same_denominators_under_every_model(finished):
    totals = {}
    for model in finished.config.models:
        totals[model] = Total(Unit.nats)
        for words in accord.load(finished.folder, model).score_all(STRINGS):
            totals[model].add(words)
    sizes = {(each.sentences, each.words, each.characters) for each in totals.values()}
    assert len(sizes) == 1
    assert all(np.isfinite(each.nats) for each in totals.values())


@pytest.mark.parametrize("model", ["pieces", "letters"])
def test_a_sentence_costs_what_its_units_cost(finished, model):
    stages = ("encode", "featurise", "background", "train")
    inputs = {stage: finished.artefacts[model, stage].folder for stage in stages}
    trained = load_inference(ModelFolder(inputs["train"]))
    text, in_units = (read(inputs["encode"], "test") for read in (read_sentences, read_text))
    assert len(in_units.ids) > len(text.ids)
    by_words, _ = score_text(trained, None, text, read_forms(inputs["encode"], "test"), UNKNOWN_ID)
    by_units = trained.model.score(in_units)
    assert len(by_words) == len(text.ids)
    assert np.allclose(
        np.add.reduceat(by_words, text.starts), np.add.reduceat(by_units, in_units.starts)
    )


def test_a_model_of_letters_reads_training_words_that_others_take_for_unknown(finished):
    encoded = finished.artefacts["letters", "encode"].folder
    speller = Speller.load(encoded)
    forms = read_forms(encoded, "train")
    written = [forms.forms[place] if place >= 0 else "" for place in forms.positions]
    subwords = read_text(encoded, "train").ids.tolist()
    letters = [speller.tokeniser.id_to_token(unit - 1) if unit else "" for unit in subwords]
    assert "".join(letters) == "".join(f"{word}{BOUNDARY}" if word else "" for word in written)


OVER_BACKGROUNDS = """
base: tiny
corpus: {limit: 150, pretraining: PRETRAINING}
encode: {merges: 30}
train: {epochs: 1}
models:
  uniform:
    background: {kind: uniform}
    train: {output: background}
  unigram:
    train: {output: background}
  n-grams:
    background: {kind: ngram, order: 4, pretraining: true}
    train: {output: background}
  over-n-grams:
    background: {kind: ngram, order: 4}
  over-a-model:
    train: {phases: {pretraining: {use: background, epochs: 1}}}
"""


@pytest.fixture(scope="module")
def over_backgrounds(tmp_path_factory, slow):
    folder = tmp_path_factory.mktemp("backgrounds")
    (folder / "pretraining.txt").write_text("La petite fille mange une pomme.\n" * 50)
    models = OVER_BACKGROUNDS.replace("PRETRAINING", str(folder / "pretraining.txt"))
    (folder / "models.yaml").write_text(models)
    return accord.run(str(folder / "models.yaml"), until="evaluate", runs=folder / "runs")


def test_models_of_subwords_may_have_backgrounds(over_backgrounds, tmp_path):
    scores = scores_of(over_backgrounds.folder).set_index(["model", "split", "metric"])["value"]
    nats = scores.xs(("test", "nats per word"), level=("split", "metric"))
    assert nats["uniform"] > 1 + nats["unigram"] > 1 + nats.drop(["uniform", "unigram"]).max()
    for model in nats.index:
        accord.export(over_backgrounds.folder, model, tmp_path / model)
        here, there = accord.load(over_backgrounds.folder, model), accord.load(tmp_path / model)
        assert here.score("la petite zouave dort.") == there.score("la petite zouave dort.")


def test_before_anything_is_learned_subwords_are_as_likely_as_they_are_frequent(over_backgrounds):
    stages = ("encode", "featurise", "background", "train")
    inputs = {stage: over_backgrounds.artefacts["unigram", stage].folder for stage in stages}
    ids = read_text(inputs["encode"], "train").ids
    subwords = count_subwords(inputs["encode"])
    log_p = load_inference(ModelFolder(inputs["train"])).model.log_distributions(
        Sentences(np.array([0]), np.array([1]))
    )
    expected = np.log(np.bincount(ids, minlength=subwords) + 1) - np.log(len(ids) + subwords)
    assert log_p[0] == pytest.approx(expected, abs=1e-5)
