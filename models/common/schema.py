"""One schema for configurations, settings of parts and JSON: types with limits and meanings.

    bptt: Annotated[int, Range(ge=1), "words of the stream between two steps"] = 35

A text in an annotation is the meaning, `Range` the limits. `checked` validates a value, and
`json_schema` describes the type for editors. It is not msgspec, as a machine that trains has torch,
numpy and safetensors alone, and as msgspec knows no parts of a registry.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, asdict, dataclass, fields, is_dataclass
from functools import cache
from reprlib import Repr
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from accord.errors import AccordError
from accord.models.common.checks import nearest

_brief = Repr()
_brief.maxstring = _brief.maxother = _brief.maxlong = 100
short = _brief.repr  # of a value in an error: aliases of aliases make a few lines of YAML endless

NAMES = {
    int: "int",
    float: "float",
    bool: "bool",
    str: "str",
    dict: "keys and values",
    NoneType: "null",
}
JSON_TYPES = {int: "integer", float: "number", bool: "boolean", str: "string", NoneType: "null"}


@dataclass(frozen=True)
class Range:
    """Limits of a number, named as in JSON schema and the packages that check types."""

    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    lt: float | None = None

    def checked(self, value: Any, where: str) -> Any:
        """Return the value, or raise an error that names the limits."""
        fits = value is None or (
            (self.ge is None or value >= self.ge)
            and (self.gt is None or value > self.gt)
            and (self.le is None or value <= self.le)
            and (self.lt is None or value < self.lt)
        )
        if not fits:
            raise AccordError(f"{where}: expected {self}, got {short(value)}")
        return value

    def __str__(self) -> str:
        least = f"{self.ge:g}" if self.gt is None else f"more than {self.gt:g}"
        if self.lt is not None:
            return f"from {least} to under {self.lt:g}"
        if self.le is not None:
            return f"from {least} to {self.le:g}"
        return least if self.ge is None else f"{least} or more"

    def json_schema(self) -> dict[str, Any]:
        names = {"ge": "minimum", "gt": "exclusiveMinimum"}
        names |= {"le": "maximum", "lt": "exclusiveMaximum"}
        return {names[key]: limit for key, limit in asdict(self).items() if limit is not None}


class Section:
    """A frozen dataclass whose fields are checked when it is made."""

    def __post_init__(self) -> None:
        hints = hints_of(type(self))
        for name in self.__dataclass_fields__:  # type: ignore[attr-defined]  # of every subclass
            object.__setattr__(self, name, checked(hints[name], getattr(self, name), name))


Kind = TypeVar("Kind")


def _hints_of(kind: Any) -> dict[str, Any]:
    """Return the types of a dataclass's fields, with their limits and meanings."""
    return get_type_hints(kind, include_extras=True)


# Its type stands here, as to mypy a class is no argument of a cached function.
hints_of: Callable[[Any], dict[str, Any]] = cache(_hints_of)


def meaning(hint: Any) -> str:
    """Return the text of an annotation."""
    return next((text for text in extras(hint) if isinstance(text, str)), "")


def extras(hint: Any) -> tuple[Any, ...]:
    """Return what an annotation adds to its type."""
    return get_args(hint)[1:] if get_origin(hint) is Annotated else ()


def plain(hint: Any) -> Any:
    """Return the type of an annotation."""
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


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
        if isinstance(extra, Range):
            value = extra.checked(value, where)
    return value


def _typed(kind: Any, value: Any, where: str) -> Any:
    """Return the value as a type without limits."""
    origin, args = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if origin in (Union, UnionType):
        return _one_of(args, value, where)
    if origin is Literal:
        if not any(type(value) is type(choice) and value == choice for choice in args):
            close = nearest(str(value)[:100], map(str, args), most=0)
            raise AccordError(f"{where}: expected {named(kind)}, got {short(value)}{close}")
        return value
    if origin is tuple:
        items = value if isinstance(value, list | tuple) else [value]
        return tuple(checked(args[0], item, where) for item in items)
    if origin is list and isinstance(value, list):
        return [checked(args[0], item, where) for item in value]
    if origin is dict and isinstance(value, dict):
        return {
            checked(args[0], key, where): checked(args[1], item, f"{where}.{key}")
            for key, item in value.items()
        }
    if is_dataclass(kind) and isinstance(kind, type):
        return value if isinstance(value, kind) else made(kind, value, where)
    if kind is float and type(value) is int and abs(value) < 1e300:
        value = float(value)
    if type(value) is not kind:
        raise AccordError(f"{where}: expected {named(kind)}, got {short(value)}")
    if type(value) is float and not math.isfinite(value):
        raise AccordError(f"{where}: expected a finite number, got {value}")
    return value


def _one_of(kinds: tuple[Any, ...], value: Any, where: str) -> Any:
    """Return the value as the first of several types that it fits."""
    if value is None and NoneType in kinds:
        return None
    others = [kind for kind in kinds if kind is not NoneType]
    if len(others) == 1:
        return checked(others[0], value, where)
    for kind in others:
        try:
            return checked(kind, value, where)
        except AccordError:
            pass
    raise AccordError(f"{where}: expected {' or '.join(map(named, kinds))}, got {short(value)}")


def check_keys(keys: Mapping[Any, Any], known: Mapping[str, Any], where: str, kind: str) -> None:
    """Reject an unknown key and name the nearest valid one."""
    for key in keys:
        if key not in known:
            close = nearest(str(key)[:100], known)
            raise AccordError(f"{where}: unknown {kind} {short(str(key))}{close}")


def made(kind: type[Kind], value: Any, where: str) -> Kind:
    """Return a dataclass with the values of a mapping; missing keys have their defaults."""
    if not isinstance(value, Mapping):
        raise AccordError(f"{where}: expected keys and values, got {short(value)}")
    hints = {field.name: hints_of(kind)[field.name] for field in _init_fields(kind)}
    check_keys(value, hints, where, "key")
    for field in _init_fields(kind):
        if field.name not in value and field.default is field.default_factory is MISSING:
            raise AccordError(f"{where}: expected {field.name}, got none")
    values = {
        key: checked(hint, value[key], f"{where}.{key}")
        for key, hint in hints.items()
        if key in value
    }
    try:
        return kind(**values)
    except AccordError as error:  # of values that do not go together
        raise AccordError(f"{where}.{error}") from None


def _init_fields(kind: Any) -> list[Field]:
    return [field for field in fields(kind) if field.init]


def named(kind: Any) -> str:
    """Return the name of a type for an error."""
    kind = plain(kind)
    origin, args = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return " or ".join(map(named, args))
    if origin is Literal:
        return f"one of {', '.join(map(str, args))}"
    if origin in (tuple, list):
        return "a list"
    return NAMES.get(origin or kind) or "keys and values"


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
    if not is_dataclass(kind):
        return {"type": "object"} | (
            {"additionalProperties": json_schema(args[1])} if origin is dict else {}
        )
    properties = {}
    for field in _init_fields(kind):
        properties[field.name] = json_schema(hints_of(kind)[field.name])
        if field.default is not MISSING:
            default = field.default
            properties[field.name]["default"] = (
                vars(default) if isinstance(default, Section) else default
            )
    return {"type": "object", "properties": properties, "additionalProperties": False}
