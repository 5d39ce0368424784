"""The configuration: one YAML file, one section per stage, one entry per model.

`models` maps a model's name to what it changes in any section, and `base` names a configuration to
start from. A section's keys, defaults and explanations are the fields of the stage's frozen
dataclass and the comments beside them.
"""

import inspect
import math
import re
import textwrap
import types
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path
from reprlib import Repr
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import yaml

from pipeline.stages import STAGES
from pipeline.strict_yaml import parse

Sections = Mapping[str, Any]  # stage name -> its frozen dataclass
PRESETS = files("pipeline") / "presets"

_brief = Repr()
_brief.maxstring = _brief.maxother = _brief.maxlong = 100
short = _brief.repr  # of a value in an error: aliases of aliases make a few lines of YAML endless


@dataclass(frozen=True)
class Config:
    """A checked configuration: the shared sections, and each model's own full set."""

    name: str
    sections: Sections
    models: Mapping[str, Sections]

    def as_dict(self) -> dict[str, Any]:
        return {
            model: {stage: asdict(params) for stage, params in sections.items()}
            for model, sections in self.models.items()
        }


def preset_names() -> list[str]:
    return sorted(path.name.removesuffix(".yaml") for path in PRESETS.iterdir())


def load_config(source: str, overrides: Sequence[str] = ()) -> Config:
    """Read a preset by name or a YAML file by path, and apply `section.key=value` overrides."""
    raw, where = _layers(source)
    models = raw.pop("models", {"model": None})
    for override in overrides:
        _override(raw, override)
    _check_keys(raw, STAGES, where, "section")
    if not isinstance(models, dict) or not models:
        raise ValueError(
            f"{where}: expected 'models' to map names to changes, found {short(models)}"
        )
    name = Path(source).name.removesuffix(".yaml")
    chains = {
        _model_name(model, where): checked_sections([raw, changes], f"{where}, model '{model}'")
        for model, changes in models.items()
    }
    return Config(name, checked_sections([raw], where), chains)


def _model_name(name: Any, where: str) -> str:
    """A model's name, which also names files: it must not lead out of their folder."""
    if not re.fullmatch(r"[^\W_][^/\\\x00-\x1f]{0,99}", str(name)):
        expected = "names of models that begin with a letter or a digit and hold no slash"
        raise ValueError(f"{where}: expected {expected}, found {short(name)}")
    return str(name)


def _layers(source: str, above: tuple[str, ...] = ()) -> tuple[dict, str]:
    """What a file says, put section by section on what its base says; and its name for errors."""
    text, where = _read(source)
    if where in above:
        raise ValueError(f"{where} is its own base")
    raw = parse(text, where)
    if raw is None:
        raw = {}
    if not isinstance(raw, dict):
        raise ValueError(f"{where}: expected sections such as 'corpus:', found {short(raw)}")
    if "base" not in raw:
        return raw, where
    try:
        below, _ = _layers(str(raw.pop("base")), (*above, where))
    except (ValueError, FileNotFoundError) as error:
        raise ValueError(f"{where}, base: {error}") from None
    for section, keys in raw.items():
        both = isinstance(keys, dict) and isinstance(below.get(section), dict)
        if keys is not None:
            below[section] = below[section] | keys if both and section != "models" else keys
    return below, where


def preset_text(name: str) -> str:
    """A preset's file as it stands."""
    if name not in preset_names():
        raise ValueError(
            f"no preset '{name}'{_nearest(name, preset_names())}; "
            f"a configuration of your own is named by its path, ending in .yaml"
        )
    return (PRESETS / f"{name}.yaml").read_text(encoding="utf-8")


def explain() -> str:
    """Every section, key, default and meaning, in the form of a configuration file."""
    lines = [f"# Presets: {', '.join(preset_names())}."]
    for name, stage in STAGES.items():
        keys = explanations(stage.params)
        lines += ["", f"{name}:{'' if keys else ' {}'}  # {stage.help}"]
        default = stage.params()
        for key, meaning in keys.items():
            lines += _explained(f"{key}: {_as_yaml(getattr(default, key))}", meaning)
    lines += ["", "# base: tiny  # a preset or file whose sections this one changes"]
    lines += ["", "models:  # name -> what it changes in the sections above", "  model: {}"]
    return "\n".join(lines) + "\n"


def _explained(entry: str, meaning: str) -> list[str]:
    """The meaning beside the entry if it fits there, above it if not."""
    if len(entry) + len(meaning) < 92:
        return [f"  {entry}  # {meaning}"]
    return [
        *textwrap.wrap(meaning, 96, initial_indent="  # ", subsequent_indent="  # "),
        f"  {entry}",
    ]


