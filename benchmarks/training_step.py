"""The cost of a training step, from the batch to the changed weights.

The same model is trained with the code of two checkouts, which step in turn, so that the load of
the machine is the same for both. CPU seconds are counted, which other processes hardly change. On a
GPU the clock measures many steps at a time, as steps are queued there.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from accord.models.background import NGramBackground, Unigram, kneser_ney
from accord.models.data import END, Sentences
from accord.models.model import LanguageModel
from accord.models.recipe import Recipe
from accord.models.train import Trainer
from benchmarks.outputs import vocabulary

HERE = Path(__file__).parents[1]
AT_ONCE = {"cpu": 1, "cuda": 25}  # steps in a turn
WARM_UP = {"cpu": 5, "cuda": 20}  # turns not measured; meanwhile steps of a GPU are recorded
WORDS = {"cpu": 60_000, "cuda": 600_000}  # of the text: few turns meet the end of an epoch
VALID = 20  # sentences, which are not read while steps are measured


def shape(name: str, device: str):
    """Return the recipe of a preset's LL-RNN, its vocabulary, and the order of its n-grams.

    The words of `meaning` also have classes of word vectors: ten times as many signatures.
    """
    if name == "default":
        sizes = {"embedding": 96, "hidden": 96, "layers": 1, "batch": 20, "bptt": 30}
        return Recipe(**sizes, device=device), vocabulary(640_000), 0
    sizes = {"embedding": 300, "hidden": 1000, "layers": 2, "batch": 40, "bptt": 50}
    dropout = {"feature_dropout": 0.1, "weight_dropout": 0.5, "hidden_dropout": 0.2}
    losses = {"activation": 2.0, "temporal": 1.0, "fraternal": 0.5}
    output = {"kind": "log-linear", "background_gate": True}
    others = {"losses": losses, "ema": 0.9995, "output": output}
    recipe = Recipe(**sizes, **dropout, **others, device=device)
    return recipe, vocabulary(42_500, "classes" if name == "meaning" else "no meaning"), 5


def text_of(mass: np.ndarray, words: int):
    """Draw sentences of about twenty words from b, END among them."""
    generator = np.random.default_rng(1)
    lengths = generator.integers(5, 35, size=words // 20)
    ids = generator.choice(len(mass), size=lengths.sum(), p=mass / mass.sum())
    ids[np.cumsum(lengths) - 1] = END
    return Sentences(ids.astype(np.int64), lengths)


def train_in_turn(name: str, device: str) -> None:
    """Train without an end; after each turn print the cost of a step, and wait for a line."""
    clock = time.perf_counter if device == "cuda" else time.process_time
    start, steps = 0.0, 0

    def on_step(_: int) -> None:
        nonlocal start, steps
        steps += 1
        if steps % AT_ONCE[device]:
            return
        if device == "cuda":
            torch.cuda.synchronize()
        print((clock() - start) / AT_ONCE[device], flush=True)
        if not sys.stdin.readline():
            os._exit(0)  # the reader has ended
        start = clock()

    _train(name, device, on_step)


def _train(name: str, device: str, on_step: Callable[[int], None]) -> None:
    """Train the model of a preset's shape without an end."""
    recipe, (features, mass), order = shape(name, device)
    text, valid = text_of(mass, WORDS[device]), text_of(mass, 20 * VALID)
    background = Unigram(features, mass)
    if order:
        background = NGramBackground.learn(features, [text], order, kneser_ney, np.ones_like)
    torch.manual_seed(1)
    model = LanguageModel(recipe, features, background)
    with tempfile.TemporaryDirectory() as folder:
        Trainer(model, replace(recipe, epochs=10**6, patience=10**6), Path(folder), on_step).fit(
            text, valid
        )


class Stepper:
    """A training that takes a turn on request."""

    def __init__(self, checkout: Path, name: str, device: str):
        self.process = subprocess.Popen(
            [sys.executable, __file__, name, device],
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(checkout), str(HERE)])},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.process.stdout.readline()  # of the first turn, which it takes at once
        for _ in range(WARM_UP[device]):
            self.seconds()

    def seconds(self) -> float:
        """Return the seconds of a step in one more turn."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def stop(self) -> None:
        self.process.stdin.close()
        self.process.wait()


def measure_in_turn(
    checkouts: Mapping[str, Path], name: str, device: str, rounds: int
) -> list[dict[str, float]]:
    """Return the seconds of a step of each checkout by its label, for every round."""
    steppers = {label: Stepper(path, name, device) for label, path in checkouts.items()}
    turns = [{label: one.seconds() for label, one in steppers.items()} for _ in range(rounds)]
    for stepper in steppers.values():
        stepper.stop()
    return turns


if __name__ == "__main__":
    train_in_turn(*sys.argv[1:])
