"""Class-based n-grams: of the words' classes, and of each word in its class."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from accord.models.background.base import Background
from accord.models.background.history.given import Given
from accord.models.background.ngram import NGramBackground, lacking
from accord.models.common.batching import END, Sentences
from accord.models.features.phi import Features


def classes(given: Given) -> "ClassBackground":
    """The classes of the last words (Brown et al. 1992), those of `encode.classes`."""
    if given.classes is None:
        raise ValueError("background.history: classes expects classes of words; set encode.classes")
    words = given.features.vocabulary_size
    others = given.classes[np.arange(words) != END]
    of_word = np.zeros(words, np.int64)  # the sentence's end has a class of its own
    of_word[np.arange(words) != END] = 1 + np.unique(others, return_inverse=True)[1]
    texts = [Sentences(of_word[text.ids], text.lengths) for text in given.texts]
    within = NGramBackground.learn(
        Features.one_hot(int(of_word.max()) + 1),
        texts,
        given.order,
        given.smoothing,
        np.ones_like,
        given.folds,
    )
    counted = (np.bincount(text.ids, minlength=words) for text in lacking(given.texts, given.folds))
    mass = np.stack([given.prior(counts) for counts in counted])
    return ClassBackground(given.features, within, of_word, mass)


class ClassBackground(Background):
    """b(K, x) = p(c(x) | c₋₁ c₋₂ …) · p(x | c(x)), the second by the prior mass of words.

    The mass of a signature is B_s(h) = Σ_c p(c | h) · Σ_{x∈s∩c} p(x | c).
    """

    def __init__(
        self, features: Features, within: NGramBackground, of_word: np.ndarray, mass: np.ndarray
    ):
        """`mass` has a row of all words' prior masses for each root of the n-grams within."""
        super().__init__(features)
        self.within = within
        of_class = np.stack([np.bincount(of_word, row) for row in mass])
        share = mass / of_class[:, of_word]
        pairs, pair = np.unique(
            of_word * features.signature_count + features.signature, return_inverse=True
        )
        shares = np.stack([np.bincount(pair, row) for row in share])
        with np.errstate(divide="ignore"):
            arrays = {"log_share": np.log(share), "pair_share": shares.astype(np.float32)}
        arrays["class_of_word"], arrays["mass"] = of_word, mass
        arrays["pair_class"], arrays["pair_signature"] = np.divmod(pairs, features.signature_count)
        for name, array in arrays.items():
            self.register_buffer(name, torch.from_numpy(array), persistent=False)

    def contexts(self, sentences: Sentences, training: bool = False) -> np.ndarray:
        ids = self.class_of_word.cpu().numpy()[sentences.ids]
        return self.within.contexts(Sentences(ids, sentences.lengths), training)

    def class_mass(self, context: Tensor | None = None) -> Tensor:
        return self._of_signatures(context, self.within.class_mass)

    def class_prior(self, context: Tensor | None = None) -> Tensor:
        return self._of_signatures(context, self.within.class_prior)

    def log_mass_of(self, words: Tensor, context: Tensor | None = None) -> Tensor:
        log_p = self.within.log_mass_of(self.class_of_word[words], context)
        return log_p + self.log_share[context[:, :1], words]

    def log_masses(self, context: Tensor | None = None) -> Tensor:
        log_p = self.within.log_masses(context)[:, self.class_of_word]
        return log_p + self.log_share[context[:, 0]].to(log_p.dtype)

    def regrouped(self, features: Features) -> "ClassBackground":
        of_word, mass = (tensor.cpu().numpy() for tensor in (self.class_of_word, self.mass))
        return ClassBackground(features, self.within, of_word, mass)

    @property
    def size(self) -> int:
        """How many n-grams of classes are listed, and words in classes."""
        return self.within.size + len(self.class_of_word)

    def _of_signatures(self, context: Tensor, of_classes: Callable[[Tensor], Tensor]) -> Tensor:
        p = of_classes(context).exp()[:, self.pair_class] * self.pair_share[context[:, 0]]
        mass = p.new_zeros(len(p), len(self.starts) - 1)
        return mass.index_add_(1, self.pair_signature, p).log()
