"""The files of the stage `encode`: sentences as ids, their forms and labels, agreement suites.

Needs torch, numpy and safetensors only: models are also trained and scored on machines that have
nothing else.
"""

import filecmp
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import product
from operator import itemgetter
from pathlib import Path

import numpy as np

from accord.errors import AccordError
from accord.models.common.arrays import load_array, load_arrays
from accord.models.common.checks import nearest
from accord.models.common.files import load_json
from accord.models.data import Sentences
from accord.models.spelling.spelling import WrittenText
from accord.models.spelling.subwords import COUNTS, load_subwords
from accord.pipeline.base.names import (
    CHAIN,
    DESCRIBED,
    PRETRAINING,
    PRETRAINING_MASS,
    START_WEIGHTS,
)

LABELS = "labels"  # the column of them in tables of sentences
VALUES = "labels.json"  # the labels of each kind that training has, in the order of their numbers
NUMBERS = ".labels.npy"
DOCUMENTS = ".documents.npy"


def read_values(folder: Path) -> dict[str, list[str]]:
    """The labels of each kind, numbered from 1; empty if sentences have none."""
    path = folder / VALUES
    found = load_json(path, dict) if path.exists() else {}
    lists = found.values()
    if not all(isinstance(each, list) and {*map(type, each)} == {str} for each in lists):
        raise AccordError(f"{path}: expected for each kind of label a list of them")
    return found


def read_labels(folder: Path, split: str) -> np.ndarray | None:
    """The number of each sentence's label of each kind, 0 being none; None where there are none."""
    path = folder / f"{split}{NUMBERS}"
    return load_array(path) if path.exists() else None


def numbered(condition: Sequence[str], values: Mapping[str, Sequence[str]]) -> list[int]:
    """`source=orangesum` and others as a person writes them: a number of each kind."""
    said = {}
    for text in condition:
        name, sign, value = text.partition("=")
        if not sign:
            raise AccordError(f"condition: expected NAME=LABEL, got '{text}'")
        if name not in values:
            raise AccordError(f"condition: unknown kind of label '{name}'{nearest(name, values)}")
        if value not in values[name]:
            raise AccordError(f"condition: unknown {name} '{value}'{nearest(value, values[name])}")
        if name in said:
            raise AccordError(f"condition: expected one {name}, got several")
        said[name] = value
    numbers = ((of_kind, said.get(name)) for name, of_kind in values.items())
    return [0 if label is None else of_kind.index(label) + 1 for of_kind, label in numbers]


SIZES = "about.json"

READ_SPLITS = ("train", "valid", PRETRAINING)
READ_FILES = (
    "ids.npy",
    "lengths.npy",
    "form.npy",
    "subwords.npz",
    "labels.npy",
    "documents.npy",
    "parts.npz",
)
# The files that training reads, by stage; a machine that only trains knows no stages.
READ_BY_TRAINING = {
    "encode": (
        *map(".".join, product(READ_SPLITS, READ_FILES)),
        "subwords.json",
        COUNTS,
        "classes.npy",
        VALUES,
    ),
    "analyse": ("words.npz", "analyses.npz", "endings.npz", CHAIN),
    "featurise": ("phi.npz", "psi.npz", "names.json", "letters.npy", DESCRIBED, START_WEIGHTS),
    "background": (
        *("b.npy", PRETRAINING_MASS, "share.npy", "spelled.npy", "about.json", "spelling.*"),
        *("ngrams.npz", "factors.npz", "topics.json"),
    ),
}


def read_text(folder: Path, split: str) -> Sentences:
    """The sentences of a split in the units that a model predicts: words or subwords."""
    sentences = read_sentences(folder, split)
    subwords = load_subwords(folder, split)
    if subwords is None:
        return sentences
    forms = load_array(folder / f"{split}.form.npy")
    return subwords.spell(sentences._replace(ids=forms))


def read_sentences(folder: Path, split: str) -> Sentences:
    """The encoded sentences of a split; the ids stay on disk until they are read."""
    documents = folder / f"{split}{DOCUMENTS}"
    return Sentences(
        load_array(folder / f"{split}.ids.npy", mapped=True),
        load_array(folder / f"{split}.lengths.npy"),
        read_labels(folder, split),
        load_array(documents) if documents.exists() else None,
    )


