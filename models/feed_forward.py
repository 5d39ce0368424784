"""Networks of the last words alone: window, LSTM window, linear."""

from itertools import pairwise
from typing import Annotated

import torch
from torch import Tensor, nn

from accord.models.common.registry import about
from accord.models.common.schema import Range
from accord.models.data import State
from accord.models.encoder import LSTM, Encoder, VariationalDropout


@about(hidden="between layers")
class Window(Encoder):
    """The feed-forward model of Bengio et al. (2003): h_t sees the last inputs only."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        outputs: int,
        layers: int,
        dropout: float = 0.0,
        *,
        order: Annotated[int, Range(ge=1), "words that are read, the last one included"] = 4,
    ):
        super().__init__()
        self.inputs, self.order = inputs, order
        widths = [order * inputs, *[hidden] * (layers - 1), outputs]
        self.layers = nn.ModuleList(nn.Linear(*pair) for pair in pairwise(widths))
        self.dropout = VariationalDropout(dropout)

    def forward(self, inputs: Tensor, state: State) -> tuple[Tensor, State]:
        seen = torch.cat([state[0][0], inputs])
        outputs = seen.unfold(0, self.order, 1).flatten(start_dim=2)
        for number, layer in enumerate(self.layers):
            outputs = layer(self.dropout(outputs) if number else outputs).tanh()
        return outputs, ((seen[len(seen) - self.order + 1 :],),)

    def initial_state(self, batch: int) -> State:
        weight = next(self.parameters())
        return ((weight.new_zeros(self.order - 1, batch, self.inputs),),)


@about(hidden="between layers")
class LSTMWindow(Encoder):
    """An LSTM over the last words alone, from an empty state: a sequence length that is fixed.

    So Keras reads sequences of one length, each of which ends before the word that it predicts. A
    word costs `order` steps instead of one, those of all words at once. A text's first words have
    fewer before them, and are read from the first. Windows are no sequence of which units could be
    dropped alike: between layers each step drops its own.
    """

    def __init__(
        self,
        inputs: int,
        hidden: int,
        outputs: int,
        layers: int,
        dropout: float = 0.0,
        *,
        order: Annotated[int, Range(ge=1), "words that are read, the last one included"] = 8,
    ):
        super().__init__()
        self.inputs, self.order = inputs, order
        self.within = _WindowLSTM(inputs, hidden, outputs, layers)
        self.within.dropout = _WindowDropout(dropout, every_step=True)

    def forward(self, inputs: Tensor, state: State) -> tuple[Tensor, State]:
        # Beside each input a 1, so that what is before the text can be told from it.
        seen = torch.cat([state[0][0], nn.functional.pad(inputs, (0, 1), value=1.0)])
        windows = seen.unfold(0, self.order, 1).permute(3, 0, 1, 2).flatten(1, 2)
        length = windows[:, :, -1].detach().sum(dim=0).long()  # (T·B)
        # From its first word on, as the state before it is empty; what follows is not asked for.
        place = torch.arange(self.order, device=inputs.device).unsqueeze(1)
        places = (place + self.order - length).clamp(max=self.order - 1).unsqueeze(2)
        read = windows[:, :, :-1].gather(0, places.expand(-1, -1, self.inputs))
        self.within.dropout.texts = inputs.shape[1]
        outputs, _ = self.within(read, self.within.initial_state(read.shape[1]))
        last = (length - 1).view(1, -1, 1).expand(-1, -1, outputs.shape[2])
        h = outputs.gather(0, last).view(*inputs.shape[:2], -1)
        return h, ((seen[len(seen) - self.order + 1 :],),)

    def initial_state(self, batch: int) -> State:
        weight = next(self.within.parameters())
        return ((weight.new_zeros(self.order - 1, batch, self.inputs + 1),),)


class _WindowDropout(VariationalDropout):
    """Of windows (order × T·B × D), each step of which drops its own, drawn for all B texts."""

    texts = 1

    def forward(self, windows: Tensor) -> Tensor:
        steps = windows.unflatten(1, (-1, self.texts)).flatten(0, 1)
        return super().forward(steps).view_as(windows)


class _WindowLSTM(LSTM):
    dropout: _WindowDropout


@about(hidden="none")
class Linear(Encoder):
    """A log-linear model without a network, the other limit of the LL-RNN: h_t = M·ψ_t.

    Words before the last one are forgotten, and there is no nonlinearity: with the adaptor, log p =
    log b + ψ·A·φ − log Z, the matrix A being of the rank of h.
    """

    def __init__(self, inputs: int, hidden: int, outputs: int, layers: int, dropout: float = 0.0):
        super().__init__()
        self.map = nn.Linear(inputs, outputs, bias=False)

    def forward(self, inputs: Tensor, state: State) -> tuple[Tensor, State]:
        return self.map(inputs), state

    def initial_state(self, batch: int) -> State:
        return ()
