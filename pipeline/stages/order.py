"""The stages in the order in which data flows through them."""

from collections.abc import Iterable

from pipeline.display.nearest import nearest
from pipeline.stages import (
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


def above(name: str) -> list[str]:
    """All stages that a stage depends on, in order."""
    wanted = {name}
    for stage in reversed(STAGES.values()):
        if stage.name in wanted:
            wanted |= stage.inputs.keys()
    return [each for each in STAGES if each in wanted - {name}]


def check_names(names: Iterable[str]) -> None:
    """Refuse what is no stage, naming the nearest one."""
    for name in names:
        if name not in STAGES:
            raise ValueError(f"unknown stage '{name}'{nearest(name, STAGES)}")


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
