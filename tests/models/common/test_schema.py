"""Values are checked against annotated types, and the types describe themselves."""

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import pytest

from accord.models.common.schema import Range, Section, checked, json_schema, meaning


@dataclass(frozen=True)
class Inner:
    size: Annotated[int, Range(ge=1), "of the inner one"]
    share: Annotated[float, Range(ge=0, lt=1)] = 0.5

    def __post_init__(self):
        if self.size == 13:
            raise ValueError("never seen: a programming error keeps its class")


@dataclass(frozen=True)
class Outer(Section):
    inner: Inner | None = None
    names: tuple[str, ...] = ()
    way: Literal["up", "down"] = "up"
    weights: dict[str, Annotated[float, Range(ge=0)]] = field(default_factory=dict)
    either: Annotated[int | str, "a number or a name"] = 0
    lists: list[int] = field(default_factory=list)
    anything: Any = None


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ({}, Outer()),
        ({"inner": {"size": 2}}, Outer(Inner(2))),
        ({"inner": None, "names": "one"}, Outer(names=("one",))),
        ({"names": ["a", "b"], "way": "down"}, Outer(names=("a", "b"), way="down")),
        ({"weights": {"x": 1}, "either": "a"}, Outer(weights={"x": 1.0}, either="a")),
        ({"lists": [1, 2], "anything": {3: [4]}}, Outer(lists=[1, 2], anything={3: [4]})),
    ],
)
def test_a_mapping_becomes_its_dataclass(written, read):
    assert checked(Outer, written, "x") == read


@pytest.mark.parametrize(
    ("written", "fault"),
    [
        ([], r"^x: expected keys and values, got \[\]"),
        ({"nmaes": []}, "^x: unknown key 'nmaes'; the nearest is 'names'"),
        ({"inner": {}}, r"^x\.inner: expected size, got none"),
        ({"inner": {"size": True}}, r"^x\.inner\.size: expected int, got True"),
        ({"inner": {"size": 1, "share": 1}}, r"x\.inner\.share: expected from 0 to under 1, got 1"),
        ({"inner": {"size": 1, "share": 10**400}}, "share: expected float, got 1"),
        ({"way": "dwn"}, "x.way: expected one of up, down, got 'dwn'; the nearest is 'down'"),
        ({"weights": {"a": -1}}, r"^x\.weights\.a: expected 0 or more, got -1"),
        ({"either": 0.5}, r"^x\.either: expected int or str, got 0\.5"),
    ],
)
def test_an_error_names_the_place_and_what_was_expected(written, fault):
    with pytest.raises(ValueError, match=fault):
        checked(Outer, written, "x")


def test_a_section_is_checked_however_it_is_made():
    assert Outer(names=["a"]).names == ("a",)
    with pytest.raises(ValueError, match=r"^way: expected one of up, down, got 'left'"):
        Outer(way="left")


def test_an_editor_has_types_limits_and_meanings():
    schema = json_schema(Outer)
    assert schema["additionalProperties"] is False
    inner = schema["properties"]["inner"]["anyOf"][0]["properties"]
    assert inner["size"] == {"type": "integer", "minimum": 1, "description": "of the inner one"}
    assert inner["share"] == {
        "type": "number", "minimum": 0, "exclusiveMaximum": 1, "default": 0.5
    }  # fmt: skip
    assert schema["properties"]["way"] == {"enum": ["up", "down"], "default": "up"}
    assert schema["properties"]["either"]["type"] == ["integer", "string"]
    assert meaning(Annotated[int, Range(ge=0), "text"]) == "text" and meaning(int) == ""
