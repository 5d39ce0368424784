"""The keys of a configuration, explained for a reader and described for an editor."""

import json
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import asdict, is_dataclass
from typing import Any, Literal, get_args, get_origin

import yaml

from accord.models.common.registry import Registry, Several, parts_chosen
from accord.models.common.schema import hints_of, json_schema, meaning, plain
from accord.pipeline.config.presets import preset_names
from accord.pipeline.config.sections import SECTIONS


def explain(helps: Mapping[str, str]) -> str:
    """Return every section, key, default and meaning, in the form of a configuration file.

    `helps` has a line on each stage.
    """
    lines = [f"# Presets: {', '.join(preset_names())}."]
    for name, section in SECTIONS.items():
        hints, chosen = hints_of(section), parts_chosen(section)
        lines += ["", f"{name}:{'' if hints else ' {}'}  # {helps[name]}"]
        default = section()
        for key, hint in hints.items():
            entry = f"{key}: {as_yaml(getattr(default, key))}"
            if key in chosen:
                lines += [*_parts(meaning(hint), chosen[key]), f"  {entry}"]
            else:
                lines += _explained(entry, _with_choices(hint))
    lines += ["", "# base: tiny  # a preset or file whose sections this one changes"]
    lines += [
        "",
        "models:  # name -> its changes of the keys above; null removes a model of the base",
        "  model: {}",
    ]
    return "\n".join(lines) + "\n"


def _with_choices(hint: Any) -> str:
    """Return the meaning, and the possible values unless it names them all."""
    choices = get_args(plain(hint)) if get_origin(plain(hint)) is Literal else ()
    text = meaning(hint)
    is_named = all(choice in text for choice in choices)
    return text if is_named else f"{text.rstrip('.')}; one of {', '.join(choices)}"


def _parts(text: str, chosen: Registry | Several) -> Iterator[str]:
    """Yield each part that a key may name, and its settings."""
    lines: list[str] = []
    faults: list[ValueError] = []
    example, is_one = "", isinstance(chosen, Registry)
    for name, part in chosen.registry.parts(faults.append).items():
        lines += _comment(f"{name}: {part.meaning}", 2)
        for key, setting in part.settings.items():
            entry = f"{key}: {as_yaml(setting.default)}"
            if is_one and not example:
                example = f" or as {{kind: {name}, {entry}}}"
            lines += _comment(f"{entry} – {meaning(setting.hint)}", 4)
    yield from _comment(f"{text}, by name{example}:")
    yield from lines
    for fault in faults:
        yield from _comment(f"left out: {fault}", 2)


def _comment(text: str, depth: int = 0) -> list[str]:
    first = f"  # {' ' * depth}"
    return textwrap.wrap(text, 96, initial_indent=first, subsequent_indent=f"{first}  ")


def _explained(entry: str, text: str) -> list[str]:
    """Return the entry with its meaning on the same line if it fits there, else above it."""
    if len(entry) + len(text) < 92:
        return [f"  {entry}  # {text}"]
    return [
        *textwrap.wrap(text, 96, initial_indent="  # ", subsequent_indent="  # "),
        f"  {entry}",
    ]


def as_yaml(value: Any) -> str:
    """Return a value on one line."""
    value = asdict(value) if is_dataclass(value) else value
    value = json.loads(json.dumps(value))  # tuples as lists, however deep
    text = yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, width=1000)
    return text.splitlines()[0]


def editor_schema() -> str:
    """Return the JSON schema of a configuration file, which editors check as one types."""
    sections: dict[str, Any] = {name: json_schema(kind) for name, kind in SECTIONS.items()}
    changes = {
        "type": ["object", "null"],
        "properties": {name: {"$ref": f"#/properties/{name}"} for name in sections},
        "additionalProperties": False,
    }
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            **sections,
            "base": {"type": "string", "description": "a preset or file that this one changes"},
            "models": {
                "type": "object",
                "description": "name -> its changes of the other sections",
                "additionalProperties": changes,
            },
        },
        "additionalProperties": False,
    }
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"
