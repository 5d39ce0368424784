"""One schema for configurations, settings of parts and JSON: types with limits and meanings.

    bptt: Annotated[int, Range(ge=1), "words of the stream between two steps"] = 35

A text in an annotation is the meaning, `Range` the limits. `checked` validates a value, and
`json_schema` describes the type for editors. It is not msgspec, as a machine that trains has torch,
numpy and safetensors alone, and as msgspec knows no parts of a registry.
"""

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache, partial
from reprlib import Repr
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from accord.errors import AccordError
from accord.models.common.checks import nearest

_brief = Repr()
_brief.maxstring = _brief.maxother = _brief.maxlong = 100
short = _brief.repr  # of a value in an error: aliases of aliases make a few lines of YAML endless

NAMES = {int: "int", float: "float", bool: "bool", str: "str", dict: "keys and values"}
NAMES[NoneType] = "null"
JSON_TYPES = {int: "integer", float: "number", bool: "boolean", str: "string", NoneType: "null"}
LIMITS = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}


@dataclass(frozen=True)
class Range:
    """Limits of a number, named as in Python's `operator`."""

    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    lt: float | None = None

    def __contains__(self, value: float) -> bool:
        limits = vars(self).items()
        return all(limit is None or getattr(operator, name)(value, limit) for name, limit in limits)

    def __str__(self) -> str:
        least = f"{self.ge:g}" if self.gt is None else f"more than {self.gt:g}"
        if self.lt is not None:
            return f"from {least} to under {self.lt:g}"
        if self.le is not None:
            return f"from {least} to {self.le:g}"
        return least if self.ge is None else f"{least} or more"

    def json_schema(self) -> dict[str, Any]:
        return {LIMITS[name]: limit for name, limit in vars(self).items() if limit is not None}


class Section:
    """A frozen dataclass whose fields are checked when it is made."""

    def __post_init__(self) -> None:
        hints = hints_of(type(self))
        for name in self.__dataclass_fields__:  # type: ignore[attr-defined]  # of every subclass
            object.__setattr__(self, name, checked(hints[name], getattr(self, name), name))


Kind = TypeVar("Kind")

# The types of a dataclass's fields, with limits and meanings. Its own type stands here, as to mypy
# a class is no argument of a cached function.
hints_of: Callable[[Any], dict[str, Any]] = cache(partial(get_type_hints, include_extras=True))


def extras(hint: Any) -> tuple[Any, ...]:
    """Return what an annotation adds to its type."""
    return get_args(hint)[1:] if get_origin(hint) is Annotated else ()


def meaning(hint: Any) -> str:
    """Return the text of an annotation."""
    return next((text for text in extras(hint) if isinstance(text, str)), "")


def plain(hint: Any) -> Any:
    """Return the type of an annotation."""
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def is_setting(hint: Any) -> bool:
    """Return whether a type can be that of a setting, which a listing holds as JSON."""
    kinds = get_args(plain(hint)) if isinstance(plain(hint), UnionType) else [plain(hint)]
    return all(kind in NAMES or get_origin(kind) is Literal for kind in kinds)


def checked(kind: type[Kind] | Any, value: Any, where: str) -> Any:
    """Return the value as the type, or raise an error that names the place and what was expected.

    A dataclass is made of a mapping, and a tuple of a list or of a single value. A whole number
    serves as a float. An unknown key is named with the nearest valid one.
    """
    for extra in extras(kind):
        if hasattr(extra, "choose"):  # a registry of parts
            return extra.choose(value, where)
    value = _typed(plain(kind), value, where)
    for extra in extras(kind):
        if isinstance(extra, Range) and value is not None and value not in extra:
            raise AccordError(f"{where}: expected {extra}, got {short(value)}")
    return value


