"""Accord's stages, configuration and command line; the names below are the way in from Python.

Imported lazily: the training stage must load where only torch, numpy and safetensors are.
"""

from importlib import import_module
from typing import Any

from accord import models  # noqa: F401  first of all: it says how threads wait

PLACES = {
    "export": "accord.pipeline.sharing.export",
    "run": "accord.pipeline.runner.run",
    "load": "accord.pipeline.inference.scorer",
    "surprisal": "accord.pipeline.reading.table",
    "expect": "accord.pipeline.reading.expect",
}
__all__ = ["expect", "export", "load", "run", "surprisal"]


def __getattr__(name: str) -> Any:
    if name in PLACES:
        return getattr(import_module(PLACES[name]), name)
    raise AttributeError(f"module 'pipeline' has no attribute '{name}'")
