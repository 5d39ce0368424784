"""The loss curve of a training: a row for each epoch."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from accord.models.common.files import write_whole
from accord.models.parts import PHASES

CURVE = "curve.csv"
PHASE_CURVES = {name: f"{name}.csv" for name in PHASES}  # of the phases before it


@dataclass(frozen=True)
class Epoch:
    """A row of the loss curve; losses in nats per word, sentence ends included.

    The training loss is that of the text with dropout, without penalties and teachers. For an
    output that samples it is the sampled loss, not −log p.
    """

    epoch: Annotated[int, "from 1; 0 is the initial checkpoint, if there is one"]
    train_nats: Annotated[float, "mean loss on the training text, with dropout"]
    valid_nats: Annotated[float, "loss on validation text, without the spelling of unknown words"]
    learning_rate: Annotated[float, "in this epoch"]
    seconds: Annotated[float, "duration of the epoch"]
    words_per_second: Annotated[float, "in training"]


def write_curve(curve: Sequence[Epoch], path: Path) -> None:
    """Write a loss curve as CSV."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, fieldnames=list(Epoch.__dataclass_fields__))
    writer.writeheader()
    writer.writerows(vars(row) for row in curve)
    write_whole(path, text.getvalue().encode())


def read_curve(path: Path) -> list[Epoch]:
    """Return the loss curve that `write_curve` wrote."""
    with path.open() as file:
        _, *rows = csv.reader(file)
    return [Epoch(int(epoch), *map(float, figures)) for epoch, *figures in rows]
