"""Reject keys without effect; an initial checkpoint fixes others."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from accord.models.common.registry import parted
from accord.models.parts import ENCODERS
from accord.models.recipe import Recipe
from accord.pipeline.artefacts.names import is_compact
from accord.pipeline.dataset.unknown_words import read_chain
from accord.pipeline.display.messages import say
from accord.pipeline.trained.start import start_folder, start_params

Sections = Mapping[str, Any]  # stage name -> its frozen dataclass


def effective(
    models: Mapping[str, Sections], layers: Mapping[str, Sequence[Mapping]], where: str
) -> dict[str, Sections]:
    """The models as they will be built; an error if a stated key has no effect."""
    for name, sections in models.items():
        _check_background(sections, f"{where}, model '{name}'")
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
        raise ValueError(
            f"{where}: train.phases: pretraining.use: background takes the place of "
            f"background.kind: ngram; expected background.kind: unigram or uniform, or use: "
            f"initialise"
        )


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
    found = checked([kept, *layers], where)
    _refuse_others(start, kept, of_start, found, where)
    if pretraining != "none":
        raise ValueError(
            f"{where}, train.phases: expected no pretraining, as it is fine-tuned from {start}; "
            f"found {pretraining}"
        )
    # They lie in its folder, and are looked for nowhere else; a compact form has no lexicons.
    without = {"analyse": {"frequency": None}, "featurise": {"vectors": None}}
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


def _check_start(start: str, sections: Sections) -> None:
    for section, keys in EXPECTED.items():
        for key, expected in keys.items():
            if (value := getattr(sections[section], key)) != expected:
                raise ValueError(
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
                raise ValueError(
                    f"{where}, {section}.{key}: expected {has}, as in {start}, the model to "
                    f"fine-tune; found {stated}"
                )