def read_sizes(folder: Path) -> dict[str, dict[str, int]]:
    """Sentences, words and characters of every split."""
    return load_json(folder / SIZES, dict)


def held_out(folder: Path) -> list[str]:
    """Every split that no model is trained on, validation included."""
    return [split for split in read_sizes(folder) if split not in ("train", PRETRAINING)]


ENDING = ".suite.npz"


@dataclass(frozen=True)
class Suite:
    """A suite as ids of a vocabulary; a sentence that several pairs share is kept once."""

    ids: np.ndarray  # the words of all sentences, END after each
    lengths: np.ndarray  # of each sentence, END included
    good: np.ndarray  # the right sentence of each pair
    bad: np.ndarray
    critical: np.ndarray  # the place in both sentences of the first word that differs
    known: np.ndarray  # whether a pair can be judged: a closed vocabulary may lack a word of it
    construction: np.ndarray  # of each pair, a place in `constructions`
    constructions: np.ndarray
    forms: np.ndarray  # the words as they are written, each once
    form: np.ndarray  # which of them each word is, −1 for ends

    @property
    def sentences(self) -> Sentences:
        return Sentences(self.ids, self.lengths)

    def save(self, path: Path) -> None:
        np.savez_compressed(path, **asdict(self))

    @classmethod
    def load(cls, path: Path) -> "Suite":
        return cls(**load_arrays(path, [each.name for each in fields(cls)]))


PARTS = ".parts.npz"


def read_forms(folder: Path, split: str) -> WrittenText:
    """How the words of a split are written."""
    forms = load_json(folder / f"{split}.forms.json", list)
    return WrittenText(
        forms, load_array(folder / f"{split}.form.npy"), load_subwords(folder, split)
    )


def read_parts(folder: Path, split: str) -> dict[str, np.ndarray]:
    """Which sentences of a split are of each source; empty where there is but one source."""
    path = folder / f"{split}{PARTS}"
    if not path.exists():
        return {}
    saved = load_arrays(path, ["names", "part"])
    numbered = enumerate(saved["names"].tolist())
    return {name: saved["part"] == number for number, name in sorted(numbered, key=itemgetter(1))}


def weighted(sentences: Sentences, folder: Path, weights: Mapping[str, float]) -> Sentences:
    """A training text of which each source is read as often as its weight says, by default once."""
    parts = read_parts(folder, "train")
    if unknown := [name for name in weights if name not in parts]:
        if not parts:
            raise AccordError("train.source_weights expects several sources, corpus.source has one")
        raise AccordError(
            f"train.source_weights: unknown source '{unknown[0]}'{nearest(unknown[0], parts)}"
        )
    of_sentences = np.ones(len(sentences.lengths))
    for name, weight in weights.items():
        of_sentences[parts[name]] = weight
    if not of_sentences.any():
        raise AccordError("train.source_weights: expected a source above 0, found none")
    return sentences._replace(weights=of_sentences)


def suites(folder: Path) -> list[str]:
    """The names of the agreement suites."""
    return sorted(path.name.removesuffix(ENDING) for path in folder.glob(f"*{ENDING}"))


def read_encoded_suite(folder: Path, name: str) -> tuple[Suite, WrittenText]:
    """A suite, and how its words are written."""
    suite = Suite.load(folder / f"{name}{ENDING}")
    return suite, WrittenText(suite.forms.tolist(), suite.form, load_subwords(folder, name))


WRITTEN = ("lengths.npy", "form.npy", "forms.json")  # what does not depend on the vocabulary


def is_same_text(one: Path, other: Path, split: str) -> bool:
    """Whether two folders of the stage `encode` have the same words of a split.

    The spelling of words is compared only if both folders have it: those of a training on another
    machine may lack it, but not the lengths of sentences.
    """
    lengths, *forms = (f"{split}.{part}" for part in WRITTEN)
    told = [name for name in forms if (one / name).exists() and (other / name).exists()]
    if not ((one / lengths).exists() and (other / lengths).exists()):
        return False
    return all(filecmp.cmp(one / name, other / name, shallow=False) for name in (lengths, *told))
