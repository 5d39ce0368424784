"""The files of the stage `encode`: sentences as ids, their forms and labels, agreement suites.

Needs torch, numpy and safetensors only: models are also trained and scored on machines that have
nothing else.
"""

import filecmp
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import chain, product
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from accord.errors import AccordError
from accord.models.common.arrays import load_array, load_arrays
from accord.models.common.checks import nearest
from accord.models.common.files import load_json
from accord.models.data import Sentences
from accord.models.spelling import (
    BOUNDARY,
    COUNTS,
    SPELLER,
    Subwords,
    WrittenText,
    load_subwords,
)
from accord.pipeline.base.names import (
    CHAIN,
    DESCRIBED,
    PRETRAINING,
    PRETRAINING_MASS,
    START_WEIGHTS,
)

if TYPE_CHECKING:
    from tokenizers import Tokenizer

LABELS = "labels"  # the column of them in tables of sentences
VALUES = "labels.json"  # the labels of each kind that training has, in the order of their numbers
NUMBERS = ".labels.npy"
DOCUMENTS = ".documents.npy"


def save_values(values: Mapping[str, Sequence[str]], folder: Path) -> None:
    (folder / VALUES).write_text(json.dumps(values, ensure_ascii=False), encoding="utf-8")


def read_values(folder: Path) -> dict[str, list[str]]:
    """Read the labels of each kind, numbered from 1; empty if sentences have none."""
    path = folder / VALUES
    values = load_json(path, dict) if path.exists() else {}
    for labels in values.values():
        if not isinstance(labels, list) or {*map(type, labels)} != {str}:
            raise AccordError(f"{path}: expected for each kind of label a list of them")
    return values


def read_labels(folder: Path, split: str) -> np.ndarray | None:
    """Read the number of each sentence's label of each kind, 0 being none; None without labels."""
    path = folder / f"{split}{NUMBERS}"
    return load_array(path) if path.exists() else None


def numbered(condition: Sequence[str], values: Mapping[str, Sequence[str]]) -> list[int]:
    """Return the number of each kind of label in a condition such as `source=orangesum`."""
    numbers = dict.fromkeys(values, 0)
    for text in condition:
        name, sign, value = text.partition("=")
        if not sign:
            raise AccordError(f"condition: expected NAME=LABEL, got '{text}'")
        if name not in values:
            raise AccordError(f"condition: unknown kind of label '{name}'{nearest(name, values)}")
        if value not in values[name]:
            raise AccordError(f"condition: unknown {name} '{value}'{nearest(value, values[name])}")
        if numbers[name]:
            raise AccordError(f"condition: expected one {name}, got several")
        numbers[name] = values[name].index(value) + 1
    return [*numbers.values()]


SIZES = "about.json"

READ_SPLITS = ("train", "valid", PRETRAINING)
READ_FILES = ("ids.npy", "lengths.npy", "form.npy", "subwords.npz", "labels.npy", "documents.npy")
# The files that training reads, by stage; a machine that only trains knows no stages.
READ_BY_TRAINING = {
    "encode": (
        *map(".".join, product(READ_SPLITS, (*READ_FILES, "parts.npz"))),
        *("subwords.json", COUNTS, "classes.npy", VALUES),
    ),
    "analyse": ("words.npz", "analyses.npz", "endings.npz", CHAIN),
    "featurise": ("phi.npz", "psi.npz", "names.json", "letters.npy", DESCRIBED, START_WEIGHTS),
    "background": (
        *("b.npy", PRETRAINING_MASS, "share.npy", "spelled.npy", "about.json", "spelling.*"),
        *("ngrams.npz", "factors.npz", "topics.json"),
    ),
}


def read_text(folder: Path, split: str) -> Sentences:
    """Read the sentences of a split in the units that a model predicts: words or subwords."""
    sentences = read_sentences(folder, split)
    if (subwords := load_subwords(folder, split)) is None:
        return sentences
    return subwords.spell(sentences._replace(ids=load_array(folder / f"{split}.form.npy")))


def read_sentences(folder: Path, split: str) -> Sentences:
    """Read the encoded sentences of a split; the ids stay on disk until they are used."""
    ids, lengths = (folder / f"{split}.{name}.npy" for name in ("ids", "lengths"))
    documents = folder / f"{split}{DOCUMENTS}"
    further = read_labels(folder, split), load_array(documents) if documents.exists() else None
    return Sentences(load_array(ids, mapped=True), load_array(lengths), *further)


def save_sizes(sizes: Mapping[str, Mapping[str, int]], folder: Path) -> None:
    (folder / SIZES).write_text(json.dumps(sizes, indent=1))


def read_sizes(folder: Path) -> dict[str, dict[str, int]]:
    """Read the number of sentences, words and characters of every split."""
    return load_json(folder / SIZES, dict)


def held_out(folder: Path) -> list[str]:
    """Return every split that no model is trained on, validation included."""
    return [split for split in read_sizes(folder) if split not in ("train", PRETRAINING)]


ENDING = ".suite.npz"


@dataclass(frozen=True)
class Suite:
    """A suite as ids of a vocabulary; a sentence that several pairs share is kept once."""

    ids: np.ndarray  # the words of all sentences, END after each
    lengths: np.ndarray  # of each sentence, END included
    good: np.ndarray  # the right sentence of each pair
    bad: np.ndarray
    critical: np.ndarray  # the position in both sentences of the first word that differs
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
        return cls(**load_arrays(path, [field.name for field in fields(cls)]))


