"""The labels of sentences, as the stages keep them: what a network may be told (train.condition).

Needs numpy only, as models are also trained and scored where nothing else is.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from accord.models.common.files.arrays import load_array
from accord.models.common.files.json_file import load_json
from accord.pipeline.display.nearest import nearest

LABELS = "labels"  # the column of them in tables of sentences
VALUES = "labels.json"  # the labels of each kind that training has, in the order of their numbers
NUMBERS = ".labels.npy"


def read_values(folder: Path) -> dict[str, list[str]]:
    """The labels of each kind, numbered from 1 on; nothing where sentences have none."""
    path = folder / VALUES
    found = load_json(path, dict) if path.exists() else {}
    lists = found.values()
    if not all(isinstance(each, list) and {*map(type, each)} == {str} for each in lists):
        raise ValueError(f"{path}: expected for each kind of label a list of them")
    return found


def read_labels(folder: Path, split: str) -> np.ndarray | None:
    """The number of each sentence's label of each kind, 0 being none; None where there are none."""
    path = folder / f"{split}{NUMBERS}"
    return load_array(path) if path.exists() else None


def numbered(condition: Sequence[str], values: Mapping[str, Sequence[str]]) -> list[int]:
    """`source=orangesum` and others as a person writes them: a number of each kind."""
    said = {}
    for text in condition:
        name, sign, value = text.partition("=")
        if not sign:
            raise ValueError(f"condition: expected NAME=LABEL, got '{text}'")
        if name not in values:
            raise ValueError(f"condition: unknown kind of label '{name}'{nearest(name, values)}")
        if value not in values[name]:
            raise ValueError(f"condition: unknown {name} '{value}'{nearest(value, values[name])}")
        if name in said:
            raise ValueError(f"condition: expected one {name}, got several")
        said[name] = value
    numbers = ((of_kind, said.get(name)) for name, of_kind in values.items())
    return [0 if label is None else of_kind.index(label) + 1 for of_kind, label in numbers]
