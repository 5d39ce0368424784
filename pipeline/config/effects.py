"""What the keys of a configuration do: each is explained by the comment beside its field.

Keys without effect are rejected; an initial checkpoint fixes others.
"""

import inspect
import json
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields, is_dataclass, replace
from typing import Any, Literal, get_args, get_origin, get_type_hints

import yaml

from accord.errors import AccordError
from accord.models.common.checks import expect
from accord.models.common.files import load_json
from accord.models.common.registry import Registry, parted, parts_chosen
from accord.models.parts import ENCODERS
from accord.models.recipe import Recipe
from accord.pipeline.base.messages import say
from accord.pipeline.base.names import is_compact
from accord.pipeline.config.presets import preset_names
from accord.pipeline.data.unknown_words import read_chain
from accord.pipeline.data.word_vectors import is_dense
from accord.pipeline.model.earlier_models import start_folder, start_params
from accord.pipeline.stages.table import STAGES

Sections = Mapping[str, Any]  # stage name -> its frozen dataclass


def effective(
    models: Mapping[str, Sections], layers: Mapping[str, Sequence[Mapping]], where: str
) -> dict[str, Sections]:
    """The models as they will be built; an error if a stated key has no effect."""
    for name, sections in models.items():
        _check_background(sections, f"{where}, model '{name}'")
        _check_direction(sections, f"{where}, model '{name}'")
    built = {name: _with_width(sections) for name, sections in models.items()}
    unused = [
        name
        for name in models
        if built[name]["train"] != models[name]["train"]
        and models[name]["train"].output_kind != "background"  # which has no network at all
        and _states_width(layers[name])
    ]
    if unused:
        say(
            f"train.hidden has no effect on {', '.join(unused)}: a tied encoder without hidden "
            f"layers is as wide as train.embedding"
        )
    return built


def _check_background(sections: Sections, where: str) -> None:
    if sections["train"].pretraining == "background" and sections["background"].kind == "ngram":
        raise AccordError(
            f"{where}: train.phases: pretraining.use: background takes the place of "
            f"background.kind: ngram; expected background.kind: unigram or uniform, or use: "
            f"initialise"
        )


def _check_direction(sections: Sections, where: str) -> None:
    kind = parted(sections["background"].kind)[0]
    for key, fits in {
        f"background.kind: {kind}": kind in ("unigram", "uniform"),
        "encode.merges": sections["encode"].merges is None,
        "train.start": sections["train"].start is None,
    }.items():
        if sections["train"].text == "backward" and not fits:
            raise AccordError(f"{where}: train.text: backward expects words and no {key}")


def _with_width(sections: Sections) -> Sections:
    """Set the width that the encoder really has: another value must not train it again."""
    train = sections["train"]
    hidden = ENCODERS.part(parted(train.encoder)[0]).about.get("hidden")
    between = hidden == "between layers" and train.layers == 1
    if train.tied and (hidden == "none" or between):
        train = replace(train, hidden=train.embedding)
    return {**sections, "train": train}


def _states_width(layers: Sequence[Mapping]) -> bool:
    return any("hidden" in (layer.get("train") or {}) for layer in layers)


# The sections that are the start's, and the keys where it is not all of them: how text is read,
# what is known of words, and what the weights were made for.
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

Layer = Mapping[str, Any] | None
Checked = Callable[[Sequence[Layer], str], Sections]


def with_start(layers: Sequence[Layer], where: str, checked: Checked) -> Sections:
    """The sections of the layers; with an initial checkpoint, some come from it."""
    asked = checked(layers, where)
    start, pretraining = asked["train"].start, asked["train"].pretraining
    if start is None:
        return asked
    kept = _kept(start)
    of_start = checked([kept], f"train.start, {start}")
    _check_start(start, of_start)
    if asked["analyse"].protocol == "closed":
        kept = _of_closed(start, kept)
        of_start = checked([kept], where)
    found = checked([kept, *layers], where)
    _refuse_others(start, kept, of_start, found, where)
    if pretraining != "none":
        raise AccordError(
            f"{where}, train.phases: expected no pretraining, as it is fine-tuned from {start}; "
            f"found {pretraining}"
        )
    # They lie in its folder, and are looked for nowhere else; a compact form has no lexicons.
    without: dict[str, dict[str, Any]] = {"analyse": {"frequency": None}}
    if "vectors" in kept["featurise"]:
        without["featurise"] = {"vectors": None}
    elif added := found["featurise"].vectors:  # classes of them would be other templates
        expect(f"{where}, featurise.vectors: dimensions", added.dimensions > 0, "1 or more", 0)
    if not is_compact(start_folder(start)):
        without["analyse"]["lexicon"] = ()
    return {**found, **{name: replace(found[name], **keys) for name, keys in without.items()}}


def _kept(start: str) -> dict[str, dict[str, Any]]:
    """The settings of the initial checkpoint, as a layer of a configuration."""
    params = start_params(start)
    params["analyse"]["lexicon"] = read_chain(start_folder(start))["names"]
    # Whose keys may be those of before.
    params["train"] = Recipe.settled(Recipe.layered({}, params["train"]))
    return {
        section: {key: value for key, value in params[section].items() if not keys or key in keys}
        for section, keys in KEPT.items()
    }


def _of_closed(start: str, kept: Mapping[str, Mapping]) -> dict[str, dict[str, Any]]:
    """The settings that a closed vocabulary takes from the initial checkpoint.

    Its φ may have vectors, if the checkpoint has none. b is the text's own, and has no frequencies.
    """
    featurise = dict(kept["featurise"])
    # A checkpoint that was fine-tuned itself may have vectors that its settings do not name.
    names = load_json(start_folder(start) / "names.json", list)
    if not featurise["vectors"] and not any(map(is_dense, names)):
        del featurise["vectors"]
    own = {
        "analyse": {**kept["analyse"], "protocol": "closed"},
        "featurise": featurise,
        "background": {**kept["background"], "unseen": "alike"},
    }
    return {**kept, **own}


def _check_start(start: str, sections: Sections) -> None:
    for section, keys in EXPECTED.items():
        for key, expected in keys.items():
            if (value := getattr(sections[section], key)) != expected:
                raise AccordError(
                    f"train.start: expected a model with {section}.{key}: {expected or 'null'}, "
                    f"{start} has {value}"
                )


def _refuse_others(
    start: str, kept: Mapping[str, Mapping], of_start: Sections, found: Sections, where: str
) -> None:
    """Reject settings that differ from those of the initial checkpoint."""
    for section, keys in kept.items():
        for key in keys:
            has, stated = (getattr(each[section], key) for each in (of_start, found))
            if has != stated:
                hint = "; analyse.protocol: closed may add them" if key == "vectors" else ""
                raise AccordError(
                    f"{where}, {section}.{key}: expected {_as_yaml(has)}, as in {start}, the model "
                    f"to fine-tune{hint}; found {_as_yaml(stated)}"
                )


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
