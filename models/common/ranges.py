"""Ranges of positions, each with its start and length, without a loop over them."""

import numpy as np


def in_a_row(starts: np.ndarray | int, lengths: np.ndarray) -> np.ndarray:
    """All positions of the first range, then all of the second…"""
    before = np.cumsum(lengths) - lengths
    return np.arange(lengths.sum()) + np.repeat(starts - before, lengths)


def in_columns(starts: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A column for each range, 0 below the shorter ones, and which are positions: (T × B)."""
    steps = np.arange(lengths.max(initial=0))[:, None]
    is_place = steps < lengths
    return np.where(is_place, starts + steps, 0), is_place
