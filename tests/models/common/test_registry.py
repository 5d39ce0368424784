"""Parts stand in a table, are chosen with settings of their own, and may come from outside."""

import json
import subprocess
import sys
from typing import Annotated

import pytest
from plug_in_cases import install

from accord.models.common.registry import LISTING, OWN, Registry, Setting, listing, trust_files
from accord.models.common.schema import Range
from accord.models.parts import ENCODERS, OPTIMISERS
from accord.models.recipe import Recipe

PART = '''
from typing import Annotated

from accord.models.common.schema import Range
from accord.models.parts import ENCODERS

@ENCODERS.register("loud", column="Loud", digits=2)
class Loud:
    """Says what it hears.

    And more of it."""

    def __init__(
        self,
        inputs: int,
        *,
        volume: Annotated[float, Range(ge=0, le=1), "of what it says"] = 0.5,
        echo: int | None = None,
        name: str = "x",
    ):
        self.volume = volume
'''


def test_the_listing_is_what_the_parts_say_of_themselves():
    """`python -m accord.models.parts` writes it."""
    stored = json.loads((OWN / LISTING).read_text(encoding="utf-8"))
    assert stored == json.loads(json.dumps(listing("accord.models")))
    for part in (part for parts in stored.values() for part in parts.values()):
        assert part["meaning"].endswith(".")
        assert all(setting["description"] for setting in part["settings"].values())


def test_to_know_the_parts_torch_is_not_imported():
    program = (
        "import sys; from accord.models.recipe import Recipe; Recipe(encoder={'kind': 'window'}); "
    )
    asked = [sys.executable, "-c", program + "print('torch' in sys.modules)"]
    assert subprocess.run(asked, capture_output=True, text=True).stdout.strip() == "False"


def test_a_part_from_outside_describes_itself(tmp_path, monkeypatch):
    points = {"accord.encoders": ["loud = described_words:Loud"]}
    install(tmp_path, "described-words", {"described_words": PART}, points)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(ENCODERS, "_registered", {**ENCODERS._registered})
    part = ENCODERS.part("loud")
    assert ENCODERS.place("loud") == "described_words:Loud"
    assert part.file == tmp_path / "described_words.py"
    assert part.meaning == "Says what it hears."
    assert part.about == {"column": "Loud", "digits": 2}
    assert part.settings == {
        "volume": Setting(Annotated[float, Range(ge=0, le=1), "of what it says"], 0.5),
        "echo": Setting(int | None, None),
        "name": Setting(str, "x"),
    }


def no_type(given, *, volume=0.5): ...


def unknown_type(given, *, volume: "Loudness" = 3): ...  # noqa: F821


@pytest.mark.parametrize(
    ("part", "said"),
    [
        (no_type, "expected the setting 'volume' to have a type of int, .* and a default"),
        (unknown_type, "name 'Loudness' is not defined"),
    ],
)
def test_a_setting_without_type_or_default_is_refused_by_its_name(part, said):
    registry = Registry("encoder", "accord.nothing")
    registry.register("bad")(part)
    with pytest.raises(ValueError, match=rf"encoder 'bad': expected .*\({said}\)"):
        registry.part("bad")


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        ("lstn", "encoder: expected one of .*linear, .*, got 'lstn'; the nearest is 'lstm'"),
        (3, "encoder: expected one of .*, got 3"),
        ({"kind": "window", "ordre": 3}, "window: unknown setting 'ordre'; the nearest is 'order'"),
        ({"kind": "window", "order": 2.5}, "encoder: window.order: expected int, got 2.5"),
        ({"kind": "transformer", "reach": "x"}, "transformer.reach: expected int, got"),
    ],
)
def test_what_cannot_be_meant_is_refused(choice, said):
    with pytest.raises(ValueError, match=said):
        Recipe(encoder=choice)


def test_a_setting_is_a_finite_number_in_its_range():
    sgd = OPTIMISERS.choose({"kind": "sgd", "momentum": 0})
    assert sgd == {"kind": "sgd", "momentum": 0.0} and type(sgd["momentum"]) is float
    for momentum, expected in ((float("inf"), "a finite number"), (1, "from 0 to under 1")):
        with pytest.raises(ValueError, match=rf"sgd\.momentum: expected {expected}, got"):
            OPTIMISERS.choose({"kind": "sgd", "momentum": momentum})


def test_a_choice_has_one_form_whatever_is_left_to_the_defaults():
    assert Recipe(encoder="window") == Recipe(encoder={"kind": "window", "order": 4})
    assert Recipe(encoder={"kind": "lstm"}).encoder == "lstm"


def test_a_plug_in_that_fails_is_named_and_the_others_are_there(tmp_path, monkeypatch):
    points = ["loud = loud_words:Loud", "silent = silent_words:Silent", "none = loud_words:None_"]
    install(tmp_path, "loud-words", {"loud_words": PART}, {"accord.encoders": points})
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(ENCODERS, "_registered", {**ENCODERS._registered})
    faults = []
    assert "loud" in ENCODERS.parts(faults.append)
    assert "encoder 'silent' of loud-words cannot be loaded: ModuleNotFoundError" in str(faults[0])
    assert "encoder 'none' of loud-words cannot be loaded: AttributeError" in str(faults[1])
    assert ENCODERS.make({"kind": "loud", "volume": 1}, 3).volume == 1.0
    assert Recipe().encoder == "lstm"
    with pytest.raises(ValueError, match="encoder: encoder 'silent' of loud-words cannot be"):
        Recipe(encoder="silent")


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
