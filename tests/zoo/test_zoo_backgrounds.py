"""Backgrounds of the zoo, as the stage `background` prepares them and a model loads them."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from accord.models.common.registry import parted
from accord.models.phi import Features
from accord.pipeline.config.sections import BackgroundParams
from accord.pipeline.data.encoded import read_text
from accord.zoo.backgrounds import labelled, prepare_characters, prepare_topics

FORMS = ["</s>", "le", "juge", "match"]
MASS = np.array([0.4, 0.3, 0.2, 0.1])


def test_b_by_label_is_counted_on_training_text_and_raised_by_topics(tmp_path):
    topics = tmp_path / "topics.tsv"
    topics.write_text("sport\tmatch\nsport\tinconnu\n", encoding="utf-8")
    kind = {"kind": "labelled", "topics": str(topics), "boost": 3.0}
    params = BackgroundParams(kind=kind)
    prepare_topics(params, FORMS, MASS, tmp_path)
    np.save(tmp_path / "train.ids.npy", np.array([1, 2, 0, 1, 3, 0], np.int32))
    np.save(tmp_path / "train.lengths.npy", np.array([3, 3], np.int32))
    np.save(tmp_path / "train.labels.npy", np.array([[1], [2]], np.int32))
    (tmp_path / "labels.json").write_text(json.dumps({"genre": ["loi", "sport"]}))
    labels = {"genre": ["loi", "sport"]}
    model = SimpleNamespace(folder=tmp_path, labels=labels, mass=lambda: MASS, subwords=None)
    _, settings = parted(params.kind)
    text = read_text(tmp_path, "train")
    background = labelled(model, Features.one_hot(4), [text], 0, **settings)
    b = background.log_mass.exp().numpy()
    sport = 0.5 * np.array([1, 1, 0, 1]) / 3 + 0.5 * MASS
    sport[3] *= 3
    assert np.allclose(b[0], MASS)
    assert np.allclose(b[1], 0.5 * np.array([1, 1, 1, 0]) / 3 + 0.5 * MASS)
    assert np.allclose(b[2], sport / sport.sum())


def test_b_by_letters_replaces_the_counts_of_words(tmp_path):
    params = BackgroundParams(kind={"kind": "characters", "order": 2})
    prepare_characters(params, FORMS, MASS, tmp_path)
    b = np.load(tmp_path / "b.npy")
    assert b.sum() == pytest.approx(1) and b[0] == pytest.approx(0.4)
    assert not np.allclose(b, MASS) and (b > 0).all()
