"""Single keys changed from outside: `section.key=value`, or `model.section.key=value` for a model.

What names a model outweighs what names none, whatever their order.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args, get_origin, get_type_hints

from accord.pipeline.config.strict_yaml import parse
from accord.pipeline.display.nearest import nearest
from accord.pipeline.display.progress import say
from accord.pipeline.stages.table import STAGES

Layer = dict[str, dict[str, Any]]  # section -> key -> value


@dataclass(frozen=True)
class Override:
    """One key, and the model for which it is changed; None: for all."""

    model: str | None
    section: str
    key: str
    value: Any


def read_overrides(texts: Iterable[str], models: Iterable[str]) -> list[Override]:
    """What `--set` says, if it names models that there are."""
    return [_read(text, [*models]) for text in texts]


def _read(text: str, models: Sequence[str]) -> Override:
    match = re.fullmatch(r"(?:([^=]+)\.)?(\w+)\.(\w+)=(.*)", text, re.DOTALL)
    if not match:
        raise ValueError(
            f"expected --set section.key=value or model.section.key=value, found '{text}'"
        )
    model, section, key, value = match.groups()
    if model is not None and model not in models:
        raise ValueError(f"--set {text}: no model '{model}'{nearest(model, models)}")
    if model is not None and section in STAGES and STAGES[section].over_models:
        raise ValueError(f"--set {text}: {section} is of all models; expected {section}.{key}=…")
    found = _value(value, _kind(section, key), f"the value of --set {text.partition('=')[0]}")
    return Override(model, section, key, found)


def _value(text: str, kind: Any, where: str) -> Any:
    """YAML, but where text is expected all of it, and where a list is, what commas separate."""
    found = text if kind is str else parse(text, where)
    if isinstance(found, str) and _is_list(kind):
        return [item.strip() for item in found.split(",")]
    return found


def _kind(section: str, key: str) -> Any:
    """What is expected of a key, None of one that there is not."""
    return get_type_hints(STAGES[section].params).get(key) if section in STAGES else None


def _is_list(kind: Any) -> bool:
    """Whether a list is expected, if only among other things."""
    return any(get_origin(each) is tuple for each in (kind, *get_args(kind)))


def as_layer(overrides: Iterable[Override], model: str | None) -> Layer:
    """What the overrides change for a model alone; for None, what they change for all."""
    found: Layer = {}
    for each in overrides:
        if each.model == model:
            found.setdefault(each.section, {})[each.key] = each.value
    return found


def say_replaced(overrides: Sequence[Override], models: Mapping[str, Mapping[str, Any]]) -> None:
    """A line for each key that is changed for all models, where some had a value of their own."""
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
