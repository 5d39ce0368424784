"""The layout is counted as it is, and paths are traced through the files that run."""

from functools import cache
from pathlib import Path

import pytest

from benchmarks.layout import PATHS, Checkout, figures, path

ROOT = Path(__file__).parents[2]
FILES = {
    "models/__init__.py": "from models import deep\n",
    "models/recipe.py": "class Recipe:\n    size: int = 3\n    depth: int = 1\n",
    "models/deep.py": "from models.recipe import Recipe\n\nclass Row: ...\nclass _Own: ...\n",
    "pipeline/run.py": "def run():\n    import models.deep\n    from json import loads\n",
    "pipeline/rows.py": "class Row:\n    class _Own: ...\n",
}


@pytest.mark.parametrize("linked", [False, True])
def test_what_the_sources_show(tmp_path, linked):
    """With the packages beside each other, and with links to them in one."""
    if linked:
        (tmp_path / "accord").mkdir()
        (tmp_path / "accord" / "__init__.py").write_text("")
    for file, text in FILES.items():
        whole = tmp_path / file
        whole.parent.mkdir(exist_ok=True)
        if linked:
            (tmp_path / "accord" / whole.parent.name).unlink(missing_ok=True)
            (tmp_path / "accord" / whole.parent.name).symlink_to(f"../{whole.parent.name}")
            text = text.replace("models", "accord.models")
        whole.write_text(text)
    found = figures(Checkout(tmp_path))
    assert found == {
        "files": 5 + linked,
        "lines": 13,
        "median lines of a file": 2.5 if linked else 3,
        "lines of the largest file": 4,
        "files under 50 lines": 5 + linked,
        "modules with one importer": 2,  # recipe by deep, deep by run; the package's own is no one
        "imports of our own modules inside functions": 1,
        "class names used twice": 1,
        "fields of Recipe": 2,
    }


@cache
def this_checkout() -> Checkout:
    return Checkout(ROOT)


def defining(*names: str) -> set[str]:
    checkout = this_checkout()
    return {str(checkout.files[checkout.defining(name)].relative_to(ROOT)) for name in names}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("trace", "on", "off"),
    [
        ("score", ["program", "Scorer", "NumpyModel"], ["Trainer", "LogLinear", "features_of"]),
        pytest.param(
            *("step", ["Trainer", "Steps", "LogLinear"], ["Scorer", "Recipe", "features_of"]),
            marks=pytest.mark.long,
        ),
        pytest.param(
            *("φ", ["features_of", "Chain", "Guesser"], ["LanguageModel", "Scorer"]),
            marks=pytest.mark.long,
        ),
    ],
)
def test_files_are_on_a_path_whose_functions_run_there(trace, on, off):
    (name,) = (each for each in PATHS if trace in each)
    found = {*path(ROOT, name)}
    assert found >= defining(*on)
    assert not found & defining(*off)


def test_a_path_that_cannot_be_traced_says_why(tmp_path):
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "__init__.py").write_text("")
    with pytest.raises(ValueError, match=r"expected to trace (.|\n)*Error"):
        path(tmp_path, next(iter(PATHS)))
