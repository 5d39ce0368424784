"""The background of a layer over parts of the signatures that it was trained with."""

import numpy as np
import torch
from torch import Tensor

from models.background.base import Background, Chance
from models.background.unigram import Unigram
from models.common.batching import Sentences
from models.features.phi import Features
from models.outputs.signatures.calibration import Calibration
from models.outputs.signatures.scored_classes import log_share, log_share_of


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
        self.background = whole.regrouped(features)  # b as it is, of the parts
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
        prior, evidence, share = self._shared(context)
        return prior + self._added(share), evidence

    def class_mass(self, context: Tensor | None = None) -> Tensor:
        return sum(self.class_evidence(context))

    def class_prior(self, context: Tensor | None = None) -> Tensor:
        return self.class_evidence(context)[0]

    def log_mass_of(self, words: Tensor, context: Tensor | None = None) -> Tensor:
        prior, evidence, share = self._shared(context)
        of_whole, of_part, share = (
            each.expand(len(words), -1).gather(1, self.signature[words])
            for each in (prior + evidence, prior + evidence + self._added(share), share)
        )
        log_mass = self.whole.log_mass_of(words, context)
        in_whole = log_share_of(words, log_mass, of_whole, self.calibration)
        return of_part + log_share(in_whole, share)

    def _shared(self, context: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        """log B_s and log B_s(K)/B_s of the whole, and log p(q | s, K), for each part."""
        prior, evidence = (each[..., self.above] for each in self.whole.class_evidence(context))
        share = log_share(self.background.class_mass(context), prior + evidence)
        if self.calibration:
            share = self.calibration.mixed(share, self.prior_share)
        return prior, evidence, share

    def _added(self, share: Tensor) -> Tensor:
        """θ_s, and T times the share, so that it is what it was once the layer divides by T."""
        added = share if self.sharpness is None else share / self.sharpness
        return added + self.calibration.bias()[self.above] if self.calibration else added

    def contenders(self, k: int) -> Tensor:
        return self.background.contenders(k)

    def draw(self, signatures: Tensor, context: Tensor | None, chance: Chance) -> Tensor:
        if isinstance(self.background, Unigram):  # which shares as before, and draws at once
            return self.background.draw(signatures, context, chance)
        return super().draw(signatures, context, chance)

    def word_masses(self) -> np.ndarray:
        return self.whole.word_masses()

    def regrouped(self, features: Features) -> "Regrouped":
        return Regrouped(features, self.whole, self.calibration, self.sharpness)

    @property
    def size(self) -> int:
        return self.whole.size
