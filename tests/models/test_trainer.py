"""Training: it learns, it stops, and what was interrupted goes on as if it had not been."""

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from models.background import Unigram
from models.batching import Sentences, windows
from models.features import Features
from models.language_model import LanguageModel
from models.recipe import Recipe
from models.trainer import WEIGHTS, Trainer

END, WORDS = 0, 12
RECIPE = Recipe(
    embedding=8,
    hidden=8,
    layers=1,
    batch=4,
    window=7,
    epochs=4,
    average=0.9,
    weight_dropout=0.2,
    feature_dropout=0.1,
    device="cpu",
)


@pytest.fixture
def sentences() -> Sentences:
    generator = np.random.default_rng(3)
    lengths = generator.integers(2, 9, size=60)
    ids = generator.integers(1, WORDS, size=lengths.sum())
    ids[np.cumsum(lengths) - 1] = END
    return Sentences(ids.astype(np.int32), lengths)


def model() -> LanguageModel:
    torch.manual_seed(5)
    indptr = np.arange(0, 2 * WORDS + 1, 2)
    indices = np.stack([np.arange(WORDS), WORDS + np.arange(WORDS) % 3], axis=1).ravel()
    features = Features.from_rows(indptr, indices, np.ones(len(indices)), WORDS + 3)
    return LanguageModel(RECIPE, features, Unigram(features, np.arange(1, WORDS + 1)))


class Stop(Exception):
    pass


def test_an_interrupted_training_ends_with_the_same_weights(sentences, tmp_path):
    (tmp_path / "whole").mkdir()
    (tmp_path / "parts").mkdir()
    Trainer(model(), RECIPE, tmp_path / "whole", END).fit(sentences, sentences)

    def stop_after_two(epoch) -> None:
        if epoch.epoch == 2:
            raise Stop

    with pytest.raises(Stop):
        Trainer(model(), RECIPE, tmp_path / "parts", END, on_epoch=stop_after_two).fit(
            sentences, sentences
        )
    resumed = []
    Trainer(model(), RECIPE, tmp_path / "parts", END, on_epoch=resumed.append).fit(
        sentences, sentences
    )
    assert [epoch.epoch for epoch in resumed] == [3, 4]
    whole, parts = (load_file(tmp_path / name / WEIGHTS) for name in ("whole", "parts"))
    assert all(torch.equal(whole[name], parts[name]) for name in whole)
    assert sorted(p.name for p in (tmp_path / "parts").iterdir()) == ["curve.csv", WEIGHTS]


def test_validation_falls_and_the_best_epoch_is_kept(sentences, tmp_path):
    trainer = Trainer(model(), RECIPE, tmp_path, END)
    trainer.fit(sentences, sentences)
    losses = [epoch.valid_nats for epoch in trainer.curve]
    assert losses[-1] < losses[0]
    kept = -trainer.model.score(sentences).mean()
    assert kept == pytest.approx(min(losses), abs=1e-9)


def test_an_epoch_reads_every_word_once_after_the_word_before_it(sentences):
    recipe = Recipe(batch=4, window=7)
    parts = list(windows(sentences, recipe, END, np.random.default_rng(0)))
    words, targets = (torch.cat([part[side] for part in parts]) for side in (0, 1))
    assert torch.equal(words[1:], targets[:-1])
    assert (words[0] == END).all()
    read = np.bincount(targets.flatten().numpy(), minlength=WORDS)
    all_words = np.bincount(sentences.ids, minlength=WORDS)
    assert 0 <= (all_words - read).sum() < recipe.batch, "only what fills no row is left out"


def test_a_sentence_scores_the_same_alone_and_among_others(sentences):
    network = model().double().eval()
    together = network.score(sentences)
    for start, length in zip(sentences.starts[:10], sentences.lengths[:10], strict=True):
        alone = Sentences(sentences.ids[start : start + length], np.array([length]))
        expected = together[start : start + length]
        assert network.score(alone) == pytest.approx(expected, abs=1e-10)
