"""Letters inside words inside the sentence: a fast clock below, a slow one above."""

import torch
from torch import Tensor, nn

from accord.models.common.state import State
from accord.models.encoders.layers.recurrent_layer import RecurrentLayer
from accord.models.encoders.variational_dropout import VariationalDropout


class Hierarchical(nn.Module):
    """Two clocks, for models of letters or pieces: the upper one ticks where a word ends.

    After Hwang & Sung (2017), with GRUs for both clocks and an LSTM that reads them:

        f_t = below(ψ_t, f_{t−1}), from nothing where a word begins
        s_t = above(f_t, s_{t−1}) where a word ends, else s_{t−1}
        h_t = out([f_t; s_t], h_{t−1})

    So a word is one step of the upper clock, and what is some words back is as few steps away; and
    all words are spelled side by side, in as many steps as the longest has letters. The last of the
    inputs is no part of ψ: it is above 0 where a word ends. `layers` are those of the upper clock.
    """

    def __init__(
        self,
        inputs: int,
        hidden: int,
        outputs: int,
        layers: int,
        dropout: float = 0.0,
        weight_dropout: float = 0.0,
    ):
        super().__init__()
        self.below = RecurrentLayer("gru", inputs - 1, hidden, weight_dropout)
        self.above = nn.ModuleList(
            RecurrentLayer("gru", hidden, hidden, weight_dropout) for _ in range(layers)
        )
        self.out = RecurrentLayer("lstm", 2 * hidden, outputs, weight_dropout)
        self.dropout = VariationalDropout(dropout)

    def forward(self, inputs: Tensor, state: State) -> tuple[Tensor, State]:
        letters, ends = inputs[..., :-1], inputs[..., -1] > 0
        (below,), *above, out = state
        fast = self._fast(letters, ends, below)
        below = fast[-1:] * ends[-1:].logical_not().unsqueeze(2)
        fast = self.dropout(fast)
        slow, above = self._slow(fast, ends, tuple(above))
        outputs, out = self.out(torch.cat([fast, self.dropout(slow)], dim=-1), out)
        return outputs, ((below,), *above, out)

    def _fast(self, letters: Tensor, ends: Tensor, state: Tensor) -> Tensor:
        """The lower clock, which begins anew after each end: (T × B × H)."""
        steps, columns = ends.shape
        step = torch.arange(steps, device=ends.device).unsqueeze(1)
        after = torch.where(ends, step + 1, 0).cummax(dim=0).values  # where the next word begins
        place = step - torch.cat([torch.zeros_like(after[:1]), after[:-1]])  # of a letter in it
        word = ends.cumsum(dim=0) - ends.long()
        # Each word by itself, the first ones of all columns going on from the state.
        own = (word * columns + torch.arange(columns, device=ends.device)).flatten()
        by_length = own.bincount().argsort(descending=True, stable=True)
        order = (place.flatten() * len(by_length) + by_length.argsort()[own]).argsort()
        sizes = place.flatten().bincount().cpu()  # how many words have a first letter, a second …
        before = nn.functional.pad(state, (0, 0, 0, len(by_length) - columns))
        before = before[:, by_length[: sizes[0]]]
        fast = self.below.packed(letters.flatten(0, 1)[order], sizes, before)
        return fast[order.argsort()].unflatten(0, ends.shape)

    def _slow(self, fast: Tensor, ends: Tensor, state: State) -> tuple[Tensor, State]:
        """What the upper clock shows at every letter (T × B × H), and its state after them."""
        over = ends.cumsum(dim=0)  # words that are over at each letter
        most = int(over[-1].max())
        if not most:
            return state[-1][0].expand(len(fast), -1, -1), state
        # The letters that end words, first in each column; what comes after them is not asked for.
        chosen = ends.logical_not().byte().argsort(dim=0, stable=True)[:most]
        read, after = _at(fast, chosen), []
        for number, (layer, (before,)) in enumerate(zip(self.above, state, strict=True)):
            read, _ = layer(self.dropout(read) if number else read, (before,))
            shown = torch.cat([before.to(read.dtype), read])  # before the first end, as it was
            after.append((_at(shown, over[-1:]),))
        return _at(shown, over), tuple(after)

    def initial_state(self, batch: int) -> State:
        return tuple(layer.initial_state(batch) for layer in (self.below, *self.above, self.out))


def _at(sequence: Tensor, places: Tensor) -> Tensor:
    """What stands at some places of each column: (T × B × H) and (N × B) → (N × B × H)."""
    return sequence.gather(0, places.unsqueeze(2).expand(-1, -1, sequence.shape[2]))
