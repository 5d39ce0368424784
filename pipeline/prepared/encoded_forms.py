"""What the stage `encode` made, read back to be scored: texts and suites as they are written.

Apart from `encoded`, so that the code of spelling is no part of training's: a change of it trains
nothing anew. Needs torch, numpy and safetensors only, as models are also scored where they are
trained.
"""

import json
from operator import itemgetter
from pathlib import Path

import numpy as np

from accord.models.common.files.arrays import load_array, load_arrays
from accord.models.spelling.open_vocabulary import Forms
from accord.models.spelling.subwords import load_subwords
from accord.pipeline.prepared.suite_ids import ENDING, Suite

PARTS = ".parts.npz"


def read_forms(folder: Path, split: str) -> Forms:
    """How the words of a split are written."""
    forms = json.loads((folder / f"{split}.forms.json").read_text(encoding="utf-8"))
    return Forms(forms, load_array(folder / f"{split}.form.npy"), load_subwords(folder, split))


def read_parts(folder: Path, split: str) -> dict[str, np.ndarray]:
    """Which sentences of a split are of each source; empty where there is but one source."""
    path = folder / f"{split}{PARTS}"
    if not path.exists():
        return {}
    saved = load_arrays(path, ["names", "part"])
    numbered = enumerate(saved["names"].tolist())
    return {name: saved["part"] == number for number, name in sorted(numbered, key=itemgetter(1))}


def suites(folder: Path) -> list[str]:
    """The names of the agreement suites."""
    return sorted(path.name.removesuffix(ENDING) for path in folder.glob(f"*{ENDING}"))


def read_suite(folder: Path, name: str) -> tuple[Suite, Forms]:
    """A suite, and how its words are written."""
    suite = Suite.load(folder / f"{name}{ENDING}")
    return suite, Forms(suite.forms.tolist(), suite.form, load_subwords(folder, name))
