"""Presets and files put on their bases; strict YAML.

A layer changes the sections below it. A part that is named again keeps the settings that the layer
does not change, a mapping keeps its other keys, and a list whose items begin with + is added.
"""

import re
from collections.abc import Hashable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from accord.errors import AccordError, NotFoundError
from accord.models.common.checks import expect, nearest
from accord.models.common.registry import Registry, parts_chosen
from accord.models.common.schema import short
from accord.pipeline.config.sections import SECTIONS


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader takes the last of two equal keys; this one takes neither.

    It reads 1e-3 as a number, as YAML 1.2 does.
    """

    def construct_mapping(self, node: yaml.Node, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[tuple[str, str]] = set()
        for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            if isinstance(key, yaml.ScalarNode):
                if (key.tag, key.value) in seen:
                    fault = f"the key '{key.value}' stands twice"
                    raise yaml.constructor.ConstructorError(None, None, fault, key.start_mark)
                seen.add((key.tag, key.value))
        return super().construct_mapping(node, deep)


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?\d+(\.\d*)?[eE][-+]?\d+$"), list("-+0123456789")
)


def parse(text: str, where: str) -> Any:
    """Parse YAML; `where` names the text in an error."""
    try:
        return yaml.load(text, _Loader)
    except Exception as error:  # PyYAML raises many kinds of errors, for `!!int x` or a thousand [
        fault = str(error).replace(' in "<unicode string>",', "") or type(error).__name__
        raise AccordError(f"{where} is not valid YAML: {fault[:500]}") from None


PRESETS = files("accord.pipeline.config") / "presets"
CONFIGURATIONS = (".yaml", ".yml")  # endings of files that a user writes


def preset_names() -> list[str]:
    return sorted(path.name.removesuffix(".yaml") for path in PRESETS.iterdir())


def preset_text(name: str) -> str:
    """Return the text of a preset."""
    if name not in preset_names():
        raise AccordError(f"no preset '{name}'{nearest(name, preset_names())}")
    return (PRESETS / f"{name}.yaml").read_text(encoding="utf-8")


def put_on(kind: type, values: Mapping[str, Any], layer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a section, changed by those of a layer."""
    changed, chosen = dict(values), parts_chosen(kind)
    for key, value in layer.items():
        below = changed.get(key, _default(kind, key))
        if isinstance(chosen.get(key), Registry):
            value = _chosen(below, value)
        elif isinstance(value, dict) and isinstance(below, dict):
            value = {**below, **value}
        elif isinstance(below, list | tuple):
            value = _listed(key, below, value)
        changed[key] = value
    return changed


def _default(kind: type, key: Any) -> Any:
    default = next((field.default for field in fields(kind) if field.name == key), None)
    return None if default is MISSING or is_dataclass(default) else default


def _chosen(below: Any, choice: Any) -> Any:
    """Return a choice that keeps the settings of the one below if it names the same part."""
    if not isinstance(choice, str | dict) or not isinstance(below, str | dict):
        return choice
    old = below if isinstance(below, dict) else {"kind": below}
    new = choice if isinstance(choice, dict) else {"kind": choice}
    return {**old, **new} if new.get("kind", old.get("kind")) == old.get("kind") else choice


def _listed(key: str, below: Any, value: Any) -> Any:
    """Return the list, or that below with the items that begin with + added."""
    items = [str(item) for item in (value if isinstance(value, list | tuple) else [value])]
    added = [item.removeprefix("+").strip() for item in items if item.startswith("+")]
    if not added:
        return value
    whole = "a whole list, or a + before each that is added"
    expect(key, len(added) == len(items), whole, ", ".join(items))
    return list(dict.fromkeys([*below, *added]))


def layered(source: str, above: tuple[str, ...] = ()) -> tuple[dict, str]:
    """Return a file merged with its base, section by section; and its name for errors."""
    text, where = _read(source)
    if where in above:
        raise AccordError(f"{where} is its own base")
    raw = parse(text, where)
    if not isinstance(raw, dict):
        value = "nothing" if raw is None else short(raw)
        raise AccordError(f"{where}: expected sections such as 'corpus:', got {value}")
    if "base" not in raw:
        return raw, where
    try:
        below, _ = layered(str(raw.pop("base")), (*above, where))
    except AccordError as error:
        raise AccordError(f"{where}, base: {error}") from None
    for section, keys in raw.items():
        both = isinstance(keys, dict) and isinstance(below.get(section), dict)
        if both and section == "models":
            below[section] = _models(keys, below[section], where)
        elif both and section in SECTIONS:
            try:
                below[section] = put_on(SECTIONS[section], below[section], keys)
            except AccordError as error:
                raise AccordError(f"{where}, {section}.{error}") from None
        elif keys is not None:
            below[section] = keys
    return below, where


def base_of(source: str) -> dict | None:
    """Return the configuration that a user's file changes, or None for a preset."""
    if not _is_file(Path(source)):
        return None
    base = parse(_read(source)[0], source).get("base")
    return {} if base is None else layered(str(base))[0]


def _models(models: dict, below: dict, where: str) -> dict:
    """Return a file's models instead of its base's; if one is null, both without it."""
    removed = {name for name, changes in models.items() if changes is None}
    for name in removed:
        if below.get(name) is None:
            raise AccordError(
                f"{where}: null removes a model of the base, which has no "
                f"'{name}'{nearest(str(name), map(str, below))}"
            )
    kept = below | models if removed else models
    return {name: changes for name, changes in kept.items() if name not in removed}


def _read(source: str) -> tuple[str, str]:
    """Return the text of a file or preset, and its name for errors."""
    path = Path(source)
    if _is_file(path):
        try:
            return path.read_text(encoding="utf-8"), str(path)
        except UnicodeDecodeError as error:
            raise AccordError(f"{path} is not UTF-8: bad byte at offset {error.start}") from None
    if path.suffix in CONFIGURATIONS:
        others = [str(file) for ending in CONFIGURATIONS for file in path.parent.glob(f"*{ending}")]
        raise NotFoundError(f"no configuration file {path}{nearest(str(path), others, 0)}")
    try:
        return preset_text(source), f"preset '{source}'"
    except AccordError as error:
        hint = "a configuration of your own is named by its path, ending in .yaml"
        raise AccordError(f"{error}; {hint}") from None


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name too long for a file, or with a NUL in it
        return False
