"""A chain of lexicons as files of a folder, to be opened where the data it was made of is not."""

import json
import shutil
from pathlib import Path
from typing import Any

from lexicon.analysis import Lexicon
from lexicon.chain import Chain
from lexicon.closed import Closed
from lexicon.guesser import Guesser
from lexicon.index import PROBE, Index
from lexicon.reading import LexiconError

SAVED = "lexicons.json"


def save(lexicon: Lexicon, folder: Path) -> None:
    """Copy the indexes of a chain, and write down how they make it up."""
    (folder / SAVED).write_text(json.dumps({"hash": PROBE, "chain": _saved(lexicon, folder)}))


def _saved(lexicon: Lexicon, folder: Path) -> dict[str, Any]:
    if isinstance(lexicon, Chain):
        parts = [_saved(part, folder) for part in lexicon.lexicons]
        guesser = _saved(lexicon.guesser, folder) if lexicon.guesser is not None else None
        return {"kind": "chain", "join": lexicon.join, "parts": parts, "guesser": guesser}
    if isinstance(lexicon, Guesser):
        return {"kind": "guesser", "suffixes": _saved(lexicon.suffixes, folder)}
    if isinstance(lexicon, Closed):
        return {"kind": "closed", "lowercase": lexicon.lowercase}
    if not isinstance(lexicon, Index) or lexicon.path is None:
        raise LexiconError(f"the lexicon {lexicon.name} is no index, so it cannot be saved")
    file = f"lexicon-{len(list(folder.glob('lexicon-*.arrow')))}.arrow"
    shutil.copy(lexicon.path, folder / file)
    return {"kind": "index", "name": lexicon.name, "licence": lexicon.licence, "file": file}


def open_saved(folder: Path) -> Lexicon:
    """The chain that was saved in a folder."""
    try:
        saved = json.loads((folder / SAVED).read_text(encoding="utf-8"))
        if saved["hash"] != PROBE:
            raise LexiconError(f"{folder / SAVED}: its indexes were made with another pandas")
        return _opened(saved["chain"], folder)
    except (KeyError, TypeError, RecursionError) as error:
        raise LexiconError(f"{folder / SAVED}: expected a chain of lexicons: {error!r}") from None


def _opened(saved: dict[str, Any], folder: Path) -> Lexicon:
    if saved["kind"] == "chain":
        guesser = _opened(saved["guesser"], folder) if saved["guesser"] else None
        return Chain([_opened(part, folder) for part in saved["parts"]], saved["join"], guesser)
    if saved["kind"] == "guesser":
        return Guesser(_opened(saved["suffixes"], folder))
    if saved["kind"] == "closed":
        return Closed(saved["lowercase"])
    if Path(saved["file"]).name != saved["file"]:
        raise LexiconError(f"{folder / SAVED}: expected a file beside it, got {saved['file']!r}")
    return Index.open(saved["name"], saved["licence"], folder / saved["file"])
