"""An encoder's state: a tuple of tensors for each layer, the batch in dimension 1 of each."""

from torch import Tensor

State = tuple[tuple[Tensor, ...], ...]


def detached(state: State) -> State:
    """The same state, cut from the graph that computed it."""
    return tuple(tuple(tensor.detach() for tensor in layer) for layer in state)


def columns(state: State, chosen: Tensor | slice) -> State:
    """Those columns of a state, whole in memory, as the kernels of a GPU want it."""
    return tuple(tuple(tensor[:, chosen].contiguous() for tensor in layer) for layer in state)