def _as_yaml(value: Any) -> str:
    value = list(value) if isinstance(value, tuple) else value
    text = yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, width=1000)
    return text.splitlines()[0]


def _read(source: str) -> tuple[str, str]:
    path = Path(source)
    if _is_file(path):
        return read_text(path), str(path)
    if path.suffix in {".yaml", ".yml"}:
        raise FileNotFoundError(f"no configuration file {path}")
    return preset_text(source), f"preset '{source}'"


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name too long for a file, or with a NUL in it
        return False


def read_text(path: Path) -> str:
    """A file's text, or an error that says where it stops being UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8: bad byte at offset {error.start}") from None


def _override(raw: dict, override: str) -> None:
    match = re.fullmatch(r"(\w+)\.(\w+)=(.*)", override, re.DOTALL)
    if not match:
        raise ValueError(f"expected --set section.key=value, found '{override}'")
    section, key, value = match.groups()
    raw.setdefault(section, {})
    if not isinstance(raw[section], dict):
        raise ValueError(
            f"section '{section}' holds {short(raw[section])}, so --set cannot change it"
        )
    raw[section][key] = parse(value, f"the value of --set {section}.{key}")


def checked_sections(layers: Sequence[Mapping[str, Any] | None], where: str) -> Sections:
    """Every stage's dataclass, with the layers' values put on the defaults in order."""
    layers = [layer for layer in layers if layer is not None]
    for layer in layers:
        if not isinstance(layer, dict):
            raise ValueError(f"{where}: expected sections to change, found {short(layer)}")
        _check_keys(layer, STAGES, where, "section")
    return {
        name: _section(stage.params, [layer.get(name) for layer in layers], f"{where}, {name}")
        for name, stage in STAGES.items()
    }


def _section(params: type, layers: Sequence[Mapping[str, Any] | None], where: str) -> Any:
    hints = get_type_hints(params)
    values: dict[str, Any] = {}
    for layer in layers:
        if layer is None:
            continue
        if not isinstance(layer, dict):
            raise ValueError(f"{where}: expected keys and values, found {short(layer)}")
        _check_keys(layer, hints, where, "key")
        values |= {key: _typed(value, hints[key], f"{where}.{key}") for key, value in layer.items()}
    return params(**values)


def _check_keys(found: Mapping, valid: Mapping, where: str, kind: str) -> None:
    for key in found:
        if key not in valid:
            said = short(str(key))
            raise ValueError(f"{where}: unknown {kind} {said}{_nearest(str(key), valid)}")


def _nearest(word: str, valid: Any) -> str:
    close = get_close_matches(word, list(valid), n=1, cutoff=0.4)
    return f"; the nearest is '{close[0]}'" if close else f"; there are {', '.join(valid)}"


def _typed(value: Any, hint: Any, where: str) -> Any:
    """The value as the field's type, or an error that names what was expected."""
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        if value is None and type(None) in args:
            return None
        return _typed(value, next(arg for arg in args if arg is not type(None)), where)
    if origin is Literal:
        if value in args:
            return value
        nearest = _nearest(short(value), args)
        raise ValueError(
            f"{where}: expected one of {', '.join(args)}, found {short(value)}{nearest}"
        )
    if origin is tuple:
        items = value if isinstance(value, list | tuple) else [value]
        return tuple(_typed(item, args[0], where) for item in items)
    if hint is float and type(value) is int and abs(value) < 1e300:
        value = float(value)
    if hint is float and isinstance(value, str):  # YAML reads 1e-3 as text
        with suppress(ValueError):
            value = float(value)
    if hint is float and isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{where}: expected a finite number, found {value}")
    if type(value) is not hint:
        raise ValueError(f"{where}: expected {hint.__name__}, found {short(value)}")
    return value


def explanations(params: type) -> dict[str, str]:
    """Each field's comment: on the same line, or on the lines just above it."""
    found: dict[str, str] = {}
    above: list[str] = []
    for line in inspect.getsource(params).splitlines():
        comment = re.fullmatch(r"\s+# (.*)", line)
        named = re.match(r"    (\w+): ", line)
        if comment:
            above.append(comment[1])
        elif named:
            beside = line.partition("  # ")[2]
            found[named[1]] = " ".join([*above, beside] if beside else above)
            above = []
        else:
            above = []
    return {field.name: found.get(field.name, "") for field in fields(params)}
