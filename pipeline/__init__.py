"""Accord's stages, configuration and command line; `run` and `load` are the way in from Python.

Imported lazily: the training stage must load where only torch, numpy and safetensors are.
"""

from typing import Any

import models  # noqa: F401  first of all: it says how threads wait

__all__ = ["load", "run"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from pipeline import api

        return getattr(api, name)
    raise AttributeError(f"module 'pipeline' has no attribute '{name}'")
