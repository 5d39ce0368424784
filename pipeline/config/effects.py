"""Keys that would be read and not heeded, because of others: refused, or said."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from accord.models.common.registry import parted
from accord.models.parts import ENCODERS
from accord.pipeline.display.progress import say

Sections = Mapping[str, Any]  # stage name -> its frozen dataclass


def effective(
    models: Mapping[str, Sections], layers: Mapping[str, Sequence[Mapping]], where: str
) -> dict[str, Sections]:
    """The models as they will be built, if all that the layers state of them can be heeded."""
    for name, sections in models.items():
        _check_background(sections, f"{where}, model '{name}'")
    built = {name: _with_width(sections) for name, sections in models.items()}
    unused = [
        name
        for name in models
        if built[name]["train"] != models[name]["train"] and _states_width(layers[name])
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
    """With the width that the encoder has, so that it is not trained anew for stating another."""
    train = sections["train"]
    hidden = ENCODERS.part(parted(train.encoder)[0]).about.get("hidden")
    between = hidden == "between layers" and train.layers == 1
    if train.tied and (hidden == "none" or between):
        train = replace(train, hidden=train.embedding)
    return {**sections, "train": train}


def _states_width(layers: Sequence[Mapping]) -> bool:
    return any("hidden" in (layer.get("train") or {}) for layer in layers)
