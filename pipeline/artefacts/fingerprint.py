"""Hashes of what a stage depends on: files, parameters, and the source of the code that computes.

The code of a stage is its module and, transitively, every module of the four packages that it
imports anywhere in its text or names as `module:attribute`, as tables of parts do. Importing a
whole package or room (`import lexicon`) takes in all its modules, because what a package loads by
name cannot be seen in an import statement. A file beside a module that the module names
(`page.html`) is part of it.
"""

import ast
import hashlib
import json
import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

PACKAGES = ("pipeline", "corpora", "lexicon", "models")


def of_file(path: Path) -> str:
    """The SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def of_value(value: Any) -> str:
    """The SHA-256 of a value in canonical JSON."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def of_code(module: str) -> str:
    """The hash of a module and of all it imports from the four packages; comments do not count."""
    seen: dict[str, str] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        hashes, imports = _of_module(name)
        seen |= hashes
        waiting += imports
    return of_value(seen)


@cache  # the stages have most of their modules in common
def _of_module(name: str) -> tuple[dict[str, str], list[str]]:
    """The hashes of a module and of the files that it names beside it, and what it imports."""
    source = _source(name)
    tree = ast.parse(source.read_text(encoding="utf-8"))
    hashes = {f"{name}: {file.name}": of_file(file) for file in _named_beside(tree, source)}
    return {name: of_value(ast.dump(tree)), **hashes}, _imports(tree, name)


@cache
def _source(module: str) -> Path | None:
    """A module's file, found without importing anything; None for what is no module of ours."""
    package, *parts = module.split(".")
    if package not in PACKAGES:
        return None
    path = Path(find_spec(package).origin).parent.joinpath(*parts)
    files = (path / "__init__.py", path.with_suffix(".py"))
    return next((file for file in files if file.is_file()), None)


def _imports(tree: ast.Module, importer: str) -> list[str]:
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            children = [f"{node.module}.{alias.name}" for alias in node.names]
            found += [child if _source(child) else node.module for child in children]
        elif isinstance(node, ast.Constant) and re.fullmatch(r"[\w.]+:\w+", str(node.value)):
            found.append(node.value.partition(":")[0])
    return [module for name in found if _source(name) for module in _with_package(name, importer)]


def _named_beside(tree: ast.Module, source: Path) -> list[Path]:
    """The files of a module's folder, other than code, whose names stand in its text."""
    strings = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    beside = [path for path in source.parent.iterdir() if path.suffix != ".py" and path.is_file()]
    return [path for path in beside if path.name in strings]


def _with_package(name: str, importer: str) -> list[str]:
    """A module stands for itself; a package imported from outside it, for all that it holds."""
    file = _source(name)
    if file.name != "__init__.py" or f"{importer}.".startswith(f"{name}."):
        return [name]
    inside = sorted(path.relative_to(file.parent) for path in file.parent.rglob("[!_]*.py"))
    return [name, *(".".join((name, *path.with_suffix("").parts)) for path in inside)]
