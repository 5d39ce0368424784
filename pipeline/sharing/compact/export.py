"""A trained model's folder in its small form: at most 30 MB for 820,000 words.

Weights are in half precision; the matrix that words are read and predicted by has rows in int8 if
that moves the loss on validation text little enough. Words, readings and Φ are kept once and
packed, the prior is made of counts again, and unknown words are told apart by their endings.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch

from accord.models.common.files.arrays import load_array
from accord.models.common.files.compact_weights import packed, save_shards
from accord.models.common.files.json_file import load_json
from accord.models.common.files.weights import parameters_of
from accord.models.common.registry import parted
from accord.models.features.phi import Features
from accord.models.spelling.ngram import NGramSpelling
from accord.pipeline.artefacts.artefact import Inputs
from accord.pipeline.display.progress import say
from accord.pipeline.evaluation.measure import score
from accord.pipeline.prepared.encoded import read_sentences
from accord.pipeline.prepared.encoded_forms import read_forms
from accord.pipeline.prepared.saved_chain import load_chain
from accord.pipeline.prepared.special_words import MADE_OF
from accord.pipeline.sharing.compact import readings
from accord.pipeline.sharing.compact.features import PHI, PSI, save_features
from accord.pipeline.sharing.compact.letters import LETTERS, save_letters
from accord.pipeline.sharing.compact.parts import KINDS, VECTORS, CompactParts
from accord.pipeline.sharing.compact.unknown_words import ENDINGS, encode_endings, guesser_of
from accord.pipeline.sharing.compact.words import Words
from accord.pipeline.sharing.file_names import WORDS
from accord.pipeline.sharing.parts import Parts

MOST = 0.002  # of the loss on validation text, by which int8 may move it
IN_INT8 = ("embedding.weight", VECTORS)  # a row a feature, or a vector
FITS = ("none", "initialise")  # pretraining that leaves no model behind


class Rounded(NamedTuple):
    """What rounding the weights does to the loss on validation text, in nats a word."""

    before: float
    half: float
    int8: float

    @property
    def keeps_int8(self) -> bool:
        return abs(self.int8 / self.before - 1) < MOST


def write_compact(artefacts: Inputs, folder: Path) -> Rounded:
    """Write the files of a model beside its recipe and what else is small; measure the cost."""
    parts = Parts(artefacts)
    _check(parts)
    phi = parts.features.phi
    psi = artefacts["featurise"] / "psi.npz"
    read = Features.load(psi) if psi.exists() else None
    words = _write_words(parts, folder, phi, read)
    save_features(phi, folder / PHI)
    if read is not None:
        save_features(read, folder / PSI)
    if len(words.unknown) > 1:
        guesser = guesser_of(load_chain(artefacts["analyse"]))
        np.savez_compressed(folder / ENDINGS, **encode_endings(guesser, words.unknown))
    if isinstance(parts.spelling, NGramSpelling):
        save_letters(parts.spelling, folder / LETTERS)
    elif parts.spelling is not None:
        parts.spelling.save(folder / "spelling.safetensors")
    return _write_weights(parts, folder)


def _check(parts: Parts) -> None:
    """Refuse what has no small form."""
    about = load_json(parts.artefacts["background"] / "about.json", dict)
    found = {
        "encode.merges": (parts.speller is None, "words", "subwords"),
        "background.kind": (about["kind"] in KINDS, " or ".join(KINDS), about["kind"]),
        # Whose b is not made of counts alone.
        "train.start": (not (parts.artefacts["analyse"] / MADE_OF).exists(), "none", "a start"),
    }
    recipe = getattr(parts.model, "recipe", None)
    if recipe is not None:
        found["train.phases"] = (recipe.pretraining in FITS, " or ".join(FITS), "background")
        found["train.input"] = (recipe.input == "features", "features", recipe.input)
        found["train.condition"] = (recipe.condition == "none", "none", parted(recipe.condition)[0])
    has_classes = (parts.artefacts["encode"] / "classes.npy").exists()
    found["train.output"] = (recipe and not has_classes, "a network without classes", "another")
    for key, (fits, expected, got) in found.items():
        if not fits:
            raise ValueError(f"{key}: a small form expects {expected}, got {got}")


def _write_words(parts: Parts, folder: Path, phi: Features, read: Features | None) -> Words:
    """Words and readings; what is derived of them again must come out as it was."""
    analysed, prior = parts.artefacts["analyse"], parts.artefacts["background"]
    types = pd.read_parquet(analysed / "types.parquet")
    analyses = pd.read_parquet(analysed / "analyses.parquet")
    arrays, sets = readings.encode(analyses, len(types))
    words = Words.encode(
        types["form"].tolist(),
        load_array(prior / "share.npy"),
        count=types["count"].to_numpy(),
        unknown=types.get("unknown", types["count"] * 0).to_numpy(),
        signature=phi.signature,
        read=np.zeros(0, np.int64) if read is None else read.signature,
        readings=sets,
    )
    kind = load_json(prior / "about.json", dict)["kind"]
    same = words.mass(kind) == load_array(prior / "b.npy")
    if [words.forms[place] for place in words.place] != types["form"].tolist() or not same.all():
        raise ValueError(f"{analysed}: expected ids that fall in count, and b that follows of them")
    words.save(folder / WORDS)
    np.savez_compressed(folder / readings.READINGS, **arrays)
    np.savez_compressed(folder / readings.LEMMAS, **readings.encode_lemmas(analyses, words))
    return words


def _write_weights(parts: Parts, folder: Path) -> Rounded:
    """In int8 where that is good enough, said with the losses before and after.

    What is measured is the folder itself, read back.
    """
    tensors, vectors = parameters_of(parts.model), parts.features.phi.vectors
    if vectors.shape[1]:
        tensors[VECTORS] = torch.from_numpy(vectors)
    encoded = parts.artefacts["encode"]
    losses = [_loss(parts, encoded)]
    for in_int8 in ((), IN_INT8):
        _replace_shards(packed(tensors, in_int8), folder)
        losses.append(_loss(CompactParts(folder), encoded))
    rounded = Rounded(*losses)
    if not rounded.keeps_int8:
        _replace_shards(packed(tensors, ()), folder)
    say(
        f"validation: {rounded.before:.5f} nats a word; in half precision {rounded.half:.5f}, "
        f"with rows in int8 {rounded.int8:.5f}: "
        f"{'int8 is kept' if rounded.keeps_int8 else 'half precision is kept'}"
    )
    return rounded


def _replace_shards(kept: Mapping[str, torch.Tensor], folder: Path) -> None:
    for old in folder.glob("model-*.safetensors"):
        old.unlink()
    save_shards(kept, folder)


def _loss(parts: Parts | CompactParts, encoded: Path) -> float:
    """Nats a word of the validation text."""
    text = read_sentences(encoded, "valid"), read_forms(encoded, "valid")
    return -float(score(parts.model, parts.spelling, *text)[0].mean())
