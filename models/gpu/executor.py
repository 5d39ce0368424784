"""The steps of a training: on a GPU recorded or compiled, with batches made ahead.

A step of a large recurrent model is some thousand kernels, each of which takes longer to launch
than to run. A CUDA graph launches all of them at once, but for one shape of its inputs. So each
shape is computed as usual at first, recorded when it comes again, and replayed from then on. A step
without recurrence is some hundred kernels, most of which only move numbers: these are compiled.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves, tree_map_only

from accord.errors import AccordError
from accord.models.background import Background, NGramBackground, Unigram
from accord.models.data import NO_WORD, Batch, Packed, Prepared, Sentences, State
from accord.models.encoder import Recurrent
from accord.models.gpu import processes
from accord.models.gpu.kernels import nats_of_classes
from accord.models.gpu.windows import read_in_parts
from accord.models.log_linear import LogLinear, log_linear_of
from accord.models.model import LanguageModel
from accord.models.recipe import Recipe

AHEAD = 2  # batches

Gradients = Callable[[Prepared, State | Packed], tuple[Tensor, State]]


class Executor:
    """Computes the steps of a training: one after the other on a CPU.

    If several processes share a training, each reads its columns of a batch, and all take the same
    step. On a GPU batches are made ahead, by a thread, and steps are recorded.
    """

    def __init__(
        self,
        gradients: Gradients,
        model: LanguageModel,
        recipe: Recipe,
        parameters: Sequence[nn.Parameter],
        device: torch.device,
        has_terms: bool,
    ):
        self.gradients, self.parameters, self.device = gradients, parameters, device
        self.is_first = processes.is_first()  # whether this process writes the files
        self.is_shared = processes.count() > 1
        self.agreement_steps = 50 if self.is_shared else 1  # between agreements of all processes
        self.share: processes.ProcessShare | None = None  # of the last batch
        self.dropouts: list[Any] = [part for part in model.modules() if hasattr(part, "share")]
        # Processes wait for each other, and only windows of a stream come in few shapes.
        is_recorded = (
            device.type == "cuda"
            and recipe.text != "sentences"
            and not self.is_shared
            and not recipe.packs_documents
            and model.has_fixed_shapes
        )
        self.recorded = (
            RecordedSteps(gradients, log_linear_of(model).background) if is_recorded else None
        )
        if recipe.packs_documents:
            if self.is_shared:
                raise AccordError(f"encoder: {recipe.encoder} reads documents in one process")
            if device.type == "cuda":
                compile_step(model, has_terms)
        self.keeps_gradients = is_recorded  # in one place, where a recording writes them
        if is_recorded and isinstance(model.encoder, Recurrent):
            model.encoder.reader = read_in_parts  # more kernels, which a recording launches at once

    def prepared(
        self, batches: Iterator[Batch], prepare: Callable[[Batch], Prepared]
    ) -> Iterator[Prepared]:
        """Yield the batches of this process as the steps need them."""

        def make(whole: Batch) -> Prepared:
            if not self.is_shared:
                return self._placed(prepare(whole))
            share = processes.ProcessShare.own(whole.words.shape[1])
            batch = self._placed(prepare(share.batch(whole)))
            count = int((whole.targets != NO_WORD).sum())
            return batch._replace(word_count=count, columns=share.total)

        return ahead(batches, make) if self.device.type == "cuda" else map(make, batches)

    def _placed(self, batch: Prepared) -> Prepared:
        if self.recorded:
            batch = self.recorded.with_room(batch)
        return on_device(batch, self.device)

    def step(self, batch: Prepared, initial: State | Packed) -> tuple[Tensor, State]:
        """Fill the gradients; return the nats per word of a batch and the state after it."""
        self.share = processes.ProcessShare.own(batch.columns) if self.is_shared else None
        for dropout in self.dropouts:
            dropout.share = self.share
        nats, final = (self.recorded or self.gradients)(batch, initial)
        if self.share is not None:
            learning = [weight for weight in self.parameters if weight.requires_grad]
            weight = self.share.counts * len(batch.targets) / batch.word_count
            processes.add_up(learning, nats, weight)
        return nats, final

    def mean(self, number: float) -> float:
        """Return the mean over all processes, on which they agree."""
        return processes.total(number) / processes.count()

    def sum_over(self, text: Sentences, compute: Callable[[Sentences], np.ndarray]) -> float:
        """Return the sum of the numbers of a text; each process computes those of its part."""
        if not self.is_shared:
            return float(compute(text).sum())
        first = np.append(text.first_sentences(), len(text.lengths))  # of the documents
        share = processes.ProcessShare.own(len(first) - 1)
        part = text.part(first[share.first], first[share.stop])
        return processes.total(share.counts * float(compute(part).sum()))

    def gather(self, state: State) -> State:
        """Return the state of all columns."""
        return state if self.share is None else self.share.gathered(state)

    def scatter(self, state: State) -> State:
        """Return the state of the columns that this process reads."""
        return processes.ProcessShare.own(state[0][0].shape[1]).state(state)

    def close(self) -> None:
        """Free the recordings, which the collector must not free in another recording."""
        self.recorded = None


def ahead(items: Iterable, make: Callable[[Any], Any], number: int = AHEAD) -> Iterator[Any]:
    """Yield the result for each item, in order; a thread works a few items ahead."""
    waiting: deque = deque()
    with ThreadPoolExecutor(1) as thread:
        for item in items:
            waiting.append(thread.submit(make, item))
            if len(waiting) > number:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


class _Recording(NamedTuple):
    graph: torch.cuda.CUDAGraph
    batch: Prepared  # its inputs
    initial: State | Packed
    loss: Tensor  # its results, besides the gradients
    final: State


class RecordedSteps:
    """Records `compute`, which reads a batch and a state and fills the gradients.

    `compute` may wait for nothing that the GPU has computed, and its gradients stay in one place.
    """

    def __init__(self, compute: Gradients, background: Background):
        self.compute, self.background = compute, background
        self.count_entries = entry_counter(background)
        self.met: set[tuple] = set()
        self.recordings: dict[tuple, _Recording] = {}
        self.pool = torch.cuda.graph_pool_handle()  # only one of them runs at a time

    def with_room(self, batch: Prepared) -> Prepared:
        """Return the batch with the number of entries that the background reserves for it."""
        entries = self.count_entries(batch.context.numpy())
        coarse = 1 << max(0, entries.bit_length() - 3)  # so that few rooms differ
        return batch._replace(room=-(-entries // coarse) * coarse)

    def __call__(self, batch: Prepared, initial: State | Packed) -> tuple[Tensor, State]:
        shape = batch.room, *(tuple(tensor.shape) for tensor in _tensors(batch, initial))
        if shape not in self.recordings:
            if shape not in self.met or not _has_memory():
                self.met.add(shape)
                return self._compute(batch, initial)
            self.recordings[shape] = self._record(batch, initial)
        recording = self.recordings[shape]
        inputs, places = _tensors(batch, initial), _tensors(recording.batch, recording.initial)
        for value, place in zip(inputs, places, strict=True):
            place.copy_(value)
        recording.graph.replay()
        return recording.loss.clone(), recording.final

    def _record(self, batch: Prepared, initial: State | Packed) -> _Recording:
        batch, initial = tree_map_only(Tensor, Tensor.clone, (batch, initial))
        graph = torch.cuda.CUDAGraph()
        # The thread that makes batches ahead uses the GPU meanwhile, which is not recorded.
        with torch.cuda.graph(graph, pool=self.pool, capture_error_mode="thread_local"):
            loss, final = self._compute(batch, initial)
        return _Recording(graph, batch, initial, loss, final)

    def _compute(self, batch: Prepared, initial: State | Packed) -> tuple[Tensor, State]:
        self.background.room = batch.room
        results = self.compute(batch, initial)
        self.background.room = None
        return results


def entry_counter(background: Background) -> Callable[[np.ndarray], int]:
    """Return a function that counts the table entries which b adds up in some contexts."""
    if not isinstance(background, NGramBackground):
        return lambda contexts: 0
    first, sizes = background.seen_nodes.cpu().numpy(), background.seen_starts.diff().cpu().numpy()
    return lambda contexts: int(sizes[(contexts[..., 1:] + first)[contexts[..., 1:] >= 0]].sum())


def _has_memory() -> bool:
    """Return whether memory is left for another recording, which keeps the memory of a step."""
    free, total = torch.cuda.mem_get_info()
    return free > total / 6


def _tensors(batch: Prepared, state: State | Packed) -> list[Tensor]:
    return [leaf for leaf in tree_leaves((batch, state)) if isinstance(leaf, Tensor)]


def compile_step(model: LanguageModel, has_terms: bool) -> None:
    """Compile the encoder and, if no term of the loss reads the scores, the output."""
    read_packed = torch.compile(model.encoder.read_packed, dynamic=False)
    model.encoder.read_packed = read_packed  # type: ignore[method-assign]
    output = model.output
    if type(output) is not LogLinear or output.calibration or output.background_gate or has_terms:
        return
    if isinstance(output.background, Unigram):
        output.compiled = torch.compile(nats_of_classes, dynamic=False)


def on_device(batch: Prepared, device: torch.device) -> Prepared:
    """Return the batch on a device; a copy from pinned memory does not wait for the GPU."""

    def copy(tensor: Tensor) -> Tensor:
        pinned = tensor.pin_memory() if device.type == "cuda" else tensor
        return pinned.to(device, non_blocking=True)

    return batch if device.type == "cpu" else tree_map_only(Tensor, copy, batch)
