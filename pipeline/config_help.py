"""`accord config`: every key of a configuration, explained by the comment beside its field."""

import inspect
import re
import textwrap
from dataclasses import fields
from typing import Any

import yaml

from pipeline.config_files import preset_names
from pipeline.stages import STAGES


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
