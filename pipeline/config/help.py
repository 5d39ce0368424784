"""`accord config`: every key of a configuration, explained by the comment beside its field."""

import inspect
import json
import re
import textwrap
from collections.abc import Iterator
from dataclasses import asdict, fields, is_dataclass
from typing import Any, Literal, get_args, get_origin, get_type_hints

import yaml

from accord.models.common.registry import Registry, parts_chosen
from accord.pipeline.config.presets import preset_names
from accord.pipeline.stages.table import STAGES


def explain() -> str:
    """Every section, key, default and meaning, in the form of a configuration file."""
    lines = [f"# Presets: {', '.join(preset_names())}."]
    for name, stage in STAGES.items():
        keys = explanations(stage.params)
        lines += ["", f"{name}:{'' if keys else ' {}'}  # {stage.help}"]
        default = stage.params()
        hints, chosen = get_type_hints(stage.params), parts_chosen(stage.params)
        for key, meaning in keys.items():
            entry = f"{key}: {_as_yaml(getattr(default, key))}"
            if key in chosen:
                lines += [*_parts(meaning, chosen[key]), f"  {entry}"]
            else:
                lines += _explained(entry, _with_choices(meaning, hints[key]))
    lines += ["", "# base: tiny  # a preset or file whose sections this one changes"]
    lines += [
        "",
        "models:  # name -> its changes of the keys above; null removes a model of the base",
        "  model: {}",
    ]
    return "\n".join(lines) + "\n"


def _with_choices(meaning: str, hint: Any) -> str:
    """The meaning, and the values that a key may have where it does not name them all."""
    choices = get_args(hint) if get_origin(hint) is Literal else ()
    named = all(choice in meaning for choice in choices)
    return meaning if named else f"{meaning.rstrip('.')}; one of {', '.join(choices)}"


def _parts(meaning: str, registry: Registry) -> Iterator[str]:
    """Each part that a key may name, and its settings."""
    described, faults, example = [], [], ""
    for name, part in registry.parts(faults.append).items():
        described += _comment(f"{name}: {part.meaning}", 2)
        for setting, about in part.settings.items():
            entry = f"{setting}: {_as_yaml(about.default)}"
            example = f" or as {{kind: {name}, {entry}}}" if not registry.several else ""
            described += _comment(f"{entry} – {about.meaning}", 4)
    yield from _comment(f"{meaning}, by name{example}:")
    yield from described
    for fault in faults:
        yield from _comment(f"left out: {fault}", 2)


def _comment(text: str, depth: int = 0) -> list[str]:
    first = f"  # {' ' * depth}"
    return textwrap.wrap(text, 96, initial_indent=first, subsequent_indent=f"{first}  ")


def _explained(entry: str, meaning: str) -> list[str]:
    """The meaning beside the entry if it fits there, above it if not."""
    if len(entry) + len(meaning) < 92:
        return [f"  {entry}  # {meaning}"]
    return [
        *textwrap.wrap(meaning, 96, initial_indent="  # ", subsequent_indent="  # "),
        f"  {entry}",
    ]


def _as_yaml(value: Any) -> str:
    value = asdict(value) if is_dataclass(value) else value
    value = json.loads(json.dumps(value))  # tuples as lists, however deep
    text = yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, width=1000)
    return text.splitlines()[0]


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
