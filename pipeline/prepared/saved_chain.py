"""The chain of lexicons that a run looked words up in, written down for words met later."""

import json
from collections.abc import Iterable
from pathlib import Path

from accord import lexicon
from accord.lexicon.chain import SAVED, open_saved
from accord.lexicon.reading import LexiconError
from accord.lexicon.registry import files
from accord.models.common.files.json_file import load_json
from accord.pipeline.artefacts.fingerprint import of_file
from accord.pipeline.artefacts.model_files import CHAIN
from accord.pipeline.data.folders import folder_of

HASHES = "lexicon-hashes.json"  # of the files of each lexicon that does not lie beside


def save_chain(folder: Path, **chain) -> None:
    """What `lexicon.load` was called with, so that words met later are looked up alike."""
    (folder / CHAIN).write_text(json.dumps(chain, indent=1))


def read_chain(folder: Path) -> dict:
    return load_json(folder / CHAIN, dict)


def save_hashes(folder: Path, names: Iterable[str]) -> None:
    """What the files of these lexicons hold, so that words met later are not told by others."""
    hashes = {name: [of_file(path) for path in files(name, folder_of)] for name in names}
    (folder / HASHES).write_text(json.dumps(hashes, indent=1))


def load_chain(folder: Path) -> lexicon.Lexicon:
    """The chain that the stage had; in an exported model's folder it lies beside."""
    if (folder / SAVED).exists():
        return open_saved(folder)
    if (folder / HASHES).exists():
        _refuse_changed(folder)
    return lexicon.load(**read_chain(folder), folder=folder_of)


def _refuse_changed(folder: Path) -> None:
    """A file that is missing is named by the lexicon that reads it."""
    for name, hashes in load_json(folder / HASHES, dict).items():
        for path, expected in zip(files(name, folder_of), hashes, strict=False):
            if path.is_file() and of_file(path) != expected:
                raise LexiconError(
                    f"{path} changed since {folder} was made with it: expected the file of then, "
                    f"as the lexicon '{name}' tells the classes of unknown words. Put that file "
                    f"back, or make the model anew with `accord run`"
                )