PARTS = ".parts.npz"


def save_forms(forms: Sequence[str], folder: Path, split: str) -> None:
    text = json.dumps(forms, ensure_ascii=False)
    (folder / f"{split}.forms.json").write_text(text, encoding="utf-8")


def read_forms(folder: Path, split: str) -> WrittenText:
    """Read the written forms of the words of a split."""
    forms, positions = load_json(folder / f"{split}.forms.json", list), folder / f"{split}.form.npy"
    return WrittenText(forms, load_array(positions), load_subwords(folder, split))


def save_parts(names: Sequence[str], numbers: np.ndarray, folder: Path, split: str) -> None:
    """Save the names of the sources, and the number of each sentence's source."""
    np.savez(folder / f"{split}{PARTS}", names=np.array(names), part=numbers.astype(np.int16))


def read_parts(folder: Path, split: str) -> dict[str, np.ndarray]:
    """Return which sentences of a split are of each source; empty if there is one source."""
    path = folder / f"{split}{PARTS}"
    if not path.exists():
        return {}
    saved = load_arrays(path, ["names", "part"])
    names = enumerate(saved["names"].tolist())
    return {name: saved["part"] == number for number, name in sorted(names, key=itemgetter(1))}


@dataclass(frozen=True)
class HeldOut:
    """A split for evaluation."""

    name: str
    sentences: Sentences
    text: WrittenText
    unseen: np.ndarray  # whether the training text lacks each word
    characters: int
    parts: Mapping[str, np.ndarray]  # the sentences of each source, if there are several


def read_held_out(folder: Path, split: str) -> HeldOut:
    return HeldOut(
        split,
        read_sentences(folder, split),
        read_forms(folder, split),
        load_array(folder / f"{split}.unseen.npy"),
        read_sizes(folder)[split]["characters"],
        read_parts(folder, split),
    )


def weighted(sentences: Sentences, folder: Path, weights: Mapping[str, float]) -> Sentences:
    """Return the training text with the weight of each sentence by its source, by default 1."""
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
    return sorted(path.name.removesuffix(ENDING) for path in folder.glob(f"*{ENDING}"))


def read_encoded_suite(folder: Path, name: str) -> tuple[Suite, WrittenText]:
    """Read a suite, and the written forms of its words."""
    suite = Suite.load(folder / f"{name}{ENDING}")
    return suite, WrittenText(suite.forms.tolist(), suite.form, load_subwords(folder, name))


WRITTEN = ("lengths.npy", "form.npy", "forms.json")  # independent of the vocabulary


def is_same_text(one: Path, other: Path, split: str) -> bool:
    """Return whether two folders of the stage `encode` have the same words of a split.

    The spelling of words is compared only if both folders have it: those of a training on another
    machine may lack it, but not the lengths of sentences.
    """
    lengths, *forms = (f"{split}.{part}" for part in WRITTEN)
    if not ((one / lengths).exists() and (other / lengths).exists()):
        return False
    shared = [name for name in forms if (one / name).exists() and (other / name).exists()]
    return all(filecmp.cmp(one / name, other / name, shallow=False) for name in (lengths, *shared))


# A sign for each byte of a letter that training lacks, so that every word can be spelled.
BYTES = [chr(0xF0000 + byte) for byte in range(256)]


class Speller:
    """Splits any string into subwords, numbered from 1; 0 is the end of a sentence."""

    def __init__(self, tokeniser: "Tokenizer"):
        self.tokeniser = tokeniser
        single = {piece for piece in tokeniser.get_vocab() if len(piece) == 1}
        self.letters = single - {*BYTES, BOUNDARY}

    @classmethod
    def learn(cls, counts: Mapping[str, int], merges: int) -> "Speller":
        """Learn letters and merges from counted words."""
        from tokenizers import Tokenizer, models, trainers  # here, as few models have subwords

        letters = sorted({letter for form in counts for letter in form} - {BOUNDARY, *BYTES})
        alphabet = [BOUNDARY, *BYTES, *letters]
        words = (form + BOUNDARY for form, count in counts.items() for _ in range(count))
        trainer = trainers.BpeTrainer(
            vocab_size=len(alphabet) + merges, initial_alphabet=alphabet, show_progress=False
        )
        tokeniser = Tokenizer(models.BPE())
        tokeniser.train_from_iterator(words, trainer)
        return cls(tokeniser)

    def subwords(self, forms: Sequence[str]) -> Subwords:
        def written(form: str) -> str:
            letters = ([c] if c in self.letters else [BYTES[b] for b in c.encode()] for c in form)
            return "".join(chain.from_iterable(letters)) + BOUNDARY

        encoded = self.tokeniser.encode_batch([*map(written, forms)])
        spelled = [*([number + 1 for number in word.ids] for word in encoded), [0]]
        starts = np.concatenate(([0], np.cumsum([*map(len, spelled)])))
        return Subwords(np.concatenate(spelled).astype(np.int32), starts)

    def save(self, folder: Path) -> None:
        self.tokeniser.save(str(folder / SPELLER))

    @classmethod
    def load(cls, folder: Path) -> "Speller | None":
        """Read the speller of a folder; None if there are no subwords."""
        from tokenizers import Tokenizer

        path = folder / SPELLER
        return cls(Tokenizer.from_file(str(path))) if path.exists() else None
