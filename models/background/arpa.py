"""A background from outside: the n-grams of an ARPA file, whatever its words are."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from accord.models.background.base import Background
from accord.models.background.ngram import NGramBackground
from accord.models.common.batching import Sentences
from accord.models.common.files.arrays import load_arrays
from accord.models.features.phi import Features
from accord.models.ngram.arpa.notation import STOP, UNKNOWN
from accord.models.ngram.arpa.reading import read_arpa, words_of_arpa
from accord.models.ngram.model import NGrams, Table

TABLES = "ngrams.npz"


class ArpaBackground(Background):
    """b(K, x) = p(g(x) | h) · share(x), g(x) being the file's word for x: itself, or `<unk>`.

    Words that the file lacks share what it gives `<unk>`, in contexts they are read as that. What
    it gives to words that are not in the vocabulary is left out, so that b sums to less than one.
    The mass of a signature is exact, as n-grams' is:

        B_s(h) = Σ_{x∈s, g(x)=x} p(x | h) + p(<unk> | h) · Σ_{x∈s, g(x)=<unk>} share(x)
    """

    def __init__(self, features: Features, ngrams: NGrams, group: np.ndarray, share: np.ndarray):
        """`group` is the id of each word in the file, whose last is `<unk>`; `share` its share."""
        super().__init__(features)
        lacking = group == ngrams.words - 1
        signature = np.full(ngrams.words, features.signature_count)  # <unk> has one of its own
        signature[group[~lacking]] = features.signature[~lacking]
        self.within = NGramBackground(_in_signatures(signature), ngrams)
        of_unknown = np.bincount(
            features.signature[lacking], share[lacking], minlength=features.signature_count
        )
        with np.errstate(divide="ignore"):
            logs = {"log_share": np.log(share), "unknown_share": np.log(of_unknown)}
        for name, array in {"group": group, **logs}.items():
            self.register_buffer(name, torch.from_numpy(array), persistent=False)

    def contexts(self, sentences: Sentences, training: bool = False) -> np.ndarray:
        ids = self.group.cpu().numpy()[sentences.ids]
        return self.within.contexts(Sentences(ids, sentences.lengths), training)

    def class_mass(self, context: Tensor | None = None) -> Tensor:
        return self._shared(self.within.class_mass(context))

    def class_prior(self, context: Tensor | None = None) -> Tensor:
        return self._shared(self.within.class_prior(context))

    def log_mass_of(self, words: Tensor, context: Tensor | None = None) -> Tensor:
        return self.within.log_mass_of(self.group[words], context) + self.log_share[words]

    def log_masses(self, context: Tensor | None = None) -> Tensor:
        return self.within.log_masses(context)[:, self.group] + self.log_share

    def word_masses(self) -> np.ndarray:
        group, log_share = self.group.cpu().numpy(), self.log_share.cpu().numpy()
        return self.within.word_masses()[group] * np.exp(log_share)

    def regrouped(self, features: Features) -> "ArpaBackground":
        share = self.log_share.exp().cpu().numpy()
        return ArpaBackground(features, self.within.ngrams, self.group.cpu().numpy(), share)

    @property
    def size(self) -> int:
        return self.within.size

    def _shared(self, log_mass: Tensor) -> Tensor:
        """What `<unk>` has goes to the signatures of the words that it stands for."""
        of_unknown = log_mass[:, -1:] + self.unknown_share.to(log_mass.dtype)
        return torch.logaddexp(log_mass[:, :-1], of_unknown)


def _in_signatures(signature: np.ndarray) -> Features:
    """Words whose features are their signatures alone."""
    count = int(signature.max()) + 1
    return Features(np.arange(count + 1), np.arange(count), np.ones(count), signature, count)


def prepare(path: Path, forms: Sequence[str], mass: np.ndarray, out: Path) -> int:
    """Read a file for the words of a vocabulary, and write what `load` wants; returns its order.

    Words that the file lacks share by their mass. Blanks in words are `_` there.
    """
    written = [form.replace(" ", "_") for form in forms]
    there = words_of_arpa(path) - {UNKNOWN}
    both = [form for form in dict.fromkeys(written) if form in there and form != STOP]
    known = [STOP, *both]
    ngrams = read_arpa(path, [*known, UNKNOWN], others=UNKNOWN)
    ids = {form: number for number, form in enumerate(known)}
    # Of two words that are written alike the first is the file's.
    group = np.array([ids.pop(form, len(known)) for form in written], np.int64)
    share = mass / np.bincount(group, mass, minlength=len(known) + 1)[group]
    tables = {
        f"{name}_{number}": tensor.numpy()
        for number, table in enumerate(ngrams.tables)
        for name, tensor in zip(Table._fields, table, strict=True)
    }
    np.savez(out / TABLES, group=group, share=share, **tables)
    return ngrams.order


def load(features: Features, folder: Path, order: int) -> ArpaBackground:
    names = [f"{name}_{number}" for number in range(order) for name in Table._fields]
    arrays = load_arrays(folder / TABLES, ["group", "share", *names])
    tables = [
        Table(*(arrays[f"{name}_{number}"] for name in Table._fields)) for number in range(order)
    ]
    ngrams = NGrams(tables, len(arrays["p_0"]))
    return ArpaBackground(features, ngrams, arrays["group"], arrays["share"])
