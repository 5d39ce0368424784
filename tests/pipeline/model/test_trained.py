"""A trained model loads wherever it is taken."""

import json
import shutil

import numpy as np

from accord.pipeline.data.encoded import read_sentences
from accord.pipeline.model.encoding import FullEncoding
from accord.pipeline.model.network import load_inference


def test_a_model_loads_where_the_device_that_trained_it_is_not(tiny_run, tmp_path, capsys):
    stages = ("encode", "featurise", "background", "train")
    inputs = {stage: tiny_run.artefacts["ll-rnn", stage].folder for stage in stages}
    expected = load_inference(FullEncoding(inputs))
    elsewhere = shutil.copytree(inputs["train"], tmp_path / "train")
    recipe = json.loads((elsewhere / "recipe.json").read_text())
    (elsewhere / "recipe.json").write_text(json.dumps(recipe | {"device": "cuda:99"}))
    found = load_inference(FullEncoding(inputs | {"train": elsewhere}))
    assert "trained on cuda:99, which is not here" in capsys.readouterr().err
    text = read_sentences(inputs["encode"], "test")
    assert np.array_equal(found.score(text), expected.score(text))