def _typed(kind: Any, value: Any, where: str) -> Any:
    """Return the value as a type without limits."""
    origin, args = get_origin(kind), get_args(kind)
    if kind is Any or (value is None and NoneType in args):
        return value
    if origin in (Union, UnionType):
        kinds = [other for other in args if other is not NoneType]
        for other in kinds:
            try:
                return checked(other, value, where)
            except AccordError:
                if len(kinds) == 1:
                    raise
    elif origin is Literal:
        if any(type(value) is type(choice) and value == choice for choice in args):
            return value
        close = nearest(str(value)[:100], map(str, args), most=0)
        raise AccordError(f"{where}: expected {named(kind)}, got {short(value)}{close}")
    elif origin is tuple or (origin is list and isinstance(value, list)):
        items = value if isinstance(value, list | tuple) else [value]
        return origin(checked(args[0], item, where) for item in items)
    elif origin is dict and isinstance(value, dict):
        return {
            checked(args[0], key, where): checked(args[1], item, f"{where}.{key}")
            for key, item in value.items()
        }
    elif is_dataclass(kind) and not isinstance(value, kind):  # type: ignore[arg-type]  # a class
        return _made(kind, value, where)
    elif kind is float and type(value) is int and abs(value) < 1e300:
        return float(value)
    elif type(value) is kind:
        if kind is float and not math.isfinite(value):
            raise AccordError(f"{where}: expected a finite number, got {value}")
        return value
    raise AccordError(f"{where}: expected {named(kind)}, got {short(value)}")


def check_keys(keys: Mapping[Any, Any], known: Mapping[str, Any], where: str, kind: str) -> None:
    """Reject an unknown key and name the nearest valid one."""
    for key in keys:
        if key not in known:
            close = nearest(str(key)[:100], known)
            raise AccordError(f"{where}: unknown {kind} {short(str(key))}{close}")


def _made(kind: Any, value: Any, where: str) -> Any:
    """Return a dataclass with the values of a mapping; missing keys have their defaults."""
    if not isinstance(value, Mapping):
        raise AccordError(f"{where}: expected keys and values, got {short(value)}")
    known = {field.name: field for field in fields(kind) if field.init}
    check_keys(value, known, where, "key")
    for name, field in known.items():
        if name not in value and field.default is field.default_factory is MISSING:
            raise AccordError(f"{where}: expected {name}, got none")
    hints = hints_of(kind)
    values = {
        name: checked(hints[name], value[name], f"{where}.{name}")
        for name in known
        if name in value
    }
    try:
        return kind(**values)
    except AccordError as error:  # of values that do not go together
        raise AccordError(f"{where}.{error}") from None


def named(kind: Any) -> str:
    """Return the name of a type for an error."""
    origin, args = get_origin(kind), get_args(kind)
    if origin is Annotated or origin in (Union, UnionType):
        return " or ".join(map(named, args[:1] if origin is Annotated else args))
    if origin is Literal:
        return f"one of {', '.join(map(str, args))}"
    return "a list" if origin in (tuple, list) else NAMES.get(kind, "keys and values")


def json_schema(kind: Any) -> dict[str, Any]:
    """Return the JSON schema of a type, with meanings and limits."""
    schema = _schema(plain(kind))
    for extra in extras(kind):
        if hasattr(extra, "json_schema"):  # limits, or a registry of parts
            schema |= extra.json_schema()
    return schema | ({"description": meaning(kind)} if meaning(kind) else {})


def _schema(kind: Any) -> dict[str, Any]:
    origin, args = get_origin(kind), get_args(kind)
    if kind in JSON_TYPES:
        return {"type": JSON_TYPES[kind]}
    if origin in (Union, UnionType):
        kinds = [json_schema(arg) for arg in args]
        if all({*schema} == {"type"} for schema in kinds):
            return {"type": [schema["type"] for schema in kinds]}
        return {"anyOf": kinds}
    if origin is Literal:
        return {"enum": [*args]}
    if origin in (tuple, list):
        items = {"type": "array", "items": json_schema(args[0])}
        return items if origin is list else {"anyOf": [items, json_schema(args[0])]}
    if origin is dict:
        return {"type": "object", "additionalProperties": json_schema(args[1])}
    if not is_dataclass(kind):
        return {"type": "object"}
    properties = {}
    for field in fields(kind):
        if field.init:
            properties[field.name] = json_schema(hints_of(kind)[field.name])
            if field.default is not MISSING:
                is_section = isinstance(field.default, Section)
                default = vars(field.default) if is_section else field.default
                properties[field.name]["default"] = default
    return {"type": "object", "properties": properties, "additionalProperties": False}
