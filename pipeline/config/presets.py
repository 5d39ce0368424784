"""Presets and files put on their bases; strict YAML.

Light enough to be read before any stage is imported: a mistyped name is answered at once.
"""

from collections.abc import Hashable
from importlib.resources import files
from pathlib import Path
from reprlib import Repr
from typing import Any

import yaml

from accord.errors import AccordError, NotFoundError
from accord.models.common.checks import nearest
from accord.models.recipe import Recipe
from accord.pipeline.sections import FeaturiseParams


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader takes the last of two equal keys; this one takes neither."""

    def construct_mapping(self, node: yaml.Node, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[tuple[str, str]] = set()
        for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            if isinstance(key, yaml.ScalarNode):
                if (key.tag, key.value) in seen:
                    fault = f"the key '{key.value}' stands twice"
                    raise yaml.constructor.ConstructorError(None, None, fault, key.start_mark)
                seen.add((key.tag, key.value))
        return super().construct_mapping(node, deep)


def parse(text: str, where: str) -> Any:
    """Parse YAML; `where` names the text in an error."""
    try:
        return yaml.load(text, _Loader)
    except Exception as error:  # PyYAML raises many kinds of errors, for `!!int x` or a thousand [
        said = str(error).replace(' in "<unicode string>",', "") or type(error).__name__
        raise AccordError(f"{where} is not valid YAML: {said[:500]}") from None


# Sections that know how to put a layer on another.
LAYERED = {"train": Recipe.layered, "featurise": FeaturiseParams.layered}
PRESETS = files("accord.pipeline.config") / "presets"
CONFIGURATIONS = (".yaml", ".yml")  # endings of files that a user writes

_brief = Repr()
_brief.maxstring = _brief.maxother = _brief.maxlong = 100
short = _brief.repr  # of a value in an error: aliases of aliases make a few lines of YAML endless


def preset_names() -> list[str]:
    return sorted(path.name.removesuffix(".yaml") for path in PRESETS.iterdir())


def preset_text(name: str) -> str:
    """The text of a preset."""
    if name not in preset_names():
        raise AccordError(f"no preset '{name}'{nearest(name, preset_names())}")
    return (PRESETS / f"{name}.yaml").read_text(encoding="utf-8")


def layered(source: str, above: tuple[str, ...] = ()) -> tuple[dict, str]:
    """A file merged with its base, section by section; and its name for errors."""
    text, where = _read(source)
    if where in above:
        raise AccordError(f"{where} is its own base")
    raw = parse(text, where)
    if not isinstance(raw, dict):
        found = "nothing" if raw is None else short(raw)
        raise AccordError(f"{where}: expected sections such as 'corpus:', found {found}")
    if "base" not in raw:
        return raw, where
    try:
        below, _ = layered(str(raw.pop("base")), (*above, where))
    except (ValueError, FileNotFoundError) as error:
        raise AccordError(f"{where}, base: {error}") from None
    for section, keys in raw.items():
        both = isinstance(keys, dict) and isinstance(below.get(section), dict)
        if both and section == "models":
            below[section] = _models(keys, below[section], where)
        elif keys is not None:
            put = LAYERED.get(section, dict.__or__)
            below[section] = put(below[section], keys) if both else keys
    return below, where


def base_of(source: str) -> dict | None:
    """The configuration that a user's file changes, empty if it names none; None for a preset."""
    if not _is_file(Path(source)):
        return None
    base = parse(_read(source)[0], source).get("base")
    return {} if base is None else layered(str(base))[0]


def _models(models: dict, below: dict, where: str) -> dict:
    """A file's models instead of its base's; if one is null, the models of both without it."""
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
    path = Path(source)
    if _is_file(path):
        return _text(path), str(path)
    if path.suffix in CONFIGURATIONS:
        others = [str(each) for ending in CONFIGURATIONS for each in path.parent.glob(f"*{ending}")]
        raise NotFoundError(f"no configuration file {path}{nearest(str(path), others, 0)}")
    try:
        return preset_text(source), f"preset '{source}'"
    except ValueError as error:
        hint = "a configuration of your own is named by its path, ending in .yaml"
        raise AccordError(f"{error}; {hint}") from None


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name too long for a file, or with a NUL in it
        return False


def _text(path: Path) -> str:
    """A file's text, or an error that says where it stops being UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise AccordError(f"{path} is not UTF-8: bad byte at offset {error.start}") from None
