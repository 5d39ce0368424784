"""pyarrow, imported when it is first used: the bundled model is asked without it.

Annotations that name its types are not evaluated (`from __future__ import annotations`).
"""

from importlib import import_module
from typing import Any


class DeferredModule:
    """A module that is imported when something of it is first asked for."""

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self._name), attribute)


pa = DeferredModule("pyarrow")
pc = DeferredModule("pyarrow.compute")
parquet = DeferredModule("pyarrow.parquet")
