"""Encoders of the last words that keep no recurrent state: CBOW and dilated convolutions."""

from itertools import pairwise

import torch
from torch import Tensor, nn

from accord.models.common.batching import State
from accord.models.encoders.recurrent import Encoder, Layers, StackedLayer, VariationalDropout


class CBOW(Encoder):
    """A bag of the last words, in no order: h_t = f(mean of ψ_t … ψ_{t−order+1}).

    Continuous bag of words (Mikolov et al. 2013; Goldberg 2017, §15.1 compares it with RNNs). f is
    a feed-forward net of `layers` layers. A text's first words have fewer before them, and the mean
    is over these.
    """

    def __init__(
        self,
        inputs: int,
        hidden: int,
        outputs: int,
        layers: int,
        dropout: float = 0.0,
        *,
        order: int = 8,  # words in the bag, the last one included
    ):
        super().__init__()
        if order < 1:
            raise ValueError(f"encoder: cbow.order: expected 1 or more, got {order}")
        self.inputs, self.order = inputs, order
        widths = [inputs, *[hidden] * (layers - 1), outputs]
        self.layers = nn.ModuleList(nn.Linear(*pair) for pair in pairwise(widths))
        self.dropout = VariationalDropout(dropout)

    def forward(self, inputs: Tensor, state: State) -> tuple[Tensor, State]:
        # Beside each input a 1, which counts the words of a bag.
        seen = torch.cat([state[0][0], nn.functional.pad(inputs, (0, 1), value=1.0)])
        sums = seen.unfold(0, self.order, 1).sum(dim=-1)
        outputs = sums[..., :-1] / sums[..., -1:]
        for number, layer in enumerate(self.layers):
            outputs = layer(self.dropout(outputs) if number else outputs).tanh()
        return outputs, ((seen[len(seen) - self.order + 1 :],),)

    def initial_state(self, batch: int) -> State:
        weight = next(self.parameters())
        return ((weight.new_zeros(self.order - 1, batch, self.inputs + 1),),)


class Dilated(Encoder):
    """Causal convolutions over words, each layer with wider gaps than the one below.

        h^l_t = tanh(W^l·[h^{l−1}_t; h^{l−1}_{t−d}; … h^{l−1}_{t−(k−1)d}] + c),    d = k^(l−1)

    Dilated convolutions (Strubell et al. 2017; Goldberg 2017, §13.3). With a width of k, l layers
    see k^l words, each once. A layer whose output is as wide as its input adds its input (a
    residual connection).
    """

    def __init__(
        self,
        inputs: int,
        hidden: int,
        outputs: int,
        layers: int,
        dropout: float = 0.0,
        *,
        width: int = 2,  # words that a layer reads at each step
    ):
        super().__init__()
        if width < 1:
            raise ValueError(f"encoder: dilated.width: expected 1 or more, got {width}")
        widths = [inputs, *[hidden] * (layers - 1), outputs]
        self.layers: Layers[_Convolution] = Layers(
            _Convolution(*pair, width, width**number)
            for number, pair in enumerate(pairwise(widths))
        )
        self.dropout = VariationalDropout(dropout)

    def forward(self, inputs: Tensor, state: State) -> tuple[Tensor, State]:
        after = []
        for number, (layer, (before,)) in enumerate(zip(self.layers, state, strict=True)):
            inputs, layer_state = layer(self.dropout(inputs) if number else inputs, before)
            after.append((layer_state,))
        return inputs, tuple(after)

    def initial_state(self, batch: int) -> State:
        return tuple(layer.initial_state(batch) for layer in self.layers)


class _Convolution(StackedLayer):
    """One causal layer; its state is the inputs that are still within reach."""

    def __init__(self, inputs: int, outputs: int, width: int, gap: int):
        super().__init__()
        self.width, self.gap, self.inputs = width, gap, inputs
        self.map = nn.Linear(width * inputs, outputs)
        self.adds = inputs == outputs

    def forward(self, inputs: Tensor, before: Tensor) -> tuple[Tensor, Tensor]:
        seen = torch.cat([before.to(inputs.dtype), inputs])
        reach = len(before)
        read = [seen[reach - back : len(seen) - back] for back in self._back]
        outputs = self.map(torch.cat(read, dim=-1)).tanh()
        return outputs + inputs if self.adds else outputs, seen[len(seen) - reach :]

    @property
    def _back(self) -> range:
        """How far back the words are that it reads."""
        return range(0, self.width * self.gap, self.gap)

    def initial_state(self, batch: int) -> tuple[Tensor, ...]:
        reach = (self.width - 1) * self.gap
        return (self.map.weight.new_zeros(reach, batch, self.inputs),)
