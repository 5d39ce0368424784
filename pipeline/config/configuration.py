"""Load, override and check a configuration; keys without effect are rejected.

A value for one model outweighs a value for all, whatever their order.

`models` maps a model's name to what it changes in any section, and `base` names a configuration to
start from. A section's keys and defaults are the fields of the stage's frozen dataclass.
"""

import math
import re
import types
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, is_dataclass
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from accord.errors import AccordError
from accord.models.common.checks import nearest
from accord.models.common.registry import trust_files
from accord.models.recipe import MOVED, Recipe, Teachers
from accord.pipeline.base.messages import say
from accord.pipeline.config.effects import Sections, effective, with_start
from accord.pipeline.config.presets import base_of, layered, parse, short
from accord.pipeline.sections import FeaturiseParams
from accord.pipeline.stages.table import STAGES

TEMPLATES = ("featurise", "templates")
Layer = dict[str, dict[str, Any]]  # section -> key -> value


@dataclass(frozen=True)
class Override:
    """One key, and the model for which it is changed; None: for all."""

    model: str | None
    section: str
    key: str
    value: Any


def read_overrides(texts: Iterable[str], models: Iterable[str]) -> list[Override]:
    """The overrides of `--set`, which must name existing models."""
    return [_read(text, [*models]) for text in texts]


def _read(text: str, models: Sequence[str]) -> Override:
    match = re.fullmatch(r"(?:([^=]+)\.)?(\w+)\.(\w+)=(.*)", text, re.DOTALL)
    if not match:
        raise AccordError(
            f"expected --set section.key=value or model.section.key=value, found '{text}'"
        )
    model, section, key, value = match.groups()
    if model is not None and model not in models:
        raise AccordError(f"--set {text}: no model '{model}'{nearest(model, models)}")
    if model is not None and section in STAGES and STAGES[section].over_models:
        raise AccordError(f"--set {text}: {section} is of all models; expected {section}.{key}=…")
    found = _value(value, _kind(section, key), f"the value of --set {text.partition('=')[0]}")
    return Override(model, section, key, found)


def _value(text: str, kind: Any, where: str) -> Any:
    """A value in YAML. A text is taken as it is, and a list may be separated by commas."""
    found = text if kind is str else parse(text, where)
    if isinstance(found, str) and _is_list(kind):
        return [item.strip() for item in found.split(",")]
    return found


def _kind(section: str, key: str) -> Any:
    """The type of a key; None for an unknown key."""
    return get_type_hints(STAGES[section].params).get(key) if section in STAGES else None


def _is_list(kind: Any) -> bool:
    """Whether a list is among the expected types."""
    return any(get_origin(each) is tuple for each in (kind, *get_args(kind)))


def as_layer(overrides: Iterable[Override], model: str | None) -> Layer:
    """The changes for one model; for None, those for all."""
    found: Layer = {}
    for each in overrides:
        if each.model == model:
            found.setdefault(each.section, {})[each.key] = each.value
    return found


def say_replaced(overrides: Sequence[Override], models: Mapping[str, Mapping[str, Any]]) -> None:
    """Print a line for each key set for all models although some had their own value."""
    for section, keys in as_layer(overrides, None).items():
        for key, value in keys.items():
            named = {each.model for each in overrides if (each.section, each.key) == (section, key)}
            replaced = [
                model
                for model, changes in models.items()
                if (changes.get(section) or {}).get(key, value) != value and model not in named
            ]
            if replaced:
                say(
                    f"--set {section}.{key} is for all models, also for those that have a value of "
                    f"their own: {', '.join(replaced)}; --set MODEL.{section}.{key} is for one"
                )


RENAMED = {  # keys of earlier versions
    "beside": "pretraining",
    "beside_epochs": "pretraining_epochs",
    "trust": "background_gate",
    "average": "ema",
    "gain": "min_delta",
    "decay": "lr_decay",
    "clip": "max_grad_norm",
    "window": "bptt",
    "vary_window": "vary_bptt",
    "size_penalty": "activation_penalty",
    "change_penalty": "temporal_penalty",
}


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


def load_config(
    source: str,
    overrides: Sequence[str] = (),
    models: Sequence[str] = (),
    name: str | None = None,
) -> Config:
    """Read a preset by name or a YAML file by path, and apply `section.key=value` overrides.

    `models` chooses some of its models; `name` is that of the run, else it is the file's.
    """
    raw, where = layered(source)
    declared = _declared(raw.pop("models", {"model": {}}), where)
    changes = read_overrides(overrides, declared)
    for_all = as_layer(changes, None)
    sections = checked_sections([raw, for_all], where)
    layers = {
        model: [raw, declared[model], for_all, as_layer(changes, model)]
        for model in _chosen(models, declared, where)
    }
    asked = {
        model: with_start(layers[model], f"{where}, model '{model}'", checked_sections)
        for model in layers
    }
    say_replaced(changes, {model: declared[model] for model in asked})
    _say_dropped(changes, layers, source)
    name = re.sub(r"\.ya?ml$", "", Path(source).name) if name is None else _name(name, "--name")
    return Config(name, sections, effective(asked, layers, where))


def _say_dropped(
    overrides: Sequence[Override],
    layers: Mapping[str, Sequence[Mapping[str, Any]]],
    source: str,
) -> None:
    """Name the templates that a list of a user's file or of --set takes from a model.

    `form` alone is the RNN, which is meant to have no others.
    """
    base = base_of(source)
    named = {each.model for each in overrides if (each.section, each.key) == TEMPLATES}
    dropped: dict[tuple[str, str], list[str]] = {}
    for model, (raw, own, *of_set) in layers.items():
        of_file = _templates(raw, own)
        if base is not None and of_file != ["form"]:
            below = _templates(base, (base.get("models") or {}).get(model))
            if left := ", ".join(each for each in below if each not in of_file):
                dropped.setdefault((source, left), []).append(model)
        templates = _templates(raw, own, *of_set)
        left = ", ".join(each for each in of_file if each not in templates)
        if left and named & {None, model}:
            dropped.setdefault(("--set", left), []).append(model)
    for (where, left), models in dropped.items():
        say(
            f"{where}: featurise.templates takes {left} from {', '.join(models)}; a + before each "
            f"template adds it instead"
        )


