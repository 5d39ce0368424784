"""Load, override and check a configuration; keys without effect are rejected.

A value for one model outweighs a value for all, whatever their order.

`models` maps a model's name to what it changes in any section, and `base` names a configuration to
start from. An initial checkpoint (train.start) fixes some keys.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, get_args, get_origin

from accord.errors import AccordError
from accord.models.common.checks import expect, nearest
from accord.models.common.registry import imported, parted, trust_files
from accord.models.common.schema import check_keys, checked, hints_of, plain, short
from accord.models.parts import ENCODERS
from accord.pipeline.base.messages import say
from accord.pipeline.config.explanation import as_yaml
from accord.pipeline.config.presets import base_of, layered, parse, put_on
from accord.pipeline.config.sections import (
    MORPHOLOGY,
    OF_ALL_MODELS,
    SECTIONS,
    FeaturiseParams,
    StartSettings,
)

TEMPLATES = ("featurise", "templates")
Layer = dict[str, dict[str, Any]]  # section -> key -> value
Layers = Sequence[Mapping[str, Any] | None]
Sections = Mapping[str, Any]  # section -> its frozen dataclass


@dataclass(frozen=True)
class Override:
    """One key, and the model for which it is changed; None: for all."""

    model: str | None
    section: str
    key: str
    value: Any


def read_overrides(texts: Iterable[str], models: Iterable[str]) -> list[Override]:
    """Read the overrides of `--set`, which must name existing models."""
    return [_read(text, [*models]) for text in texts]


def _read(text: str, models: Sequence[str]) -> Override:
    match = re.fullmatch(r"(?:([^=]+)\.)?(\w+)\.(\w+)=(.*)", text, re.DOTALL)
    if not match:
        raise AccordError(
            f"expected --set section.key=value or model.section.key=value, got '{text}'"
        )
    model, section, key, value = match.groups()
    if model is not None and model not in models:
        raise AccordError(f"--set {text}: no model '{model}'{nearest(model, models)}")
    if model is not None and section in OF_ALL_MODELS:
        raise AccordError(f"--set {text}: {section} is of all models; expected {section}.{key}=…")
    kind = plain(hints_of(SECTIONS[section]).get(key)) if section in SECTIONS else None
    where = f"the value of --set {text.partition('=')[0]}"
    return Override(model, section, key, _value(value, kind, where))


def _value(text: str, kind: Any, where: str) -> Any:
    """Return a value in YAML. A text is taken as it is, and a list may be separated by commas."""
    value = text if kind is str else parse(text, where)
    is_list = any(get_origin(option) is tuple for option in (kind, *get_args(kind)))
    if isinstance(value, str) and is_list:
        return [item.strip() for item in value.split(",")]
    return value


def as_layer(overrides: Iterable[Override], model: str | None) -> Layer:
    """Return the changes for one model; for None, those for all."""
    layer: Layer = {}
    for override in overrides:
        if override.model == model:
            layer.setdefault(override.section, {})[override.key] = override.value
    return layer


def say_replaced(overrides: Sequence[Override], models: Mapping[str, Mapping[str, Any]]) -> None:
    """Print a line for each key set for all models although some had their own value."""
    for section, keys in as_layer(overrides, None).items():
        for key, value in keys.items():
            named = {
                change.model
                for change in overrides
                if (change.section, change.key) == (section, key)
            }
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
    full = {model: _with_start(layers[model], f"{where}, model '{model}'") for model in layers}
    say_replaced(changes, {model: declared[model] for model in full})
    _say_dropped(changes, layers, source)
    name = re.sub(r"\.ya?ml$", "", Path(source).name) if name is None else _name(name, "--name")
    return Config(name, sections, _effective(full, layers, where))


def _say_dropped(overrides: Sequence[Override], layers: Mapping[str, Layers], source: str) -> None:
    """Name the templates that a list of a user's file or of --set takes from a model.

    `form` alone is the RNN, which is meant to have no others.
    """
    base = base_of(source)
    named = {change.model for change in overrides if (change.section, change.key) == TEMPLATES}
    dropped: dict[tuple[str, str], list[str]] = {}
    for model, (raw, declared, *of_set) in layers.items():
        of_file = _templates(raw, declared)
        if base is not None and of_file != ["form"]:
            below = _templates(base, (base.get("models") or {}).get(model))
            if left := ", ".join(name for name in below if name not in of_file):
                dropped.setdefault((source, left), []).append(model)
        templates = _templates(raw, declared, *of_set)
        left = ", ".join(name for name in of_file if name not in templates)
        if left and named & {None, model}:
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


def _chosen(models: Sequence[str], declared: Mapping[str, Any], where: str) -> list[str]:
    """Return the models of these names, or all, in the order of their declaration."""
    for model in models:
        if model not in declared:
            raise AccordError(f"{where}: no model '{model}'{nearest(model, declared)}")
    return [model for model in declared if model in models or not models]


def checked_sections(layers: Layers, where: str) -> Sections:
    """Return the dataclass of every section: the defaults, overridden by each layer in order."""
    for layer in layers:
        if not isinstance(layer, dict | None):
            raise AccordError(f"{where}: expected sections to change, got {short(layer)}")
        check_keys(layer or {}, SECTIONS, where, "section")
    return {
        name: _section(section, [(layer or {}).get(name) for layer in layers], f"{where}, {name}")
        for name, section in SECTIONS.items()
    }


def _section(section: type, layers: Layers, where: str) -> Any:
    values: dict[str, Any] = {}
    for layer in layers:
        keys = checked(dict | None, layer, where) or {}
        try:
            values = put_on(section, values, keys)
        except AccordError as error:
            raise AccordError(f"{where}.{error}") from None
    trust_files(values)
    return checked(section, values, where)


def _effective(
    models: Mapping[str, Sections], layers: Mapping[str, Layers], where: str
) -> dict[str, Sections]:
    """Return the models as they will be built; an error if a stated key has no effect."""
    for name, sections in models.items():
        _check_background(sections, f"{where}, model '{name}'")
    built = {name: _with_width(sections) for name, sections in models.items()}
    unused = [
        name
        for name in models
        if built[name]["train"] != models[name]["train"]
        and models[name]["train"].output_kind != "background"  # which has no network at all
        and any("hidden" in ((layer or {}).get("train") or {}) for layer in layers[name])
    ]
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


def _with_width(sections: Sections) -> Sections:
    """Normalise `hidden` where it is ignored, so that the cache key does not change."""
    train = sections["train"]
    hidden = ENCODERS.about(train.encoder, "hidden")
    if train.tied and (hidden == "none" or (hidden == "between layers" and train.layers == 1)):
        train = replace(train, hidden=train.embedding)
    return {**sections, "train": train}


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
    _check_start(start, of_start)
    if stated["analyse"].protocol == "closed":
        kept = _of_closed(kept, settings.has_vectors)
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


def _of_closed(kept: Mapping[str, dict], has_vectors: bool) -> dict[str, dict[str, Any]]:
    """Return the settings that a closed vocabulary takes from the initial checkpoint.

    Its φ may have vectors, if the checkpoint has none. b is the text's own, and has no frequencies.
    """
    featurise = dict(kept["featurise"])
    if not featurise["vectors"] and not has_vectors:
        del featurise["vectors"]
    changed = {
        "analyse": {**kept["analyse"], "protocol": "closed"},
        "featurise": featurise,
        "background": {**kept["background"], "unseen": "alike"},
    }
    return {**kept, **changed}


def _check_start(start: str, sections: Sections) -> None:
    for section, keys in EXPECTED.items():
        for key, expected in keys.items():
            if (value := getattr(sections[section], key)) != expected:
                raise AccordError(
                    f"train.start: expected a model with {section}.{key}: {expected or 'null'}, "
                    f"{start} has {value}"
                )


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
