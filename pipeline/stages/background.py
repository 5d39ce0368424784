"""Stage `background`: the prior mass b of every known word, and the spelling of all others."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from accord.errors import AccordError
from accord.models.common.registry import imported, outside_files, parted
from accord.models.fine_tuning import adapted
from accord.models.neural_spelling import NeuralSpelling
from accord.models.ngrams import discounted, groups_of
from accord.models.parts import BACKGROUNDS
from accord.models.phi import Features
from accord.models.spelling import NGramSpelling, Spelling
from accord.pipeline.base.artefact import Inputs, hash_of_file
from accord.pipeline.base.names import (
    PRETRAINING,
    PRETRAINING_MASS,
    START,
    UNKNOWN_ID,
    is_special,
    read_as_unknown,
)
from accord.pipeline.config.sections import BackgroundParams
from accord.pipeline.data.templates import factors_of
from accord.pipeline.model.folder import ModelFolder, open_folder

RAREST = 0.01  # per million: frequency of a word that the lexicon of frequencies lacks


def compute(params: BackgroundParams, inputs: Inputs, out: Path) -> None:
    types = pd.read_parquet(inputs["analyse"] / "types.parquet")
    signature = Features.load(inputs["featurise"] / "phi.npz").signature
    counts, share = (types[name].to_numpy(np.float64) for name in ("count", "share"))
    unknown = types["unknown"].to_numpy() if "unknown" in types else np.zeros(len(types), int)
    group = groups_of(params.share, types["count"].to_numpy(), signature, unknown)
    if START in inputs and "unknown" in types:
        np.save(out / "share.npy", share)
        _adapt(params, open_folder(inputs[START]), types, out)
        return
    share = share * _frequency(params, types)
    kind, _ = parted(params.kind)
    if kind == "uniform":
        mass = np.full(len(counts), 1 / len(counts))
    else:
        mass = discounted(counts, group, share)
    np.save(out / "b.npy", mass)
    if PRETRAINING in types:  # whose words all have mass while it is read
        of_both = counts + types[PRETRAINING].to_numpy()
        np.save(out / PRETRAINING_MASS, discounted(of_both, group, np.ones_like(share)))
    np.save(out / "share.npy", share)
    about = _about(params)
    history, settings = parted(params.history)
    if kind == "ngram" and history == "factored":
        analyses = pd.read_parquet(inputs["analyse"] / "analyses.parquet")
        factors = factors_of(analyses, len(types), settings["factors"].split())
        np.savez(out / "factors.npz", **factors)
    if prepare := BACKGROUNDS.about(kind, "prepare"):
        about |= imported(prepare)(params, types["form"].tolist(), mass, out)
    if others := outside_files(params):  # training counts the n-grams, and must know of changes
        about["code"] = [hash_of_file(file) for file in others]
    (out / "about.json").write_text(json.dumps(about, indent=1))
    if "unknown" in types:
        _learn_spelling(params, types, out)


def _about(params: BackgroundParams) -> dict[str, Any]:
    """Return the settings that training needs."""
    names = ("kind", "share", "order", "smoothing", "history", "pretraining")
    return {name: getattr(params, name) for name in names}


def _adapt(params: BackgroundParams, start: ModelFolder, types: pd.DataFrame, out: Path) -> None:
    """Write b and spelling of the initial checkpoint, adapted to the training text.

    A closed vocabulary has a b of its own instead: most of its unseen words are in the test, so
    that they are likelier than in the checkpoint.
    """
    counts, read_as = types["count"].to_numpy(), types["unknown"].to_numpy()
    np.save(out / "b.npy", adapted(start.mass(), counts, read_as))
    (out / "about.json").write_text(json.dumps(_about(params), indent=1))
    spelled = np.zeros(len(types), np.int64)
    spelled[: len(start.words)] = start.words.column("spelled")
    if isinstance(start.spelling, NGramSpelling):  # a network is not trained anew for a few words
        once = read_as_unknown(types).to_numpy()
        spelled[once] = read_as[once] - UNKNOWN_ID + 1
        spelling: Spelling = _learned(params, types, spelled, start.spelling.classes)
    else:
        spelling = start.spelling
    np.save(out / "spelled.npy", spelled)
    spelling.save(out / spelling.file)


def _frequency(params: BackgroundParams, types: pd.DataFrame) -> np.ndarray | float:
    """Return the weights by which unseen words share the mass of their group."""
    if params.unseen == "alike":
        return 1.0
    if "frequency" not in types:
        raise AccordError(
            "background.unseen: frequency needs a lexicon that has frequencies, "
            "such as analyse.frequency: lexique"
        )
    return types["frequency"].to_numpy() + RAREST


def _learn_spelling(params: BackgroundParams, types: pd.DataFrame, out: Path) -> None:
    """Learn from words outside the lexicon that were seen once, or from all if there are none."""
    written = ~types["form"].map(is_special).to_numpy()
    outside = written & read_as_unknown(types).to_numpy()
    kinds = (types["unknown"].to_numpy() - UNKNOWN_ID).clip(min=0)
    spelled = np.where(outside if outside.any() else written, 1 + kinds, 0)
    np.save(out / "spelled.npy", spelled)
    classes = int(types["unknown"].max()) - UNKNOWN_ID + 1
    spelling = _learned(params, types, spelled, classes)
    spelling.save(out / spelling.file)


def _learned(
    params: BackgroundParams, types: pd.DataFrame, spelled: np.ndarray, classes: int
) -> Spelling:
    """Return a spelling model of the words that have a class."""
    chosen = types["form"][spelled > 0].sort_values()
    words, kinds = chosen.tolist(), (spelled[chosen.index] - 1).tolist()
    if params.spelling == "neural":
        return NeuralSpelling.learn(words, kinds, classes)
    return NGramSpelling.learn(words, kinds, classes, params.spelling_order)
