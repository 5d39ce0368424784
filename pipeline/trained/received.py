"""What comes from elsewhere, checked before anything is built of it.

Its recipe is one, and its weights are of the shapes that its recipe and its Φ give a network; so
nothing takes more room than the folder itself has.
"""

import math
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pyarrow as pa
from pyarrow import parquet

from accord.models.common.arrays import check_stored
from accord.models.common.files import load_json
from accord.models.common.weights import Shapes, check_shapes, shapes_in
from accord.models.features.phi import Features
from accord.models.recipe import MOVED, Recipe
from accord.pipeline.artefacts.artefact import Inputs
from accord.pipeline.artefacts.names import MODEL, RECIPE
from accord.pipeline.trained.network import parameter_shapes


def read_recipe(path: Path) -> Recipe:
    content = load_json(path, dict)
    hints = get_type_hints(Recipe)
    for key in content:
        if key not in hints and key not in MOVED:
            raise ValueError(f"{path}: unknown key {key!r:.100}")
    try:
        for key, value in Recipe.settled(Recipe.layered({}, content)).items():
            if not _fits(value, hints[key]):
                raise ValueError(f"{key}: expected {_named(hints[key])}, got {value!r:.100}")
        return Recipe.read(content)
    except ValueError as error:  # of a number out of its range
        raise ValueError(f"{path}: {error}") from None


def _fits(value: Any, hint: Any) -> bool:
    if get_origin(hint) is Literal:
        return value in get_args(hint)
    if get_origin(hint) is tuple:  # of any length, which JSON has as a list
        return type(value) is list and all(_fits(each, get_args(hint)[0]) for each in value)
    if get_args(hint):
        return any(_fits(value, each) for each in get_args(hint))
    if hint is float and type(value) in (int, float):
        return abs(value) < math.inf
    return type(value) is hint


def _named(hint: Any) -> str:
    return getattr(hint, "__name__", str(hint)) if not get_args(hint) else str(hint)


PHI = "phi.npz"
TYPES = "types.parquet"
MOST_ROWS = 100  # that a byte of a table may stand for, packed as tables are


def check(folder: Path, inputs: Inputs) -> None:
    """Refuse a folder whose files claim what its own weights do not bear out."""
    recipe = read_recipe(folder / RECIPE)
    found = shapes_in(folder / MODEL)
    _check_bounds(folder, recipe, found)
    try:
        expected = parameter_shapes(recipe, inputs)
    except (RuntimeError, TypeError, OverflowError, MemoryError) as error:  # torch's, of such sizes
        raise ValueError(f"{folder / RECIPE}: no network can be so large: {error}") from None
    check_shapes(f"{folder / MODEL}: ", expected, found)


def _check_bounds(folder: Path, recipe: Recipe, found: Shapes) -> None:
    """What costs time or room even before a number is read is no more than the files bear out."""
    if recipe.output != "background" and recipe.layers > len(found):
        raise ValueError(
            f"{folder / RECIPE}: layers: expected at most {len(found)}, the tensors in {MODEL}; "
            f"got {recipe.layers:,}"
        )
    forms = _check_tables(folder)
    if (folder / PHI).exists():  # a model of subwords has none
        check_stored(folder / PHI)
        phi = Features.load(folder / PHI)
        most = max(len(phi.indices), *(size for shape in found.values() for size in shape), 1)
        if phi.feature_count > most:
            raise ValueError(
                f"{folder / PHI}: feature_count: expected at most {most:,}, as many as it names or "
                f"{MODEL} has rows; got {phi.feature_count:,}"
            )
        if phi.vocabulary_size != forms:
            raise ValueError(
                f"{folder / PHI}: expected {forms:,} words, as {TYPES} has; got "
                f"{phi.vocabulary_size:,}"
            )


def _check_tables(folder: Path) -> int:
    """Every table can be read to its end; how many words there are."""
    for path in sorted((*folder.glob("*.parquet"), *folder.glob("*.arrow"))):
        try:
            _table(path).validate(full=True)
        except (pa.ArrowException, OSError) as error:
            raise ValueError(f"{path} cannot be loaded: {error}") from None
    forms = _table(folder / TYPES)["form"]
    if forms.null_count or forms.type not in (pa.string(), pa.large_string()):
        raise ValueError(f"{folder / TYPES}: expected the form of every word, got none of some")
    return len(forms)


def _table(path: Path) -> pa.Table:
    if path.suffix == ".arrow":
        return pa.ipc.open_file(pa.memory_map(str(path))).read_all()
    rows, most = parquet.read_metadata(path).num_rows, MOST_ROWS * path.stat().st_size
    if rows > most:
        raise ValueError(f"{path}: expected at most {most:,} rows in its bytes, got {rows:,}")
    return parquet.read_table(path)
