"""`--seeds 3`: of each model that is trained, three that differ in their seed alone."""

from dataclasses import replace

from pipeline.config import Config
from pipeline.families import member


def with_seeds(config: Config, seeds: int) -> Config:
    """The configuration with so many copies of each model; what is only counted stays one."""
    if seeds < 1:
        raise ValueError(f"seeds: expected 1 or more, got {seeds}")
    models = {}
    for model, sections in config.models.items():
        train = sections["train"]
        for copy in range(1, seeds + 1 if train.output != "background" else 2):
            reseeded = replace(train, seed=train.seed + copy - 1)
            models[member(model, copy)] = {**sections, "train": reseeded}
    return replace(config, models=models)
