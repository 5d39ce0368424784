"""The model that is asked where none is named: the one place that chooses it.

It comes with the package, in the folder `french` beside this file, as `accord export --compact`
writes it.
"""

from pathlib import Path

NAME = "french"
DEFAULT_MODEL = Path(__file__).parent / NAME


def is_default(place: str | Path | None) -> bool:
    """Whether that model is meant: by its name, or where nothing is named."""
    return place is None or (str(place) == NAME and not Path(NAME).exists())


def default_model() -> Path:
    """The folder of the model that comes with Accord, if this copy of it has one."""
    if not DEFAULT_MODEL.is_dir():
        raise FileNotFoundError(
            f"this copy of Accord comes without a model: expected one in {DEFAULT_MODEL}. Name one "
            f"of yours by --run FOLDER, from Python load(FOLDER); `accord run` trains one"
        )
    return DEFAULT_MODEL
