"""Letters inside words inside the sentence: a fast clock below, a slow one above."""

import torch
from torch import Tensor, nn

from models.common.state import State
from models.encoders import ENCODERS
from models.encoders.recurrent_layer import RecurrentLayer
from models.encoders.variational_dropout import VariationalDropout


@ENCODERS.register("hierarchical", reads="ends of words")
class Hierarchical(nn.Module):
    """Two clocks, for models of letters or pieces: the upper one ticks where a word ends.

    After Hwang & Sung (2017), with LSTMs below and GRUs above:

        f_t = below(ψ_t, f_{t−1})                            at every letter
        s_t = above(f_t, s_{t−1}) where a word ends, else s_{t−1}
        h_t = out([f_t; s_t], h_{t−1})                       at every letter

    So a word is one step of the upper clock, and what is some words back is as few steps away.
    The last of the inputs is no part of ψ: it is above 0 where a word ends. `layers` are those of
    the upper clock.
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
        rate = weight_dropout
        self.below = RecurrentLayer("lstm", inputs - 1, hidden, rate)
        self.above = nn.ModuleList(
            RecurrentLayer("gru", hidden, hidden, rate) for _ in range(layers)
        )
        self.out = RecurrentLayer("lstm", 2 * hidden, outputs, rate)
        self.dropout = VariationalDropout(dropout)

    def forward(self, inputs: Tensor, state: State) -> tuple[Tensor, State]:
        letters, ends = inputs[..., :-1], inputs[..., -1] > 0
        below, *above, out = state
        fast, below = self.below(letters, below)
        fast = self.dropout(fast)
        slow, above = self._slow(fast, ends, tuple(above))
        outputs, out = self.out(torch.cat([fast, self.dropout(slow)], dim=-1), out)
        return outputs, (below, *above, out)

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