def _templates(*layers: Mapping[str, Any] | None) -> list[str]:
    """The templates of layers, each put on those before it."""
    values: dict[str, Any] = {}
    for layer in layers:
        if isinstance(layer, dict) and isinstance(layer.get("featurise"), dict):
            values = FeaturiseParams.layered(values, layer["featurise"])
    found = values.get("templates", FeaturiseParams.templates)
    return [found] if isinstance(found, str) else [*found]


def _declared(models: Any, where: str) -> dict[str, Mapping[str, Any]]:
    """The changes of each model; a model that is null is removed."""
    if not isinstance(models, dict) or not models:
        raise AccordError(
            f"{where}: expected 'models' to map names to changes, found {short(models)}"
        )
    found = {
        _name(model, f"{where}, models"): changes
        for model, changes in models.items()
        if changes is not None
    }
    if not found:
        raise AccordError(
            f"{where}: expected a model, found none but {', '.join(map(str, models))}, which null "
            f"removes; {{}} is a model that changes nothing"
        )
    return found


def _name(name: Any, where: str) -> str:
    """A model's or a run's name, which also names files: it must not lead out of their folder."""
    if not re.fullmatch(r"[^\W_][^/\\\x00-\x1f]{0,99}", str(name)):
        expected = "names that begin with a letter or a digit and hold no slash"
        raise AccordError(f"{where}: expected {expected}, found {short(name)}")
    return str(name)


def _chosen(models: Sequence[str], declared: Mapping[str, Any], where: str) -> list[str]:
    """The models of these names, or all, in the order of their declaration."""
    for model in models:
        if model not in declared:
            raise AccordError(f"{where}: no model '{model}'{nearest(model, declared)}")
    return [model for model in declared if model in models or not models]


def checked_sections(layers: Sequence[Mapping[str, Any] | None], where: str) -> Sections:
    """The dataclass of every stage: the defaults, overridden by each layer in order."""
    layers = [layer for layer in layers if layer is not None]
    for layer in layers:
        if not isinstance(layer, dict):
            raise AccordError(f"{where}: expected sections to change, found {short(layer)}")
        _check_keys(layer, STAGES, where, "section")
    return {
        name: _section(stage.params, [layer.get(name) for layer in layers], f"{where}, {name}")
        for name, stage in STAGES.items()
    }


def _section(params: type, layers: Sequence[Mapping[str, Any] | None], where: str) -> Any:
    hints, moved = get_type_hints(params), MOVED if params is Recipe else {}
    values: dict[str, Any] = {}
    for layer in layers:
        if layer is None:
            continue
        if not isinstance(layer, dict):
            raise AccordError(f"{where}: expected keys and values, found {short(layer)}")
        _check_keys(layer, {**hints, **moved}, where, "key")
        typed = {
            key: _typed(value, hints[key], f"{where}.{key}") if key in hints else value
            for key, value in layer.items()
        }
        values = _layered(params, values, typed, where)
    trust_files(values)
    try:
        values = params.settled(values) if moved else values
        return params(**values)
    except ValueError as error:  # of a value out of its range
        raise AccordError(f"{where}.{error}") from None


def _layered(params: type, values: Mapping[str, Any], typed: Mapping[str, Any], where: str) -> Any:
    """Values overridden by those of a layer, by the rules of the section."""
    try:
        return params.layered(values, typed) if hasattr(params, "layered") else {**values, **typed}
    except ValueError as error:
        raise AccordError(f"{where}.{error}") from None


def _check_keys(found: Mapping, valid: Mapping, where: str, kind: str) -> None:
    for key in found:
        if key not in valid:
            said = short(str(key))
            if RENAMED.get(str(key)) in valid:
                raise AccordError(f"{where}: {kind} {said} is called {RENAMED[key]!r} now")
            raise AccordError(f"{where}: unknown {kind} {said}{nearest(str(key), valid)}")


def _typed(value: Any, hint: Any, where: str) -> Any:
    """The value as the field's type, or an error that names what was expected."""
    origin, args = get_origin(hint), get_args(hint)
    # A part by its name or with settings, or some of the teachers' keys: the dataclass checks all.
    if dict in args or hint is Teachers:
        return value
    if origin in (Union, types.UnionType):
        if value is None and type(None) in args:
            return None
        return _typed(value, next(arg for arg in args if arg is not type(None)), where)
    if origin is Literal:
        if value in args:
            return value
        close = nearest(short(value), args)
        raise AccordError(
            f"{where}: expected one of {', '.join(args)}, found {short(value)}{close}"
        )
    if origin is tuple:
        items = value if isinstance(value, list | tuple) else [value]
        return tuple(_typed(item, args[0], where) for item in items)
    if is_dataclass(hint):
        return _section(hint, [value], where)
    if hint is float and type(value) is int and abs(value) < 1e300:
        value = float(value)
    if hint is float and isinstance(value, str):  # YAML reads 1e-3 as text
        with suppress(ValueError):
            value = float(value)
    if hint is float and isinstance(value, float) and not math.isfinite(value):
        raise AccordError(f"{where}: expected a finite number, found {value}")
    if type(value) is not hint:
        raise AccordError(f"{where}: expected {hint.__name__}, found {short(value)}")
    return value
