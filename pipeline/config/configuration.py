"""Configurations: strict YAML, put on presets, overridden, checked, and explained.

A layer changes the sections below it. A part that is named again keeps the settings that the layer
does not change, a mapping keeps its other keys, and a list whose items begin with + is added. Keys
without effect are rejected. A value for one model outweighs a value for all, whatever their order.

`models` maps a model's name to what it changes in any section, and `base` names a configuration to
start from. An initial checkpoint (train.start) fixes some keys.
"""

import json
import re
import textwrap
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import yaml

from accord.errors import AccordError, NotFoundError
from accord.models.common.checks import expect, nearest
from accord.models.common.registry import (
    Registry,
    Several,
    imported,
    parted,
    parts_chosen,
    trust_files,
)
from accord.models.common.schema import (
    check_keys,
    checked,
    hints_of,
    json_schema,
    meaning,
    plain,
    short,
)
from accord.models.parts import ENCODERS
from accord.pipeline.base.messages import say
from accord.pipeline.config.sections import (
    MORPHOLOGY,
    OF_ALL_MODELS,
    SECTIONS,
    FeaturiseParams,
    StartSettings,
)

PRESETS = files("accord.pipeline.config") / "presets"
CONFIGURATIONS = (".yaml", ".yml")  # endings of files that a user writes
Layer = dict[str, dict[str, Any]]  # section -> key -> value
Layers = Sequence[Mapping[str, Any] | None]
Sections = Mapping[str, Any]  # section -> its frozen dataclass


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


def preset_names() -> list[str]:
    return sorted(path.name.removesuffix(".yaml") for path in PRESETS.iterdir())


def preset_text(name: str) -> str:
    """Return the text of a preset."""
    if name not in preset_names():
        raise AccordError(f"no preset '{name}'{nearest(name, preset_names())}")
    return (PRESETS / f"{name}.yaml").read_text(encoding="utf-8")


