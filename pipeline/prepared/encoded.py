"""What the stage `encode` made of texts, read back: what models are trained on.

Needs torch, numpy and safetensors only, as prepared data is also read where models are trained.
"""

import json
from pathlib import Path

from accord.models.common.batching import Sentences
from accord.models.common.files.arrays import load_array
from accord.models.spelling.subwords import COUNTS, load_subwords
from accord.pipeline.prepared.labels import VALUES, read_labels
from accord.pipeline.prepared.special_words import PRETRAINING, PRETRAINING_MASS, START_WEIGHTS

SIZES = "about.json"

# What training reads, by the stage that made it; a model is also trained where no stage is known.
READ_BY_TRAINING = {
    "encode": (
        *(
            f"{split}.{file}"
            for split in ("train", "valid", PRETRAINING)
            for file in ("ids.npy", "lengths.npy", "form.npy", "subwords.npz", "labels.npy")
        ),
        "subwords.json",
        COUNTS,
        "classes.npy",
        VALUES,
    ),
    "featurise": ("phi.npz", "psi.npz", "letters.npy", START_WEIGHTS),
    "background": (
        "b.npy",
        PRETRAINING_MASS,
        "group.npy",
        "share.npy",
        "about.json",
        "ngrams.npz",
        "factors.npz",
    ),
}


def read_text(folder: Path, split: str) -> Sentences:
    """The sentences of a split in what a model predicts: words, or the subwords that spell them."""
    sentences = read_sentences(folder, split)
    subwords = load_subwords(folder, split)
    if subwords is None:
        return sentences
    forms = load_array(folder / f"{split}.form.npy")
    return subwords.spell(Sentences(forms, sentences.lengths, sentences.labels))


def read_sentences(folder: Path, split: str) -> Sentences:
    """The encoded sentences of a split; the ids stay on disk until they are read."""
    return Sentences(
        load_array(folder / f"{split}.ids.npy", mapped=True),
        load_array(folder / f"{split}.lengths.npy"),
        read_labels(folder, split),
    )


def read_sizes(folder: Path) -> dict[str, dict[str, int]]:
    """Sentences, words and characters of every split."""
    return json.loads((folder / SIZES).read_text())


def held_out(folder: Path) -> list[str]:
    """Every split that no model is trained on, validation included."""
    return [split for split in read_sizes(folder) if split not in ("train", PRETRAINING)]
