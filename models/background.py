"""What a background answers; unigram and uniform backgrounds."""

import numpy as np
import torch
from torch import Tensor, nn

from accord.errors import AccordError
from accord.models.data import Sentences
from accord.models.mass import checked_mass, log_sums
from accord.models.phi import Features

Chance = torch.Generator | None  # what a draw depends on; torch's own if none is given


def needed(context: Tensor | None) -> Tensor:
    """The contexts, which this background needs; an error if there are none."""
    if context is None:
        raise AccordError("context: expected those of the words, as b depends on them; got none")
    return context


class Background(nn.Module):
    """The interface of every background.

    `context` (N × n) is the result of `contexts` for the words before each word. A background that
    does not depend on it ignores it. Masses need not sum to one: the model normalises.
    """

    is_static = False  # whether its masses are computed without waiting for a GPU, given `room`
    is_of_parts = False  # whether it knows the whole signatures that a layer was trained with
    room: int | None = None  # for entries that a batch adds up; None: as many as there are
    starts: Tensor  # where the words of each signature begin among the members (S + 1)
    in_order: Tensor | None  # the members, after their first use

    def __init__(self, features: Features):
        super().__init__()
        self.of_word = features.signature
        sizes = np.bincount(self.of_word, minlength=features.signature_count)
        starts = np.concatenate(([0], np.cumsum(sizes)))
        self.register_buffer("starts", torch.from_numpy(starts), persistent=False)
        self.register_buffer("in_order", None, persistent=False)

    @property
    def members(self) -> Tensor:
        """The words in the order of their signatures, computed on first use."""
        if self.in_order is None:
            self.in_order = torch.from_numpy(self._ordered()).to(self.starts.device)
        return self.in_order

    def _ordered(self) -> np.ndarray:
        return np.argsort(self.of_word, kind="stable")

    def contexts(self, sentences: Sentences, training: bool = False) -> np.ndarray:
        """The context of every word of a text (N × n); by default none is needed and n is 0."""
        return np.zeros((len(sentences.ids), 0), np.int64)

    def entries(self, contexts: np.ndarray) -> int:
        """Number of table entries added up for the masses in some contexts; by default 0."""
        return 0

    def class_mass(self, context: Tensor | None = None) -> Tensor:
        """log B_s = log Σ_{x∈s} b(K, x): (S), or (N × S) where it depends on the context."""
        raise NotImplementedError

    def class_prior(self, context: Tensor | None = None) -> Tensor:
        """log B_s before the context speaks, of the shape of `class_mass`."""
        return self.class_mass(context)

    def class_evidence(self, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """log B_s without the context, and log B_s(K)/B_s, the evidence of the context.

        Both are of the shape of `class_mass`. The evidence is 0 where there is no mass either way.
        """
        prior = self.class_prior(context)
        return prior, (self.class_mass(context) - prior).nan_to_num(nan=0.0)

    def log_mass_of(self, words: Tensor, context: Tensor | None = None) -> Tensor:
        """log b(K, x) of some words in each context: (N × M)."""
        raise NotImplementedError

    def log_masses(self, context: Tensor | None = None) -> Tensor:
        """log b(K, x) of every word in each context: (N × V), or (V) as in `class_mass`."""
        words = torch.arange(len(self.of_word), device=self.starts.device)
        return self.log_mass_of(words.expand(len(needed(context)), -1), context)

    def fixed_shares(self) -> Tensor | None:
        """log b(K, x)/B_s(K) of every word (V), where no context changes it."""
        return None

    def word_masses(self) -> np.ndarray:
        """b of every word before a context speaks: (V)."""
        raise NotImplementedError

    @property
    def size(self) -> int:
        """How many numbers it holds: here one for each word."""
        return len(self.of_word)

    def draw(self, signatures: Tensor, context: Tensor | None, chance: Chance) -> Tensor:
        """A word of each given signature, with probability b(K, x)/B_s: (N).

        Here by an exponential race among the signature's words, right for any background: the
        word with the largest b(K, x)/E, E ~ Exp(1), wins.
        """
        drawn = []
        for row, signature in enumerate(signatures.tolist()):
            words = self.members[self.starts[signature] : self.starts[signature + 1]]
            of_row = None if context is None else context[[row]]
            log_mass = self.log_mass_of(words.unsqueeze(0), of_row).squeeze(0)
            race = torch.empty_like(log_mass).exponential_(generator=chance)
            drawn.append(words[(log_mass - race.log()).argmax()])
        return torch.stack(drawn)

    def contenders(self, k: int) -> Tensor:
        """Words that include the k likeliest ones in any context; by default all."""
        return self.members

    def regrouped(self, features: Features) -> "Background":
        """The same b for words that are in other signatures."""
        raise NotImplementedError

    def check_made_for(self, features: Features) -> None:
        made_for = len(self.of_word), len(self.starts) - 1
        if made_for != (features.vocabulary_size, features.signature_count):
            raise AccordError(
                f"background: expected one for {features.vocabulary_size} words in "
                f"{features.signature_count} signatures, "
                f"got one for {made_for[0]} words in {made_for[1]}"
            )


class Unigram(Background):
    """b(x) = mass[x], whatever the context.

    The logarithms are kept in double precision: b(x)/B_s, the share of a word in its signature,
    is the difference of two of them.
    """

    is_static = True
    log_mass: Tensor  # log b of every word (V)
    log_sums: Tensor  # log B_s of every signature (S)

    def __init__(self, features: Features, mass: np.ndarray):
        super().__init__(features)
        mass = checked_mass(mass, features.vocabulary_size)
        log_class_mass = log_sums(mass, features.signature, features.signature_count)
        log_total = np.logaddexp.reduce(log_class_mass)
        with np.errstate(divide="ignore"):  # the logarithm of no mass is −inf, as it should be
            log_mass = np.log(mass) - log_total
        for name, array in (("log_mass", log_mass), ("log_sums", log_class_mass - log_total)):
            self.register_buffer(name, torch.from_numpy(array), persistent=False)
        self.mass = mass
        self.cumulative: Tensor | None = None  # made when first drawn from

    def _ordered(self) -> np.ndarray:
        return np.lexsort((-self.mass, self.of_word))  # in a signature by falling mass

    def class_mass(self, context: Tensor | None = None) -> Tensor:
        return self.log_sums

    def log_mass_of(self, words: Tensor, context: Tensor | None = None) -> Tensor:
        return self.log_mass[words]

    def log_masses(self, context: Tensor | None = None) -> Tensor:
        return self.log_mass

    def log_share(self) -> Tensor:
        """log b(x)/B_s of every word: −inf of one without mass, also where s has none."""
        of_signature = self.log_sums[torch.from_numpy(self.of_word).to(self.log_sums.device)]
        return (self.log_mass - of_signature).nan_to_num(nan=-torch.inf, neginf=-torch.inf)

    def fixed_shares(self) -> Tensor:
        return self.log_share()

    def word_masses(self) -> np.ndarray:
        return self.mass

    def regrouped(self, features: Features) -> "Unigram":
        return Unigram(features, self.log_mass.exp().cpu().numpy())

    def contenders(self, k: int) -> Tensor:
        """The k heaviest words of each signature: the others have k before them always."""
        positions = self.starts[:-1, None] + torch.arange(k, device=self.starts.device)
        return self.members[positions[positions < self.starts[1:, None]]]

    def draw(self, signatures: Tensor, context: Tensor | None, chance: Chance) -> Tensor:
        if self.cumulative is None:
            self.cumulative = self._cumulative_shares()
        lot = torch.rand(
            len(signatures), dtype=torch.float64, device=signatures.device, generator=chance
        )
        # A little less than drawn: rounding must not carry a lot into the next signature.
        drawn = torch.searchsorted(self.cumulative, signatures + lot * (1 - 1e-9), right=True)
        return self.members[drawn]

    def _cumulative_shares(self) -> Tensor:
        """Signature s and the share of it up to each of its members, in one ascending row."""
        signature = torch.arange(len(self.log_sums), device=self.starts.device)
        signature = signature.repeat_interleave(self.starts.diff())
        share = (self.log_mass[self.members] - self.log_sums[signature]).exp().nan_to_num()
        total = torch.cat([share.new_zeros(1), share.cumsum(0)])
        before = total[self.starts[:-1]]
        whole = (total[self.starts[1:]] - before).clamp(min=torch.finfo(share.dtype).tiny)
        return signature + (total[1:] - before[signature]) / whole[signature]


class Uniform(Unigram):
    """b(x) = 1/V."""

    def __init__(self, features: Features):
        super().__init__(features, np.ones(features.vocabulary_size))
