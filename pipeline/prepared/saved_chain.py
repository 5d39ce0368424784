"""The chain of lexicons that a run looked words up in, written down for words met later."""

import json
from pathlib import Path

import lexicon
from lexicon.saved import SAVED, open_saved
from models.common.json_file import load_json
from pipeline.artefacts.model_files import CHAIN
from pipeline.data.folders import folder_of


def save_chain(folder: Path, **chain) -> None:
    """What `lexicon.load` was called with, so that words met later are looked up alike."""
    (folder / CHAIN).write_text(json.dumps(chain, indent=1))


def read_chain(folder: Path) -> dict:
    return load_json(folder / CHAIN, dict)


def load_chain(folder: Path) -> lexicon.Lexicon:
    """The chain that the stage had; in an exported model's folder it lies beside."""
    if (folder / SAVED).exists():
        return open_saved(folder)
    return lexicon.load(**read_chain(folder), folder=folder_of)
