"""The stages in the order in which data flows through them."""

from collections.abc import Iterable
from difflib import get_close_matches

from pipeline import (
    analyse,
    background,
    corpus,
    encode,
    evaluate,
    featurise,
    report,
    tokenise,
    train,
)

STAGES = {
    stage.name: stage
    for stage in (
        corpus.STAGE,
        tokenise.STAGE,
        analyse.STAGE,
        featurise.STAGE,
        background.STAGE,
        encode.STAGE,
        train.STAGE,
        evaluate.STAGE,
        report.STAGE,
    )
}


def check_names(names: Iterable[str]) -> None:
    """Refuse what is no stage, naming the nearest one."""
    for name in names:
        if name not in STAGES:
            near = get_close_matches(name, STAGES, n=1, cutoff=0.0)
            raise ValueError(f"unknown stage '{name}'; the nearest is '{near[0]}'")


def declared() -> list[dict[str, str]]:
    """The stages as they declare themselves: the rows of the README's table."""
    return [
        {
            "stage": f"`{stage.name}`",
            "does": stage.help,
            "reads": ", ".join(stage.inputs) or "the source",
            "writes": ", ".join(f"`{file}`" for file in stage.outputs),
        }
        for stage in STAGES.values()
    ]
