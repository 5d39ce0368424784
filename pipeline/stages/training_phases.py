"""The phases of a training by gradients: on a text before, while the network is narrow, in full."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from models.background.ngram import FOLDS
from models.common.batching import Sentences
from models.common.files.weights import load_weights, parameters_of
from models.network.language_model import LanguageModel
from models.recipe import UNFITTED, Recipe
from models.training import processes
from models.training.curve import Epoch
from models.training.growth import widen
from models.training.regularisers import LossTerm
from models.training.trainer import Trainer
from pipeline.artefacts.artefact import Inputs
from pipeline.display.progress import meter, say
from pipeline.prepared.background import expect_pretraining
from pipeline.prepared.encoded import read_text
from pipeline.prepared.special_words import PRETRAINING
from pipeline.prepared.trained import build, build_pretraining
from pipeline.trained import teachers

PRETRAINING_BATCH = 4  # times as many texts side by side, as there are more of them


def pretrain(
    model: LanguageModel, recipe: Recipe, inputs: Inputs, valid: Sentences, out: Path
) -> None:
    """Train on the text of corpus.pretraining: the model, or the one that is its background.

    While that text is read b is one of its words, which the corpus need not have.
    """
    expect_pretraining(f"train.pretraining: {recipe.pretraining}", inputs)
    text = read_text(inputs["encode"], PRETRAINING)
    say(f"train: {len(text.ids):,} words to pretrain on")
    if processes.is_first():
        out.mkdir(exist_ok=True)
    first = replace(
        recipe,
        epochs=recipe.pretraining_epochs,
        batch=recipe.batch * PRETRAINING_BATCH,
        **UNFITTED,
    )
    reading = build_pretraining(recipe, inputs)
    is_background = recipe.pretraining == "background"
    later = model.output.background.model if is_background else model
    load_weights(reading, parameters_of(later))
    terms = []
    if not is_background:
        terms = teachers.distillation(recipe, inputs, reading, is_training_text=False)
    fit(reading, first, text, valid, out, terms)
    load_weights(later, parameters_of(reading))


def grow(
    model: LanguageModel,
    recipe: Recipe,
    inputs: Inputs,
    train: Sentences,
    valid: Sentences,
    out: Path,
) -> None:
    """Train a narrower model first, and give the wide one what it has learned."""
    if processes.is_first():
        out.mkdir(exist_ok=True)
    first = replace(
        recipe,
        hidden=recipe.hidden // recipe.growth,
        growth=1,
        epochs=recipe.growth_epochs,
        **UNFITTED,
    )
    narrow = build(first, inputs, FOLDS)
    say(f"train: {narrow.parameter_count():,} parameters at first")
    fit(narrow, first, train, valid, out)
    widen(model.to(next(narrow.parameters()).device), narrow)


def fit(
    model: LanguageModel,
    recipe: Recipe,
    train: Sentences,
    valid: Sentences,
    out: Path,
    terms: Sequence[LossTerm] = (),
    goes_on: bool = False,
) -> None:
    advance = meter("words", len(train.ids))

    def on_epoch(row: Epoch) -> None:
        nonlocal advance
        advance(0)
        advance = meter("words", len(train.ids))
        trained = (
            f"train {row.train_nats:.3f}, valid {row.valid_nats:.3f} nats, "
            f"{row.words_per_second:,.0f} words/s, {row.seconds:.1f} s"
        )
        as_given = f"valid {row.valid_nats:.3f} nats, before the first step"
        say(f"  epoch {row.epoch}: {trained if row.epoch else as_given}")

    trainer = Trainer(model, recipe, out, lambda words: advance(words), on_epoch, say, terms)
    trainer.fit(train, valid, goes_on)
