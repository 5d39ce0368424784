"""A model's small form as a plain one again, which a training can go on from."""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd

from accord.models.common.files.weights import save_tensors
from accord.models.spelling.ngram import NGramSpelling
from accord.models.spelling.open_vocabulary import NEURAL, save_spelling
from accord.pipeline.artefacts import fingerprint
from accord.pipeline.artefacts.artefact import read_json, write_json
from accord.pipeline.artefacts.model_files import CHAIN, MODEL, RECIPE
from accord.pipeline.prepared.special_words import UNKNOWN_ID, is_special
from accord.pipeline.sharing.compact.parts import BACKGROUND, VECTORS, CompactParts
from accord.pipeline.sharing.compact.unknown_words import COLUMNS
from accord.pipeline.sharing.file_names import CONFIG

KEPT = (CHAIN, BACKGROUND, RECIPE, "names.json")  # files that both forms have


def unfold(folder: Path, out: Path) -> None:
    """Write what an exported model has, made of what the small form keeps.

    Lexicons are none of it: the chain names them, and they are looked for where data lie.
    """
    parts, about = CompactParts(folder), read_json(folder / CONFIG)
    for name in KEPT:
        shutil.copy(folder / name, out / name)
    forms = list(parts.words.forms)
    by_id = [forms[place] for place in parts.words.place]
    types = pd.DataFrame({"form": by_id, "share": parts.words.shares})
    types.to_parquet(out / "types.parquet")
    parts.analyses(COLUMNS).to_parquet(out / "analyses.parquet")
    parts.phi.save(out / "phi.npz")
    if parts.psi is not None:
        parts.psi.save(out / "psi.npz")
    np.save(out / "b.npy", parts.words.mass(about["params"]["background"]["kind"]))
    weights = {name: value for name, value in parts.tensors.items() if name != VECTORS}
    save_tensors(weights, out / MODEL)
    if (folder / NEURAL).exists():
        shutil.copy(folder / NEURAL, out / NEURAL)
    else:
        save_spelling(_learned(parts, forms, about["params"]["background"]["spelling_order"]), out)
    files = {path.name: fingerprint.of_file(path) for path in sorted(out.iterdir())}
    write_json(out / CONFIG, {**about, "files": files})


def _learned(parts: CompactParts, forms: list[str], order: int) -> NGramSpelling:
    """Spelling as it was learned: from the words outside the lexicon that were seen once."""
    count, unknown = (parts.words.columns[name] for name in ("count", "unknown"))
    chosen = np.flatnonzero((count == 1) & (unknown > 0))
    if not len(chosen):
        chosen = np.flatnonzero([not is_special(form) for form in forms])
    kinds = np.maximum(unknown[chosen].astype(np.int64) - UNKNOWN_ID, 0).tolist()
    words = [forms[place] for place in chosen]
    return NGramSpelling.learn(words, kinds, len(parts.words.unknown), order)
