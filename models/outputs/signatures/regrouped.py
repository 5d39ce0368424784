"""The background of a layer over parts of the signatures that it was trained with."""

import numpy as np
import torch
from torch import Tensor

from models.background.base import Background, Chance
from models.background.unigram import Unigram
from models.common.batching import Sentences
from models.features.phi import Features
from models.outputs.signatures.calibration import Calibration
from models.outputs.signatures.scored_classes import log_share


class Regrouped(Background):
    """Masses under which a layer gives every word the p that it had over the whole signatures.

    Neither a gate's log B_s + λ_t·log B_s(K)/B_s nor a power of p is a sum over parts q of s. So
    these have the score of the whole and their share in it, which 1/T must not change:

        log B_q = log B_s + θ_s + T·log p(q | s, K),    log B_q(K)/B_q = log B_s(K)/B_s
    """

    is_of_parts = True

    def __init__(
        self,
        features: Features,
        whole: Background,
        calibration: Calibration | None,
        inverse_temperature: Tensor | None,
    ):
        super().__init__(features)
        self.whole, self.calibration, self.sharpness = whole, calibration, inverse_temperature
        self.parts = whole.regrouped(features)
        above = torch.from_numpy(features.group_of_signatures("signature", whole.of_word))
        for name, numbers in (("above", above), ("signature", torch.from_numpy(self.of_word))):
            self.register_buffer(name, numbers, persistent=False)
        if calibration:
            of_words = calibration.prior_share.cpu().exp().numpy()
            of_parts = np.bincount(features.signature, of_words, features.signature_count)
            self.register_buffer("prior_share", torch.from_numpy(of_parts).log(), persistent=False)

    def contexts(self, sentences: Sentences, training: bool = False) -> np.ndarray:
        return self.whole.contexts(sentences, training)

    def class_evidence(self, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        prior, evidence = (each[..., self.above] for each in self.whole.class_evidence(context))
        share = log_share(self.parts.class_mass(context), prior + evidence)
        if self.calibration:
            share = self.calibration.mixed(share, self.prior_share)
            prior = prior + self.calibration.bias()[self.above]
        return prior + (share if self.sharpness is None else share / self.sharpness), evidence

    def class_mass(self, context: Tensor | None = None) -> Tensor:
        return sum(self.class_evidence(context))

    def class_prior(self, context: Tensor | None = None) -> Tensor:
        return self.class_evidence(context)[0]

    def log_mass_of(self, words: Tensor, context: Tensor | None = None) -> Tensor:
        part = self.signature[words]
        log_mass, of_whole, of_part = self._of_words(words, part, context)
        in_whole, part_in_whole = log_share(log_mass, of_whole), log_share(of_part, of_whole)
        if self.calibration:
            in_whole = self.calibration.log_share(in_whole, words)
            part_in_whole = self.calibration.mixed(part_in_whole, self.prior_share[part])
        mass = self.class_mass(context).expand(len(words), -1).gather(1, part)
        return mass + log_share(in_whole, part_in_whole)

    def _of_words(self, words: Tensor, part: Tensor, context: Tensor | None) -> tuple[Tensor, ...]:
        """log b(K, x) as it was, and the sums of it over the whole signature and the part."""
        sums = ((self.whole, self.above[part]), (self.parts, part))
        return self.whole.log_mass_of(words, context), *(
            each.class_mass(context).expand(len(words), -1).gather(1, at) for each, at in sums
        )

    def contenders(self, k: int) -> Tensor:
        return self.parts.contenders(k)

    def draw(self, signatures: Tensor, context: Tensor | None, chance: Chance) -> Tensor:
        if isinstance(self.parts, Unigram):  # which shares as before, and draws at once
            return self.parts.draw(signatures, context, chance)
        return super().draw(signatures, context, chance)

    def word_masses(self) -> np.ndarray:
        return self.whole.word_masses()

    def regrouped(self, features: Features) -> "Regrouped":
        return Regrouped(features, self.whole, self.calibration, self.sharpness)

    @property
    def size(self) -> int:
        return self.whole.size
