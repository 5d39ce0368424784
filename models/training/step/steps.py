"""The steps of a training: a batch is read, and the weights move."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice

import numpy as np
import torch
from torch import Tensor, nn

from accord.models.common.batching import NO_WORD, Batch, Sentences, batches
from accord.models.common.device import has_bfloat16
from accord.models.common.state import State, detached
from accord.models.encoders.recurrent import Recurrent
from accord.models.encoders.variational_dropout import VariationalDropout
from accord.models.features.condition import Condition
from accord.models.network.language_model import LanguageModel
from accord.models.parts import SCHEDULES
from accord.models.recipe import Recipe
from accord.models.training import processes
from accord.models.training.regularisers import LossTerm, with_terms
from accord.models.training.step.ahead import Prepared, ahead, prepare
from accord.models.training.step.log import StepLog
from accord.models.training.step.recorded import RecordedSteps
from accord.models.training.training_state import TrainingState

SHARED = (VariationalDropout, Condition)  # what draws for all columns, whoever reads them


class Steps:
    """Takes the steps of a model's training, from where it stands now.

    Each epoch draws its batches from the seed and its own number. On a GPU they are prepared ahead,
    and steps are recorded and replayed. Of several processes each reads its share of the columns,
    and all take the same step.
    """

    def __init__(
        self,
        model: LanguageModel,
        recipe: Recipe,
        now: TrainingState,
        log: StepLog,
        terms: Sequence[LossTerm] = (),
    ):
        self.model, self.recipe, self.now, self.log, self.terms = model, recipe, now, log, terms
        self.device = now.nats.device
        self.schedule = SCHEDULES.make(recipe.schedule)
        self.in_bfloat16 = recipe.precision == "bfloat16" and has_bfloat16(self.device)
        # Processes wait for each other, and windows of a stream alone come in few shapes.
        is_recorded = (
            self.device.type == "cuda"
            and recipe.text == "stream"
            and processes.count() == 1
            and model.has_fixed_shapes
        )
        self.recorded = (
            RecordedSteps(self._computed, model.output.background) if is_recorded else None
        )
        if is_recorded and isinstance(model.encoder, Recurrent):
            model.encoder.in_parts = True  # more kernels, which a recording launches for nothing
        self.dropouts = [each for each in model.modules() if isinstance(each, SHARED)]
        self.share: processes.Share | None = None  # of the last batch, where processes share it

    def batches(self, train: Sentences) -> Iterator[Batch]:
        """All of the epoch that is going on."""
        generator = np.random.default_rng([self.recipe.seed, self.now.epoch])
        return batches(train, self.recipe, generator)

    def left(self, train: Sentences, contexts: np.ndarray) -> Iterator[tuple[Batch, Prepared]]:
        """The batches that are left of the epoch, and what this process reads of each."""
        labels = train.labels_of_words

        def both(batch: Batch) -> tuple[Batch, Prepared]:
            own = self._share_of(batch).batch(batch) if processes.count() > 1 else batch
            prepared = prepare(own, contexts, self.device, self.terms, labels)
            if self.recorded:
                prepared = self.recorded.with_room(prepared, batch, contexts)
            return batch, prepared

        left = islice(self.batches(train), self.now.step, None)
        return ahead(left, both) if self.device.type == "cuda" else map(both, left)

    def take(self, batch: Batch, prepared: Prepared, epoch_words: int) -> int:
        """One step of the optimiser, on one batch; how many words it read."""
        now = self.now
        self._set_learning_rate(epoch_words)
        count = int((batch.targets != NO_WORD).sum())
        if processes.count() > 1:
            self.share = self._share_of(batch)
            for dropout in self.dropouts:
                dropout.share = self.share
        before = self._before(prepared)
        nats, after = (self.recorded or self._computed)(prepared, before)
        if processes.count() > 1:
            learning = [each for each in self.now.parameters() if each.requires_grad]
            processes.add_up(learning, nats, self.share.weight(batch))
        norm = nn.utils.clip_grad_norm_(self.now.parameters(), self.recipe.max_grad_norm)
        now.optimiser.step()
        if now.average:
            now.average.update(self.model)
        self.log.add(nats, norm, now.learning_rate)
        now.encoder, now.nats = after, now.nats + nats * count
        now.step, now.words = now.step + 1, now.words + count
        return count

    def _set_learning_rate(self, epoch_words: int) -> None:
        """As the schedule has it, if it says it for each step."""
        done = self.now.epoch - 1 + self.now.words / epoch_words
        rate = self.schedule.rate(self.recipe.learning_rate, done, self.recipe.epochs)
        if rate is not None:
            for group in self.now.optimiser.param_groups:
                group["lr"] = rate

    def _before(self, batch: Prepared) -> State:
        """The encoder's state before a batch."""
        if batch.goes_on and not self._begins_anew():
            return self.now.encoder
        return self.model.encoder.initial_state(batch.words.shape[1])

    def _computed(self, batch: Prepared, before: State) -> tuple[Tensor, State]:
        """Nats per word of a batch, and the state after it; gradients lie beside the weights."""
        self.now.optimiser.zero_grad(set_to_none=self.recorded is None)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.in_bfloat16):
            run = partial(
                self.model.loss,
                batch.words,
                batch.targets,
                before,
                batch.context,
                batch.real,
                batch.labels,
                self.model.begin(batch.targets, batch.context),
            )
            loss, seen = with_terms(run, self.terms, batch.of_terms)
        loss.backward()
        return seen.nats.detach(), detached(seen.after)

    def _begins_anew(self) -> bool:
        """Whether a window is read from the zero state by chance; none is drawn where none can."""
        share = self.recipe.zero_state
        return bool(share) and torch.rand(()).item() < share

    def _share_of(self, batch: Batch) -> processes.Share:
        """Which columns of a batch this process reads."""
        return processes.Share.own(batch.words.shape[1])
