"""Parts stand in a table, are chosen with settings of their own, and may come from outside."""

import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest
from plug_in_cases import install

from accord.models import parts, training_parts
from accord.models.common.registry import Registry, Setting, described
from accord.models.parts import ENCODERS, SMOOTHINGS
from accord.models.recipe import Recipe

TABLES = [
    each
    for table in (parts, training_parts)
    for each in vars(table).values()
    if isinstance(each, Registry)
]
PART = '''
from typing import Annotated

from accord.models.parts import ENCODERS

@ENCODERS.register("loud", column="Loud", digits=2)
class Loud:
    """Says what it hears.

    And more of it."""

    def __init__(
        self,
        inputs: int,
        *,
        volume: Annotated[float, "from 0 to 1"] = 0.5,
        echo: int | None = None,
        name: str = "x",
    ):
        self.volume = volume
'''


@pytest.mark.parametrize("registry", TABLES, ids=lambda each: each.kind)
def test_every_part_of_a_table_has_the_settings_that_stand_there(registry):
    assert len(registry) >= 1
    for name, part in registry.parts().items():
        itself = described(registry[name], {})
        assert part.place == itself.place
        settings = {
            name: (each.hint, each.default, type(each.default))
            for name, each in part.settings.items()
        }
        assert settings == {
            name: (each.hint, each.default, type(each.default))
            for name, each in itself.settings.items()
        }
        assert part.meaning.endswith(".") and "\n" not in part.meaning, name
        assert all(setting.meaning for setting in part.settings.values()), name


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
    monkeypatch.setattr(ENCODERS, "_by_hand", {})
    part = ENCODERS.part("loud")
    assert part.place == "described_words:Loud"
    assert part.file == tmp_path / "described_words.py"
    assert part.meaning == "Says what it hears."
    assert part.about == {"column": "Loud", "digits": 2}
    assert part.settings == {
        "volume": Setting(float, 0.5, "from 0 to 1"),
        "echo": Setting(int | None, None, ""),
        "name": Setting(str, "x", ""),
    }


def no_type(given, *, volume=0.5): ...
def wrong_type(given, *, volume: list = 3): ...
def no_default(given, *, volume: int): ...
def unknown_type(given, *, volume: "Loudness" = 3): ...  # noqa: F821


@pytest.mark.parametrize(
    ("part", "said"),
    [
        (no_type, "expected the setting 'volume' to have a type of int, .* and a default"),
        (wrong_type, "expected the setting 'volume' to have a type of int, .* and a default"),
        (no_default, "expected the setting 'volume' to have a type of int, .* and a default"),
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
        ("lstn", "encoder: expected one of .*linear, .*, found 'lstn'; the nearest is 'lstm'"),
        ({"kind": "windo"}, "found 'windo'; the nearest is 'window'"),
        ({"order": 3}, "encoder: expected one of .*, found None"),
        (3, "encoder: expected one of .*, found 3"),
        (["lstm"], r"encoder: expected one of .*, found \['lstm'\]"),
        ({"kind": "window", "ordre": 3}, "window: expected one of order .* the nearest is 'order'"),
        ({"kind": "lstm", "order": 3}, "encoder: lstm: expected none as a setting, found 'order'"),
        ({"kind": "window", "order": 2.5}, "encoder: window.order: expected int, found 2.5"),
        ({"kind": "window", "order": True}, "encoder: window.order: expected int, found True"),
        ({"kind": "transformer", "heads": "x"}, "transformer.heads: expected int or null, found"),
    ],
)
def test_what_cannot_be_meant_is_refused(choice, said):
    with pytest.raises(ValueError, match=said):
        Recipe(encoder=choice)


@pytest.mark.parametrize("value", [0.25, "25e-2"])
def test_a_number_may_be_written_as_yaml_reads_it(value):
    found = SMOOTHINGS.checked({"kind": "add-alpha", "alpha": value})
    assert found == {"kind": "add-alpha", "alpha": 0.25}
    with pytest.raises(ValueError, match=r"add-alpha\.alpha: expected float, found inf"):
        SMOOTHINGS.checked({"kind": "add-alpha", "alpha": float("inf")})


@pytest.mark.parametrize("encoder", ["lstm", "window", {"kind": "window", "order": 6}])
def test_a_recipe_is_the_same_after_it_was_saved(encoder):
    recipe = Recipe(encoder=encoder)
    assert Recipe(**json.loads(json.dumps(asdict(recipe)))) == recipe


def test_a_choice_has_one_form_whatever_is_left_to_the_defaults():
    assert Recipe(encoder="window") == Recipe(encoder={"kind": "window", "order": 4})
    assert Recipe(encoder={"kind": "lstm"}).encoder == "lstm"


def test_a_part_may_be_registered_by_hand_and_accord_s_own_is_not_replaced():
    registry = Registry("encoder", "accord.nothing", dict(ENCODERS.parts()))
    registry.register("mine")(install)
    assert registry["mine"] is install
    assert registry.part("mine").file == Path(install.__code__.co_filename)
    with pytest.raises(ValueError, match="encoder 'lstm' is Accord's own: choose another name"):
        registry.register("lstm")(install)
    registry.register("no file")(len)
    with pytest.raises(ValueError, match="encoder 'no file': expected a class or function of a"):
        registry.part("no file")
    with pytest.raises(KeyError):
        registry["nothing"]


def test_a_plug_in_that_fails_is_named_and_the_others_are_there(tmp_path, monkeypatch):
    points = ["loud = loud_words:Loud", "silent = silent_words:Silent", "none = loud_words:None_"]
    install(tmp_path, "loud-words", {"loud_words": PART}, {"accord.encoders": points})
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(ENCODERS, "_by_hand", {})
    faults = []
    assert [*ENCODERS.parts(faults.append)][-1] == "loud"
    assert "encoder 'silent' of loud-words cannot be loaded: ModuleNotFoundError" in str(faults[0])
    assert "encoder 'none' of loud-words cannot be loaded: AttributeError" in str(faults[1])
    assert ENCODERS.make({"kind": "loud", "volume": 1}, 3).volume == 1.0
    assert Recipe().encoder == "lstm"
    with pytest.raises(ValueError, match="encoder: encoder 'silent' of loud-words cannot be"):
        Recipe(encoder="silent")


def test_a_package_is_found_that_comes_after_others_were_looked_for(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    assert "late" not in ENCODERS
    points = {"accord.encoders": ["late = late_words:Loud"]}
    install(tmp_path, "late-words", {"late_words": PART.replace('"loud"', '"late"')}, points)
    monkeypatch.setattr(ENCODERS, "_by_hand", {})
    assert "late" in ENCODERS and ENCODERS["late"].__module__ == "late_words"
