"""The model that is asked where none is named: the one place that chooses it."""

from pathlib import Path

DEFAULT_RUN = Path("runs/default")
IN_THE_BOX = {"french": Path(__file__).parents[1] / "french"}  # models that come with Accord
