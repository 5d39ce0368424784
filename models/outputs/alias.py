"""The alias method (Walker 1977, Vose 1991): a draw from any distribution in constant time."""

import numpy as np
import torch
from torch import Tensor, nn


class AliasTables(nn.Module):
    """One table for each of several distributions that lie one after another in `log_mass`.

    Each position keeps what it may of an even share and leaves the rest to one alias.
    """

    def __init__(self, log_mass: Tensor, starts: Tensor):
        super().__init__()
        keep, alias = np.ones(len(log_mass)), np.arange(len(log_mass))
        log_masses, bounds = log_mass.double().cpu().numpy(), starts.tolist()
        for number in np.flatnonzero(np.diff(bounds) > 1):
            part = slice(bounds[number], bounds[number + 1])
            heaviest = log_masses[part].max()
            if heaviest > -np.inf:
                keep[part], alias[part] = _table(np.exp(log_masses[part] - heaviest))
                alias[part] += part.start
        for name, array in (("keep", keep), ("alias", alias)):
            self.register_buffer(name, torch.from_numpy(array).to(starts.device), persistent=False)
        self.register_buffer("starts", starts[:-1], persistent=False)
        self.register_buffer("sizes", starts.diff(), persistent=False)

    def draw(self, numbers: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """A position from each of the distributions named."""
        slot, coin = torch.rand(
            2, len(numbers), dtype=torch.float64, device=numbers.device, generator=generator
        )
        position = self.starts[numbers] + (slot * self.sizes[numbers]).long()
        return torch.where(coin < self.keep[position], position, self.alias[position])


def _table(mass: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How much of an even share each position keeps, and who takes the rest of it."""
    share = (mass * (len(mass) / mass.sum())).tolist()
    alias = list(range(len(mass)))
    poor = [position for position, value in enumerate(share) if value < 1]
    rich = [position for position, value in enumerate(share) if value >= 1]
    while poor and rich:
        giver = rich[-1]
        taker = poor.pop()
        alias[taker] = giver
        share[giver] -= 1 - share[taker]
        if share[giver] < 1:
            poor.append(rich.pop())
    # What is left keeps all of an even share, up to rounding: the alias is the position itself.
    return np.array(share), np.array(alias)