def put_on(kind: type, values: Mapping[str, Any], layer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a section, changed by those of a layer."""
    defaults = {field.name: field.default for field in fields(kind)}
    changed, chosen = dict(values), parts_chosen(kind)
    for key, value in layer.items():
        below = changed.get(key, defaults.get(key))
        if isinstance(chosen.get(key), Registry):
            value = _chosen(below, value)
        elif isinstance(value, dict) and isinstance(below, dict):
            value = {**below, **value}
        elif isinstance(below, list | tuple):
            value = _listed(key, below, value)
        changed[key] = value
    return changed


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
            below[section] = _put_on(section, below[section], keys, f"{where}, {section}")
        elif keys is not None:
            below[section] = keys
    return below, where


def _put_on(section: str, values: Mapping, layer: Mapping, where: str) -> dict[str, Any]:
    """Return what `put_on` returns; an error says where the layer stands."""
    try:
        return put_on(SECTIONS[section], values, layer)
    except AccordError as error:
        raise AccordError(f"{where}.{error}") from None


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


Overrides = Mapping[str | None, Layer]  # the changes of --set for one model; None: for all


def read_overrides(texts: Iterable[str], models: Sequence[str]) -> Overrides:
    """Read the overrides of `--set`, which must name existing models."""
    overrides: dict[str | None, Layer] = {}
    for text in texts:
        match = re.fullmatch(r"(?:([^=]+)\.)?(\w+)\.(\w+)=(.*)", text, re.DOTALL)
        if not match:
            raise AccordError(
                f"expected --set section.key=value or model.section.key=value, got '{text}'"
            )
        model, section, key, value = match.groups()
        if model is not None and model not in models:
            raise AccordError(f"--set {text}: no model '{model}'{nearest(model, models)}")
        if model is not None and section in OF_ALL_MODELS:
            raise AccordError(
                f"--set {text}: {section} is of all models; expected {section}.{key}=…"
            )
        kind = plain(hints_of(SECTIONS[section]).get(key)) if section in SECTIONS else None
        if kind is not str:  # a text is taken as it is
            value = parse(value, f"the value of --set {text.partition('=')[0]}")
        is_list = any(get_origin(option) is tuple for option in (kind, *get_args(kind)))
        if isinstance(value, str) and is_list:
            value = [item.strip() for item in value.split(",")]
        overrides.setdefault(model, {}).setdefault(section, {})[key] = value
    return overrides


def _say_replaced(overrides: Overrides, models: Mapping[str, Mapping[str, Any]]) -> None:
    """Print a line for each key set for all models although some had their own value."""
    for section, keys in overrides.get(None, {}).items():
        for key, value in keys.items():
            replaced = [
                model
                for model, changes in models.items()
                if (changes.get(section) or {}).get(key, value) != value
                and key not in overrides.get(model, {}).get(section, {})
            ]
            if replaced:
                say(
                    f"--set {section}.{key} is for all models, also for those that have a value of "
                    f"their own: {', '.join(replaced)}; --set MODEL.{section}.{key} is for one"
                )


@dataclass(frozen=True)
class Config:
    """A checked configuration: the shared sections, and each model's own full set."""

    name: str
    sections: Sections
    models: Mapping[str, Sections]

    def as_dict(self) -> dict[str, Any]:
        return {
            model: {name: asdict(section) for name, section in sections.items()}
            for model, sections in self.models.items()
        }


def load_config(
    source: str, overrides: Sequence[str] = (), models: Sequence[str] = (), name: str | None = None
) -> Config:
    """Read a preset by name or a YAML file by path, and apply `section.key=value` overrides.

    `models` chooses some of its models; `name` is that of the run, else it is the file's.
    """
    raw, where = layered(source)
    declared = _declared(raw.pop("models", {"model": {}}), where)
    changes = read_overrides(overrides, [*declared])
    for_all = changes.get(None, {})
    sections = checked_sections([raw, for_all], where)
    for model in models:
        if model not in declared:
            raise AccordError(f"{where}: no model '{model}'{nearest(model, declared)}")
    layers = {
        model: [raw, of_model, for_all, changes.get(model, {})]
        for model, of_model in declared.items()
        if model in models or not models
    }
    full = {model: _with_start(layers[model], f"{where}, model '{model}'") for model in layers}
    _say_replaced(changes, {model: declared[model] for model in full})
    _say_dropped(changes, layers, source)
    name = re.sub(r"\.ya?ml$", "", Path(source).name) if name is None else _name(name, "--name")
    return Config(name, sections, _effective(full, layers, where))


def _say_dropped(overrides: Overrides, layers: Mapping[str, Layers], source: str) -> None:
    """Name the templates that a list of a user's file or of --set takes from a model.

    `form` alone is the RNN, which is meant to have no others.
    """
    base = base_of(source)
    dropped: dict[tuple[str, str], list[str]] = {}
    for model, (raw, declared, *of_set) in layers.items():
        of_file = _templates(raw, declared)
        if base is not None and of_file != ["form"]:
            below = _templates(base, (base.get("models") or {}).get(model))
            if left := ", ".join(name for name in below if name not in of_file):
                dropped.setdefault((source, left), []).append(model)
        templates = _templates(raw, declared, *of_set)
        left = ", ".join(name for name in of_file if name not in templates)
        if left and any("templates" in layer.get("featurise", {}) for layer in of_set):
            dropped.setdefault(("--set", left), []).append(model)
    for (where, left), models in dropped.items():
        say(
            f"{where}: featurise.templates takes {left} from {', '.join(models)}; a + before each "
            f"template adds it instead"
        )


def _templates(*layers: Mapping[str, Any] | None) -> list[str]:
    """Return the templates of layers, each put on those before it."""
    values: dict[str, Any] = {}
    for layer in layers:
        if isinstance(layer, dict) and isinstance(layer.get("featurise"), dict):
            values = put_on(FeaturiseParams, values, layer["featurise"])
    templates = values.get("templates", MORPHOLOGY)
    return [templates] if isinstance(templates, str) else [*templates]


def _declared(models: Any, where: str) -> dict[str, Mapping[str, Any]]:
    """Return the changes of each model; a model that is null is removed."""
    if not isinstance(models, dict) or not models:
        raise AccordError(
            f"{where}: expected 'models' to map names to changes, got {short(models)}"
        )
    declared = {
        _name(model, f"{where}, models"): changes
        for model, changes in models.items()
        if changes is not None
    }
    if not declared:
        raise AccordError(
            f"{where}: expected a model, got none but {', '.join(map(str, models))}, which null "
            f"removes; {{}} is a model that changes nothing"
        )
    return declared


def _name(name: Any, where: str) -> str:
    """Return a model's or a run's name, which also names files and must not leave their folder."""
    if not re.fullmatch(r"[^\W_][^/\\\x00-\x1f]{0,99}", str(name)):
        expected = "names that begin with a letter or a digit and hold no slash"
        raise AccordError(f"{where}: expected {expected}, got {short(name)}")
    return str(name)


def checked_sections(layers: Layers, where: str) -> Sections:
    """Return the dataclass of every section: the defaults, overridden by each layer in order."""
    for layer in layers:
        if not isinstance(layer, dict | None):
            raise AccordError(f"{where}: expected sections to change, got {short(layer)}")
        check_keys(layer or {}, SECTIONS, where, "section")
    return {
        name: _section(name, [(layer or {}).get(name) for layer in layers], f"{where}, {name}")
        for name in SECTIONS
    }


def _section(name: str, layers: Layers, where: str) -> Any:
    values: dict[str, Any] = {}
    for layer in layers:
        values = _put_on(name, values, checked(dict | None, layer, where) or {}, where)
    trust_files(values)
    return checked(SECTIONS[name], values, where)


def _effective(
    models: Mapping[str, Sections], layers: Mapping[str, Layers], where: str
) -> dict[str, Sections]:
    """Return the models as they will be built; an error if a stated key has no effect.

    `hidden` is normalised where it is ignored, so that the cache key does not change.
    """
    built, unused = {}, []
    for name, sections in models.items():
        _check_background(sections, f"{where}, model '{name}'")
        train = sections["train"]
        hidden = ENCODERS.about(train.encoder, "hidden")
        if train.tied and (hidden == "none" or (hidden == "between layers" and train.layers == 1)):
            train = replace(train, hidden=train.embedding)
        built[name] = {**sections, "train": train}
        is_stated = any("hidden" in ((layer or {}).get("train") or {}) for layer in layers[name])
        # A background has no network at all.
        if train != sections["train"] and train.output_kind != "background" and is_stated:
            unused.append(name)
    if unused:
        say(
            f"train.hidden has no effect on {', '.join(unused)}: a tied encoder without hidden "
            f"layers is as wide as train.embedding"
        )
    return built


def _check_background(sections: Sections, where: str) -> None:
    """Check that b goes with pretraining and with the direction in which a text is read."""
    kind, _ = parted(sections["background"].kind)
    if sections["train"].pretraining == "background" and kind == "ngram":
        raise AccordError(
            f"{where}: train.phases: pretraining.use: background takes the place of "
            f"background.kind: ngram; expected background.kind: unigram or uniform, or use: "
            f"initialise"
        )
    for key, fits in {
        f"background.kind: {kind}": kind in ("unigram", "uniform"),
        "encode.merges": sections["encode"].merges is None,
        "train.start": sections["train"].start is None,
    }.items():
        if sections["train"].text == "backward" and not fits:
            raise AccordError(f"{where}: train.text: backward expects words and no {key}")


# Returns the `StartSettings` of the model that train.start names. Its module stands above this one.
START = "accord.pipeline.model.folder:start_settings"

# The sections that are the checkpoint's, and the keys if not all of them: how text is read, what is
# known of words, and what the weights were made for.
KEPT = {
    "tokenise": ("view", "lowercase"),
    "analyse": ("lexicon", "join", "protocol"),
    "featurise": None,
    "background": None,
    "encode": None,
    "train": (
        *("encoder", "output", "layers", "embedding", "hidden", "input", "tied", "condition"),
    ),
}
# Models that can be fine-tuned: with features of words, an open vocabulary, and no labels, as
# another text has others.
EXPECTED = {
    "analyse": {"protocol": "open"},
    "background": {"kind": "unigram"},
    "encode": {"merges": None},
    "train": {"is_log_linear": True, "input": "features", "condition": "none"},
}


def _with_start(layers: Layers, where: str) -> Sections:
    """Return the sections of the layers; with an initial checkpoint, some come from it."""
    stated = checked_sections(layers, where)
    start, pretraining = stated["train"].start, stated["train"].pretraining
    if start is None:
        return stated
    settings: StartSettings = imported(START)(start)
    kept = {
        section: {
            key: value for key, value in settings.params[section].items() if not keys or key in keys
        }
        for section, keys in KEPT.items()
    }
    of_start = checked_sections([kept], f"train.start, {start}")
    for section, keys in EXPECTED.items():
        for key, expected in keys.items():
            if (value := getattr(of_start[section], key)) != expected:
                raise AccordError(
                    f"train.start: expected a model with {section}.{key}: {expected or 'null'}, "
                    f"{start} has {value}"
                )
    if stated["analyse"].protocol == "closed":
        # φ may have vectors, if the checkpoint has none. b is the text's own, without frequencies.
        kept["analyse"]["protocol"], kept["background"]["unseen"] = "closed", "alike"
        if not kept["featurise"]["vectors"] and not settings.has_vectors:
            del kept["featurise"]["vectors"]
        of_start = checked_sections([kept], where)
    sections = checked_sections([kept, *layers], where)
    _refuse_others(start, kept, of_start, sections, where)
    if pretraining != "none":
        raise AccordError(
            f"{where}, train.phases: expected no pretraining, as it is fine-tuned from {start}; "
            f"got {pretraining}"
        )
    # Its folder holds what the lexicons say.
    without: dict[str, dict[str, Any]] = {"analyse": {"frequency": None, "lexicon": ()}}
    if "vectors" in kept["featurise"]:
        without["featurise"] = {"vectors": None}
    elif added := sections["featurise"].vectors:  # classes of them would be other templates
        expect(f"{where}, featurise.vectors: dimensions", added.dimensions > 0, "1 or more", 0)
    return {**sections, **{name: replace(sections[name], **keys) for name, keys in without.items()}}


def _refuse_others(
    start: str, kept: Mapping[str, Mapping], of_start: Sections, stated: Sections, where: str
) -> None:
    """Reject settings that differ from those of the initial checkpoint."""
    for section, keys in kept.items():
        for key in keys:
            expected, value = getattr(of_start[section], key), getattr(stated[section], key)
            if expected != value:
                hint = "; analyse.protocol: closed may add them" if key == "vectors" else ""
                raise AccordError(
                    f"{where}, {section}.{key}: expected {as_yaml(expected)}, as in {start}, the "
                    f"model to fine-tune{hint}; got {as_yaml(value)}"
                )


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
    choices, text = get_args(plain(hint)), meaning(hint)
    if get_origin(plain(hint)) is not Literal or all(choice in text for choice in choices):
        return text
    return f"{text.rstrip('.')}; one of {', '.join(choices)}"


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
    return [*textwrap.wrap(text, 96, initial_indent="  # ", subsequent_indent="  # "), f"  {entry}"]


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
