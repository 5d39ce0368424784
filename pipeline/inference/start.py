"""The finished model that a training goes on from: the folder that `train.start` names."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pipeline.artefacts import fingerprint
from pipeline.artefacts.artefact import Artefact, read_json
from pipeline.data.folders import cache_home
from pipeline.display.progress import say
from pipeline.inference.default_model import NAME, default_model, is_default
from pipeline.sharing.file_names import CONFIG, is_compact

UNFOLDING = 1  # raised whenever `unfold` comes to write other files for the same model


def start_folder(start: str) -> Path:
    """That of a model that comes with Accord, or the folder itself, if it is an exported model."""
    folder = default_model() if is_default(start) else Path(start)
    if not (folder / CONFIG).is_file():
        raise ValueError(
            f"train.start: expected {NAME} or a folder that `accord export` wrote, found "
            f"{start!r}: there is no {folder / CONFIG}"
        )
    return folder


def start_artefact(start: str) -> Artefact:
    """Its folder with the hashes of its files, as those that stages made have them."""
    folder = start_folder(start)
    folder = _unfolded(folder) if is_compact(folder) else folder
    return Artefact(folder, read_json(folder / CONFIG))


def start_params(start: str) -> dict[str, Any]:
    """What it was made with, by stage."""
    return read_json(start_folder(start) / CONFIG)["params"]


def _unfolded(folder: Path) -> Path:
    """A model's small form as a plain one, in the cache, where each version makes it once."""
    made_of = [fingerprint.of_file(folder / CONFIG), UNFOLDING]
    place = cache_home() / "started" / fingerprint.of_value(made_of)[:16]
    if not place.exists():
        from pipeline.sharing.compact.unfold import unfold  # here, as it loads torch

        say(f"train.start: unfolding {folder.name} into {place}")
        place.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=place.parent) as partial:
            out = Path(partial) / "model"
            out.mkdir()
            unfold(folder, out)
            if not place.exists():  # another process may have been faster
                out.rename(place)
    return place
