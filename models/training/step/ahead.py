"""Batches prepared ahead: while a GPU computes a step, what the next ones read is sent to it."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from accord.models.common.batching import NO_WORD, Batch
from accord.models.training.regularisers import LossTerm

AHEAD = 2  # batches
# Seconds before the thread makes the next batch: first the step is launched that is about to be,
# which would else wait for the interpreter, and the GPU with it.
GIVE_WAY = 5e-4


class Prepared(NamedTuple):
    """A batch where it is computed with."""

    words: Tensor  # (T × B)
    targets: Tensor  # (N), those that are words
    context: Tensor  # (N × n), what the output needs to know of the words before each target
    real: Tensor | None  # where the targets are among the T·B, if not everywhere
    labels: Tensor | None  # of the sentences of the targets (T × B × k), if they have some
    goes_on: bool  # whether columns go on from the batch before
    of_terms: tuple[tuple[Tensor, ...], ...] = ()  # what each term of the loss needs to know
    room: int | None = None  # for what the background adds up, where it must be known beforehand


def prepare(
    batch: Batch,
    contexts: np.ndarray,
    device: torch.device,
    terms: Sequence[LossTerm] = (),
    labels: np.ndarray | None = None,
) -> Prepared:
    """The batch on the device, with what is known of its targets, from that of the whole text."""
    is_word = batch.targets != NO_WORD
    positions = batch.positions[is_word.numpy()]
    context = torch.from_numpy(contexts[positions])
    real = None if is_word.all() else is_word.flatten().nonzero().squeeze(1)
    of_words = None if labels is None else torch.from_numpy(labels[batch.positions])
    sent = (
        part if part is None else _sent(part, device)
        for part in (batch.words, batch.targets[is_word], context, real, of_words)
    )
    of_terms = tuple(
        tuple(_sent(part, device) for part in term.of_batch(positions)) for term in terms
    )
    return Prepared(*sent, batch.goes_on, of_terms)


def _sent(tensor: Tensor, device: torch.device) -> Tensor:
    """The same on the device. From memory that cannot be paged out, a GPU is not waited for."""
    if device.type == "cuda":
        tensor = tensor.pin_memory()
    return tensor.to(device, non_blocking=True)


def ahead(items: Iterable, make: Callable[[Any], Any], number: int = AHEAD) -> Iterator[Any]:
    """What is made of each item, in order, by a thread that is a few items ahead."""

    def make_later(item: Any) -> Any:
        time.sleep(GIVE_WAY)
        return make(item)

    waiting: deque = deque()
    with ThreadPoolExecutor(1) as thread:
        for item in items:
            waiting.append(thread.submit(make_later, item))
            if len(waiting) > number:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
