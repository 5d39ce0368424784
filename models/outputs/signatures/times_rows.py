"""Products that are as wide as there are signatures, as a GPU computes them fast."""

from torch import Tensor, nn

ALIGNED_ROWS = 8  # of which the number of rows is a multiple for fast products in bfloat16


def times_rows(h: Tensor, rows: Tensor) -> Tensor:
    """h·rowsᵀ (N × S), on a GPU by way of a few rows more, as its fast kernels want."""
    lacking = -len(rows) % ALIGNED_ROWS
    if not lacking or not h.is_cuda:
        return h @ rows.T
    return (h @ nn.functional.pad(rows, (0, 0, 0, lacking)).T)[:, : len(rows)]


def sum_of_rows(p: Tensor, rows: Tensor) -> Tensor:
    """p·rows (N × H) for weights p (N × S), by way of the same."""
    lacking = -len(rows) % ALIGNED_ROWS
    if not lacking or not p.is_cuda:
        return p @ rows
    return nn.functional.pad(p, (0, lacking)) @ nn.functional.pad(rows, (0, 0, 0, lacking))
