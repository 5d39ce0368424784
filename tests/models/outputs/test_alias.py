import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from models.alias import AliasTables

distribution = st.lists(st.just(0.0) | st.floats(1e-9, 1e3), min_size=1, max_size=8).filter(any)


@given(st.lists(distribution, min_size=1, max_size=5))
def test_the_tables_hold_the_distributions_exactly(distributions):
    sizes = [len(mass) for mass in distributions]
    starts = torch.tensor(np.concatenate(([0], np.cumsum(sizes))))
    tables = AliasTables(torch.tensor(np.concatenate(distributions)).log(), starts)
    # A position is drawn if it is hit and keeps, or if one whose alias it is is hit and does not.
    keep = tables.keep.clamp(max=1)
    drawn = keep + torch.zeros_like(keep).index_add(0, tables.alias, 1 - keep)
    for mass, start in zip(distributions, starts, strict=False):
        share = drawn[start : start + len(mass)].numpy() / len(mass)
        assert np.allclose(share, np.array(mass) / sum(mass), atol=1e-12)
        assert (share[np.array(mass) == 0] == 0).all()
