"""What a layer that draws at random must know where several processes share a batch."""

from typing import Protocol


class Share(Protocol):
    """Which columns of a batch pass here, where several processes share them."""

    of: int  # how many columns the whole batch has
    columns: slice
