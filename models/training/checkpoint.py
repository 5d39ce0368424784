"""Checkpoints: all that an interrupted training needs to go on, whole in one file or not there.

A file's name tells the epoch that was going on, the steps done in it and the hash of the content,
so that a damaged checkpoint is known before it is used. Nothing in it is pickled.
"""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load, save
from torch import Tensor

from accord.models.common.files.whole_file import PARTIAL, write_whole

KEPT = 2
VALUES = "values"  # the tensor that holds what is no tensor, as JSON


class Checkpoints:
    """The newest checkpoints of one training, in its folder."""

    def __init__(self, folder: Path):
        self.folder = folder

    def files(self) -> list[Path]:
        """The oldest first."""
        return sorted(self.folder.glob("checkpoint-*.safetensors"))

    def write(self, epoch: int, step: int, tensors: dict[str, Tensor], values: Any) -> None:
        text = bytearray(json.dumps(values).encode())
        content = save(
            {name: tensor.contiguous() for name, tensor in tensors.items()}
            | {VALUES: torch.frombuffer(text, dtype=torch.uint8)}
        )
        name = f"checkpoint-{epoch:05}-{step:08}-{_digest(content)}.safetensors"
        write_whole(self.folder / name, content)
        for old in self.files()[:-KEPT]:
            old.unlink()

    def newest(self, say: Callable[[str], None]) -> bytes | None:
        """The content of the newest checkpoint that is whole; damaged ones are named and removed.

        They are removed because those that come from here on are older than they by name.
        """
        for path in reversed(self.files()):
            content = path.read_bytes()
            if path.stem.endswith(_digest(content)):
                return content
            path.unlink()
            say(f"{path} was damaged and is removed; the checkpoint before it is used")
        return None

    def clear(self) -> None:
        """Remove all checkpoints, and what a writer that was killed left."""
        for path in (*self.files(), *self.folder.glob(PARTIAL)):
            path.unlink()


def parse(content: bytes) -> tuple[dict[str, Tensor], Any]:
    """The tensors and values of a checkpoint."""
    tensors = load(content)
    return tensors, json.loads(tensors.pop(VALUES).numpy().tobytes())


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
