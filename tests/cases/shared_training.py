"""Trainings on several processes: `python shared_training.py FOLDER`.

One process prepares, and those that train are forks of it. FOLDER receives trainings on one and
four processes, of another encoder on one and two, and one that was stopped on two processes and
resumed on four and on one.
"""

import os
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
from safetensors.torch import load_file
from torch import distributed
from training_cases import RECIPE, model, sentences

from accord.models.common.files import WEIGHTS
from accord.models.train import Trainer

TEXT = sentences(100)._replace(documents=np.repeat([0, 1, 2], [7, 60, 33]))
# Means, which shares have to weigh.
PENALTIES = {"activation": 1.0, "temporal": 1.0, "fraternal": 1.0, "past_decode": 0.1}
# Ten columns are shared unevenly by four processes, and the last batches of sentences by fewer.
RECIPES = {
    text: replace(
        RECIPE, batch=10, bptt=5, epochs=4, text=text, checkpoint_steps=4, losses=PENALTIES
    )
    for text in ("stream", "sentences")
}
# It drops units otherwise than a recurrent encoder does, and has no weights to drop.
RECIPES["transformer"] = replace(
    RECIPES["stream"], encoder="transformer", weight_dropout=0.0, epochs=2
)
# Fewer documents than some processes, which validation must not cut. The weights stay the same.
RECIPES["documents"] = replace(RECIPES["stream"], text="documents", epochs=1, learning_rate=1e-12)
COUNTS = dict.fromkeys(RECIPES, (1, 2)) | {"stream": (1, 4), "sentences": (1, 4)}
COUNTS["documents"] = (1, 4)


def train(folder: Path, recipe, steps: int | None = None) -> None:
    """Train in this process; `steps` stops it after so many steps, as if it were killed."""

    def on_step(words: int) -> None:
        nonlocal steps
        if steps is not None:
            steps -= 1
            if steps == 0:
                os._exit(0)

    changes = {name: getattr(recipe, name) for name in ("encoder", "weight_dropout", "text")}
    trainer = Trainer(model(**changes), recipe, folder, on_step)
    trainer.fit(TEXT, TEXT)
    written = load_file(folder / WEIGHTS)
    if not all(written[name].equal(w) for name, w in trainer.model.named_parameters()):
        os._exit(2)


def on_processes(count: int, folder: Path, recipe, steps: int | None = None) -> None:
    """Train on several processes at once."""
    folder.mkdir(exist_ok=True)
    meeting = folder.with_name(f"{folder.name}-{count}.meeting")
    children = []
    for rank in range(count):
        children.append(os.fork())
        if not children[-1]:
            distributed.init_process_group(
                "gloo", init_method=f"file://{meeting}", rank=rank, world_size=count
            )
            train(folder, recipe, steps)
            os._exit(0)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    if any(codes):
        sys.exit(f"{folder.name} on {count} processes ended with {codes}")


def main(folder: Path) -> None:
    for name, recipe in RECIPES.items():
        for count in COUNTS[name]:
            on_processes(count, folder / f"{name}-{count}", recipe)
    moving = folder / "stream-moving"
    on_processes(2, moving, RECIPES["stream"], steps=10)
    on_processes(4, moving, RECIPES["stream"], steps=12)
    on_processes(1, moving, RECIPES["stream"])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
