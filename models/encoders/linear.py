"""No network at all: the weights of the features depend on the last word's features alone."""

from torch import Tensor, nn

from accord.models.common.state import State


class Linear(nn.Module):
    """A log-linear model without a network, the other limit of the LL-RNN: h_t = M·ψ_t.

    Nothing of the words before the last one is kept, and nothing is bent: with the adaptor,
    log p = log b + ψ·A·φ − log Z, the matrix A being of the rank of h.
    """

    def __init__(self, inputs: int, hidden: int, outputs: int, layers: int, dropout: float = 0.0):
        super().__init__()
        self.map = nn.Linear(inputs, outputs, bias=False)

    def forward(self, inputs: Tensor, state: State) -> tuple[Tensor, State]:
        return self.map(inputs), state

    def initial_state(self, batch: int) -> State:
        return ()
