"""A part as its file describes it: read from the source, so that nothing is imported to know it.

    @ENCODERS.register("window")
    class Window(nn.Module):
        \"""Its meaning: the first line of this text.\"""

        def __init__(self, inputs: int, *, order: int = 4):  # order: a setting of its own

Settings are the keyword-only parameters of a function, or of the constructor that a class writes
itself, with type and default; the comment beside one is its meaning.
"""

import ast
import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from reprlib import repr as short
from types import NoneType
from typing import Any

TYPES = {"int": int, "float": float, "bool": bool, "str": str, "None": NoneType}


@dataclass(frozen=True)
class Setting:
    """What a part may be told beyond what all of its kind are."""

    types: tuple[type, ...]
    default: Any
    meaning: str

    def checked(self, value: Any) -> Any:
        """The value as one of the types, or an error that names them."""
        if float in self.types and type(value) in (int, str):  # YAML reads 1e-3 as text
            with suppress(ValueError, OverflowError):
                value = float(value)
        if type(value) not in self.types or (type(value) is float and not math.isfinite(value)):
            expected = " or ".join(name for name, kind in TYPES.items() if kind in self.types)
            raise ValueError(f"expected {expected.replace('None', 'null')}, found {short(value)}")
        return value


@dataclass(frozen=True)
class Part:
    """Where a part is defined, what it is in a sentence, and its settings."""

    file: Path
    attribute: str
    meaning: str
    settings: Mapping[str, Setting]
    about: Mapping[str, Any]  # what else its decorator says of it


def registered_in(file: Path) -> dict[str, Part]:
    """The parts that a file registers, by name, in its order."""
    text = file.read_text(encoding="utf-8")
    found = {}
    for node in ast.parse(text).body:
        for decorator in getattr(node, "decorator_list", ()):
            match decorator:
                case ast.Call(ast.Attribute(attr="register"), [ast.Constant(str(name))]):
                    found[name] = _described(node, file, text)
    return found


def defined_in(file: Path, attribute: str) -> Part:
    """A class or function of a file."""
    text = file.read_text(encoding="utf-8")
    for node in ast.parse(text).body:
        if getattr(node, "name", None) == attribute:
            return _described(node, file, text)
    raise ValueError(f"{file}: expected a class or function '{attribute}'")


def _described(node: ast.ClassDef | ast.FunctionDef, file: Path, text: str) -> Part:
    meaning = (ast.get_docstring(node) or "").partition("\n\n")[0].replace("\n", " ")
    function = node
    if isinstance(node, ast.ClassDef):
        inside = {each.name: each for each in node.body if isinstance(each, ast.FunctionDef)}
        function = inside.get("__init__")
    settings = _settings(function.args, file, text.splitlines()) if function else {}
    said = [each for call in node.decorator_list for each in getattr(call, "keywords", ())]
    about = {each.arg: ast.literal_eval(each.value) for each in said}
    return Part(file, node.name, meaning, settings, about)


def _settings(arguments: ast.arguments, file: Path, lines: list[str]) -> dict[str, Setting]:
    found = {}
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        names = ast.unparse(argument.annotation).split(" | ") if argument.annotation else []
        try:
            types = tuple(TYPES[name] for name in names)
            value = ast.literal_eval(default)
        except (KeyError, ValueError, AttributeError):
            types = ()
        if not types:
            raise ValueError(
                f"{file}, line {argument.lineno}: expected the setting '{argument.arg}' to have a "
                f"type of {', '.join(TYPES)} and a default that is written out"
            )
        meaning = lines[argument.lineno - 1].partition("  # ")[2]
        found[argument.arg] = Setting(types, value, meaning)
    return found
