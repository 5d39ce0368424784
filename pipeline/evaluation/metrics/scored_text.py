"""What metrics are computed from."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class ScoredText:
    """The words and sentence ends of a text; the arrays have one number for each."""

    log_p: np.ndarray  # in nats
    is_end: np.ndarray
    is_spelled: np.ndarray  # words that had to be spelled
    is_unseen: np.ndarray  # words that training lacks
    characters: int  # of the text as it is written

    @property
    def words(self) -> int:
        """Without the ends."""
        return int((~self.is_end).sum())
