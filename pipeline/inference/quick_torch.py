"""`import torch` for commands that ask a trained model, in three quarters of its CPU time."""

import importlib
import sys
from importlib.metadata import version
from types import ModuleType

# How 500 operations behave on tensors that hold no numbers, which PyTorch's compiler asks.
RULES = "torch._meta_registrations"
TRIED = "2.13."  # another version may want them at once


def import_torch() -> None:
    """Load PyTorch, if it is not, but the rules only before what needs them.

    That is its compiler, which optimisers ask too: both find PyTorch as they expect it.
    """
    if "torch" in sys.modules or not version("torch").startswith(TRIED):
        return
    sys.modules[RULES] = ModuleType(RULES)
    import torch

    del sys.modules[RULES], torch._meta_registrations
    sys.meta_path.insert(0, _RulesFirst())


class _RulesFirst:
    """Is asked for each module that is not loaded yet: finds none, but sees what is to come."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name.startswith("torch._"):  # so are the compiler and what it is made of
            sys.meta_path.remove(self)
            importlib.import_module(RULES)
