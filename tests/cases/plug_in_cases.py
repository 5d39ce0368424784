"""A package as pip would install it: modules, and the entry points that its metadata names."""

from collections.abc import Mapping
from pathlib import Path


def install(
    folder: Path, name: str, modules: Mapping[str, str], points: Mapping[str, list[str]]
) -> None:
    """Write a package into a folder that is, or will be, one of Python's."""
    for module, text in modules.items():
        (folder / f"{module}.py").write_text(text, encoding="utf-8")
    about = folder / f"{name.replace('-', '_')}-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    groups = ("\n".join([f"[{group}]", *lines]) for group, lines in points.items())
    (about / "entry_points.txt").write_text("\n".join(groups), encoding="utf-8")
