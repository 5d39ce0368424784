"""The loss curve by epoch and the log of steps."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from accord.models.common.files import write_whole
from accord.models.parts import PHASES

if TYPE_CHECKING:
    from torch import Tensor

CURVE = "curve.csv"
PHASE_CURVES = {name: f"{name}.csv" for name in PHASES.own}  # those of what came before


@dataclass(frozen=True)
class Epoch:
    """A row of the loss curve; losses in nats per word, sentence ends included.

    That of training is of the text alone, without penalties and teachers, but with dropout; an
    output that samples gives what it learns from, which is not yet −log p.
    """

    epoch: int
    train_nats: float
    valid_nats: float
    learning_rate: float
    seconds: float
    words_per_second: float


def write_curve(curve: Sequence[Epoch], path: Path) -> None:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, fieldnames=list(Epoch.__dataclass_fields__))
    writer.writeheader()
    writer.writerows(vars(row) for row in curve)
    write_whole(path, text.getvalue().encode())


def read_curve(path: Path) -> list[Epoch]:
    with path.open() as file:
        _, *rows = csv.reader(file)
    return [Epoch(int(epoch), *map(float, figures)) for epoch, *figures in rows]


STEPS = "steps.csv"
HEADER = "epoch,step,nats,gradient_norm,learning_rate\n"


class StepLog:
    """Loss and gradient norm of every step, looked at many steps at a time.

    To look at each would have a GPU wait for it, so they stay where they were computed until then.
    """

    def __init__(self, path: Path, writes: bool):
        self.path, self.writes = path, writes
        self.losses: list[Tensor] = []
        self.norms: list[Tensor] = []
        self.rates: list[float] = []

    @property
    def size(self) -> int:
        """In bytes, so far."""
        return self.path.stat().st_size

    def cut(self, size: int) -> None:
        """Forget what was logged after a checkpoint: those steps come again."""
        if not self.writes:
            return
        with self.path.open("ab") as file:
            file.truncate(min(size, file.tell()))

    def add(self, loss: "Tensor", norm: "Tensor", learning_rate: float) -> None:
        self.losses.append(loss)
        self.norms.append(norm)
        self.rates.append(learning_rate)

    def check(self, epoch: int, last: int) -> int | None:
        """Write down the steps up to the last one; the first that is not finite is the answer."""
        if not self.losses:
            return None
        import torch  # here, as the names of the files are known without it

        values = torch.stack([torch.stack(self.losses), torch.stack(self.norms)], dim=1).cpu()
        first = last - len(values) + 1
        if self.writes:
            self._write(epoch, first, values.tolist())
        self.losses, self.norms, self.rates = [], [], []
        wrong = (~values.isfinite().all(dim=1)).nonzero()
        return first + int(wrong[0]) if len(wrong) else None

    def _write(self, epoch: int, first: int, values: list[list[float]]) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            if not file.tell():
                file.write(HEADER)
            for step, ((loss, norm), rate) in enumerate(
                zip(values, self.rates, strict=True), first
            ):
                file.write(f"{epoch},{step},{loss:.8g},{norm:.8g},{rate:.8g}\n")
