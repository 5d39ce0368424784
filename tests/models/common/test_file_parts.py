"""A part in a file of the user's own is a part like any other."""

from accord.models.common.registry import trust_files
from accord.models.parts import ENCODERS

MINE = '''
from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from accord.models.encoder import Encoder


@dataclass
class Sizes:
    outputs: int


class Mine(Encoder):
    """h_t = W·ψ_t, cut off at a bound."""

    def __init__(self, inputs, hidden, outputs, layers, dropout=0.0, *, bound: float = 1.0):
        super().__init__()
        self.linear, self.bound = nn.Linear(inputs, Sizes(outputs).outputs), bound

    def forward(self, inputs, state):
        return self.linear(inputs).clamp(-self.bound, self.bound), state

    def initial_state(self, batch):
        return ()
'''


def test_an_encoder_of_a_file_with_a_dataclass_is_made_with_its_settings(tmp_path):
    (tmp_path / "mine.py").write_text(MINE, encoding="utf-8")
    choice = {"kind": f"{tmp_path / 'mine.py'}:Mine", "bound": 0.25}
    trust_files(choice)
    encoder = ENCODERS.make(choice, inputs=3, hidden=4, outputs=5, layers=1)
    assert encoder.bound == 0.25 and encoder.linear.out_features == 5
