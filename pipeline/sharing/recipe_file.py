"""A recipe from elsewhere: every key is one, and every value is of its kind."""

import math
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from accord.models.common.files.json_file import load_json
from accord.models.recipe import MOVED, Recipe


def read_recipe(path: Path) -> Recipe:
    content = load_json(path, dict)
    hints = get_type_hints(Recipe)
    for key in content:
        if key not in hints and key not in MOVED:
            raise ValueError(f"{path}: unknown key {key!r:.100}")
    try:
        for key, value in Recipe.settled(Recipe.layered({}, content)).items():
            if not _fits(value, hints[key]):
                raise ValueError(f"{key}: expected {_named(hints[key])}, got {value!r:.100}")
        return Recipe.read(content)
    except ValueError as error:  # of a number out of its range
        raise ValueError(f"{path}: {error}") from None


def _fits(value: Any, hint: Any) -> bool:
    if get_origin(hint) is Literal:
        return value in get_args(hint)
    if get_origin(hint) is tuple:  # of any length, which JSON has as a list
        return type(value) is list and all(_fits(each, get_args(hint)[0]) for each in value)
    if get_args(hint):
        return any(_fits(value, each) for each in get_args(hint))
    if hint is float and type(value) in (int, float):
        return abs(value) < math.inf
    return type(value) is hint


def _named(hint: Any) -> str:
    return getattr(hint, "__name__", str(hint)) if not get_args(hint) else str(hint)
