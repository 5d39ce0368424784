"""Models of words, of pieces and of letters: prepared, trained and measured on the same words."""

import numpy as np
import pytest

import pipeline
from pipeline import api
from pipeline.evaluation.measure import score
from pipeline.inference.explain import Explainer
from pipeline.inference.generate import Generator
from pipeline.inference.vectors import Vectors
from pipeline.prepared.encoded import read_sentences, read_text
from pipeline.prepared.encoded_forms import read_forms
from pipeline.prepared.subwords import BOUNDARY, Speller
from pipeline.prepared.trained import load_trained

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
  classes:
    featurise: {templates: [form], forms: null}
    encode: {classes: 10}
    train: {output: classes}
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("peers")
    (folder / "peers.yaml").write_text(MODELS)
    return pipeline.run(str(folder / "peers.yaml"), runs=folder / "runs")


def test_their_figures_have_the_same_denominators(finished):
    scores = api.scores(finished.folder)
    test = scores[scores["split"] == "test"].pivot(index="model", columns="metric", values="value")
    assert set(test.index) == {"words", "pieces", "letters", "classes"}
    for counted in ("words", "sentences"):
        assert test[counted].nunique() == 1
    nats = test["nats per word"] * (test["words"] + test["sentences"])
    characters = nats / np.log(2) / test["bits per character"]
    assert np.allclose(characters, characters.iloc[0])
    assert (np.exp(test["nats per word"]) - test["perplexity"]).abs().max() < 1e-6


@pytest.mark.parametrize("model", ["pieces", "letters"])
def test_a_sentence_costs_what_its_units_cost(finished, model):
    stages = ("encode", "featurise", "background", "train")
    inputs = {stage: finished.artefacts[model, stage].folder for stage in stages}
    trained = load_trained(inputs)
    text, in_units = (read(inputs["encode"], "test") for read in (read_sentences, read_text))
    assert len(in_units.ids) > len(text.ids)
    by_words, _ = score(trained, None, text, read_forms(inputs["encode"], "test"))
    by_units = trained.model.score(in_units)
    assert len(by_words) == len(text.ids)
    assert np.allclose(
        np.add.reduceat(by_words, text.starts), np.add.reduceat(by_units, in_units.starts)
    )


def test_a_model_of_pieces_scores_what_a_person_types(finished):
    scorer = pipeline.load(finished.folder, "pieces")
    words = scorer.score("la petite zouave mange 三.")
    assert [word.form for word in words][:3] == ["la", "petite", "zouave"]
    assert all(np.isfinite(word.log_p) for word in words)
    other = scorer.score("la petite zouava mange 三.")
    assert other[2].log_p != words[2].log_p, "subwords tell words apart that no lexicon knows"


def test_a_model_of_letters_reads_training_words_that_others_take_for_unknown(finished):
    encoded = finished.artefacts["letters", "encode"].folder
    speller = Speller.load(encoded)
    forms = read_forms(encoded, "train")
    written = [forms.forms[place] if place >= 0 else "" for place in forms.positions]
    subwords = read_text(encoded, "train").ids.tolist()
    letters = [speller.tokeniser.id_to_token(unit - 1) if unit else "" for unit in subwords]
    assert "".join(letters) == "".join(f"{word}{BOUNDARY}" if word else "" for word in written)


def test_what_a_model_of_units_cannot_tell_is_refused_by_name(finished):
    scorer = pipeline.load(finished.folder, "letters")
    for ask in (Explainer, Generator):
        with pytest.raises(ValueError, match="expected a model with a log-linear output"):
            ask(scorer)
    with pytest.raises(ValueError, match="expected a model that reads words by vectors"):
        Vectors(scorer)
