"""Outputs of the field: trees of classes, samples, experts, features of the whole prefix."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from accord.errors import AccordError
from accord.models.background import Background, ClassTerms, Unigram, required
from accord.models.common.checks import check_words
from accord.models.common.registry import Choice, Registry, about, parted
from accord.models.common.schema import Range
from accord.models.data import NO_WORD, Sentences, preceding
from accord.models.log_linear import (
    Described,
    Gate,
    LogLinear,
    OutputContext,
    ScoredSignatures,
    SignatureTerms,
    Temperature,
    log_share,
)
from accord.models.phi import Features
from accord.models.softmax import (
    SignatureOutput,
    Softmax,
    over_signatures,
    signature_mass,
    tied_weights,
)
from accord.zoo.backgrounds import InContext, pairs_of


class ClassBased(Softmax):
    """p(x | K) = p(c(x) | K) · p(x | c(x), K), a softmax over classes and one over each's words.

    A word costs its class's size and the number of classes, not the vocabulary. Each word is in
    the class that `classes` says (Goodman 2001); what they have in common is the caller's affair.
    With classes `above` these, p(c | K) is itself that of a class and of the class c in it: a tree
    of any depth, the structured output layer (SOUL) of Le et al. (2011).
    """

    of: Tensor  # the class of each word
    order: Tensor  # the words by class
    place: Tensor  # of each word in that order
    inside: Tensor  # of each word in its class

    def __init__(self, classes: np.ndarray, size: int, *above: np.ndarray, mass=None, **tied: Any):
        super().__init__(len(classes), size, mass=mass, **tied)
        order = np.argsort(classes, kind="stable")
        sizes = np.bincount(classes)
        if not sizes.all():
            raise AccordError(f"classes: expected words in each; {int(np.argmin(sizes))} has none")
        self.sizes = sizes.tolist()
        place = np.argsort(order)  # among all words, by class
        inside = place - (np.cumsum(sizes) - sizes)[classes]
        arrays = {"of": classes, "order": order, "place": place, "inside": inside}
        for name, array in arrays.items():
            self.register_buffer(name, torch.from_numpy(array.astype(np.int64)), persistent=False)
        of_classes = None if mass is None else np.bincount(classes, mass)
        self.classes = (
            ClassBased(above[0], size, *above[1:], mass=of_classes)
            if above
            else Softmax(len(sizes), size, mass=of_classes)
        )

    def log_prob_of(self, h: Tensor, words: Tensor, context: Tensor | None = None) -> Tensor:
        check_words("words", words, len(self.of))
        if words.dim() > 1:
            return torch.stack([self.log_prob_of(h, column) for column in words.T], dim=1)
        classes = self.of[words]
        inside = self._among_all if h.is_cuda else self._class_by_class
        return inside(h, words, classes) + self.classes.log_prob_of(h, classes)

    def _class_by_class(self, h: Tensor, words: Tensor, classes: Tensor) -> Tensor:
        """log p(x | c(x), K), each class's states with its own words: the fewest products."""
        by_class = classes.argsort()
        numbers = classes.bincount(minlength=len(self.sizes)).tolist()
        states, at = h[by_class].split(numbers), self.inside[words[by_class]].split(numbers)
        inside = [
            functional.cross_entropy(functional.linear(h, *vectors), words, reduction="none")
            for h, words, vectors in zip(states, at, self._by_class(), strict=True)
            if len(words)
        ]
        return -torch.cat([h.new_empty(0), *inside])[by_class.argsort()]

    def _among_all(self, h: Tensor, words: Tensor, classes: Tensor) -> Tensor:
        """Return the same from the scores of all words: on a GPU one large product is quicker."""
        scores = self._scores(h).float()
        elsewhere = self.of.ne(classes.unsqueeze(1))
        of_words = scores.gather(1, words.unsqueeze(1)).squeeze(1)
        return of_words - scores.masked_fill(elsewhere, -torch.inf).logsumexp(dim=1)

    def log_prob(self, h: Tensor, context: Tensor | None = None) -> Tensor:
        of_class = self.classes.log_prob(h).split(1, dim=1)
        parts = [
            log_p + functional.linear(h, *vectors).log_softmax(dim=1)
            for log_p, vectors in zip(of_class, self._by_class(), strict=True)
        ]
        return torch.cat(parts, dim=1)[:, self.place]

    def _by_class(self) -> Iterator[tuple[Tensor, Tensor]]:
        """Return the vectors and the biases of the words of each class."""
        vectors, biases = self._vectors()[self.order], self.bias[self.order]
        return zip(vectors.split(self.sizes), biases.split(self.sizes), strict=True)


def classes(output: OutputContext) -> SignatureOutput:
    """First the class of a word (see encode.classes), then the word among those of its class."""
    return _class_based(output, _classes(output))


Branches = Annotated[int, "of a node below the classes, at most"]


def tree(output: OutputContext, *, branches: Branches = 16) -> SignatureOutput:
    """Tree of classes: that of a word (see encode.classes), smaller ones in it, then the word."""
    if branches < 2:
        raise AccordError(f"output: tree.branches: expected 2 or more, got {branches}")
    return _class_based(output, *nested(_classes(output), signature_mass(output), branches))


def _class_based(output: OutputContext, lowest: np.ndarray, *above: np.ndarray) -> SignatureOutput:
    shared = {"mass": signature_mass(output), **tied_weights(output)}
    return over_signatures(output, ClassBased(lowest, output.size, *above, **shared))


def nested(classes: np.ndarray, mass: np.ndarray, branches: int) -> list[np.ndarray]:
    """Classes of words, of these classes, and so on, inside those given, which come last.

    The words of a class, or its classes, are put together by falling mass, so many at a time, until
    no more than that are left.
    """
    levels = []
    while np.bincount(classes).max() > branches:
        order = np.lexsort((-mass, classes))
        rank = np.empty(len(classes), np.int64)  # in its class
        rank[order] = np.arange(len(classes)) - np.searchsorted(classes[order], classes[order])
        pairs = np.stack([classes, rank // branches], axis=1)
        above, inside = np.unique(pairs, axis=0, return_inverse=True)
        levels.append(inside.reshape(-1))
        classes, mass = above[:, 0], np.bincount(levels[-1], mass)
    return [*levels, classes]


def _classes(output: OutputContext) -> np.ndarray:
    """Return the class of each signature."""
    if output.classes is None:
        raise AccordError(f"output: {output.name} has no classes of words; expected encode.classes")
    return output.features.group_of_signatures("classes", output.classes)


class Sampled(Softmax):
    """The sampled softmax (Jean et al. 2015): the next word x̄ is to be found among k drawn from q.

        −log p(x̄) ≈ −log( r(x̄) / (r(x̄) + Σ_{y drawn} r(y)) ),    r(x) = exp s(x) / k·q(x)

    s being the softmax's scores and q in proportion to `mass`. Ma & Collins (2018) show that with
    enough text this comes to the softmax's own scores, whatever k.
    """

    noise: Tensor  # q of each word

    def __init__(self, mass: np.ndarray, size: int, *, samples: int = 1024, **tied: Any):
        super().__init__(len(mass), size, mass=mass, **tied)
        noise = torch.from_numpy(np.asarray(mass / mass.sum(), np.float32))
        self.register_buffer("noise", noise, persistent=False)
        self.samples = samples

    def loss(self, h: Tensor, targets: Tensor, context: Tensor | None = None) -> Tensor:
        if not self.training:
            return super().loss(h, targets)
        check_words("words", targets, len(self.bias))
        drawn = self.noise.multinomial(self.samples, replacement=True)
        vectors, offset = self._vectors(), self.bias - (self.samples * self.noise).log()
        of_target = (h * vectors[targets]).sum(dim=1) + offset[targets]
        of_drawn = functional.linear(h, vectors[drawn], offset[drawn])
        return self._contrast(of_target.float(), of_drawn.float()).mean()

    def _contrast(self, of_target: Tensor, of_drawn: Tensor) -> Tensor:
        """Return the loss of each target (N) by log r of it and of the words drawn (N × k)."""
        scores = torch.cat([of_target.unsqueeze(1), of_drawn], dim=1)
        return -scores.log_softmax(dim=1)[:, 0]


class NoiseContrastive(Sampled):
    """Noise-contrastive estimation (Gutmann & Hyvärinen 2010, Mnih & Teh 2012).

    Each of the next word and k words drawn from q is to be told for what it is, with exp s(x)
    taken for p(x):

        P(x is the next word) = exp s(x) / (exp s(x) + k·q(x)) = r(x) / (r(x) + 1)

    Scores start near to being normalised and stay so; where words are scored they are normalised
    all the same.
    """

    def _contrast(self, of_target: Tensor, of_drawn: Tensor) -> Tensor:
        return functional.softplus(-of_target) + functional.softplus(of_drawn).sum(dim=1)


Samples = Annotated[int, Range(ge=1), "words drawn at each step, for all of its words together"]


def sampled(output: OutputContext, *, samples: Samples = 1024) -> SignatureOutput:
    """Softmax that compares the next word with a sample of words in training."""
    return _over(Sampled, output, samples)


def noise_contrastive(output: OutputContext, *, samples: Samples = 1024) -> SignatureOutput:
    """Softmax that learns in training to tell the next word from a sample of words."""
    return _over(NoiseContrastive, output, samples)


def _over(kind: type[Sampled], output: OutputContext, samples: int) -> SignatureOutput:
    mass = signature_mass(output)
    layer = kind(mass, output.size, samples=samples, **tied_weights(output))
    return over_signatures(output, layer)


class SampledExpectations(LogLinear):
    """A log-linear layer whose gradient has a sampled expectation (Dymetman & Xiao 2016, §2.3):

        −∂ log p(x̄ | K) / ∂a_t = E_p[φ(K, x)] − φ(K, x̄) ≈ 1/k·Σ_{x drawn} w(x)·φ(K, x) − φ(K, x̄)

    `draw: model` draws signatures from p itself, and w = 1. Z is exact and the gradient unbiased;
    the backward pass costs k signatures instead of all. `draw: background` draws k signatures for
    all states of a step in proportion to their mass b_s before the context speaks, and
    w(x) ∝ p(x)/b_s sums to k over those drawn (Bengio & Senécal 2008). Z is sampled too, and the
    gradient has a bias that falls as 1/k. Only training samples: scores are exact either way.
    """

    is_static = False  # multinomial draws wait for the GPU
    noise: Tensor  # b_s of every signature, which sum to one
    samples: int
    from_model: bool

    def begin(self, words: Tensor, context: Tensor) -> Callable[[], SignatureTerms] | None:
        """In training nothing is computed beside the encoder, as not all signatures are scored."""
        return None if self.training else super().begin(words, context)

    def loss(self, h: Tensor, targets: Tensor, context=None, scored=None, log_mass=None) -> Tensor:
        """Return the mean nats per target; in training its gradient is sampled."""
        if not self.training:
            return super().loss(h, targets, context, scored, log_mass)
        check_words("words", targets, len(self.signature))
        of_class, prior, _ = self.masses(context)
        rows, bias = self.rows(self._joined_weight())
        signatures = self.signature[targets].unsqueeze(1)
        observed = self._scores(h, signatures, prior, rows, bias)
        log_mass = self.background.log_mass_of(targets.unsqueeze(1), context)
        share = log_share(log_mass, of_class.expand(len(h), -1).gather(1, signatures)).to(h.dtype)
        of_drawn = self._from_model if self.from_model else self._from_background
        return (of_drawn(h, prior, rows, bias) - (observed + share).squeeze(1)).mean()

    def _from_model(self, h: Tensor, prior: Tensor, rows: Tensor, bias: Tensor) -> Tensor:
        """log Z, with the gradient of the mean score of signatures that are drawn from p: (N)."""
        with torch.no_grad():
            logits = torch.addmm(prior + bias, h, rows.T)
            log_z = logits.logsumexp(dim=1)
            drawn = self.drawn(logits.softmax(dim=1))
        mean = self._scores(h, drawn, prior, rows, bias).mean(dim=1)
        return log_z + mean - mean.detach()

    def _from_background(self, h: Tensor, prior: Tensor, rows: Tensor, bias: Tensor) -> Tensor:
        """log Z by importance sampling, log 1/k·Σ exp(s)/b_s over the signatures drawn: (N)."""
        drawn = self.drawn(self.noise.unsqueeze(0)).squeeze(0)
        log_q = (self.noise[drawn] * self.samples).log().to(h.dtype)
        of_drawn = prior.expand(len(h), -1)[:, drawn] + bias[drawn] - log_q
        return torch.addmm(of_drawn, h, rows[drawn].T).logsumexp(dim=1)

    def drawn(self, p: Tensor) -> Tensor:
        """So many signatures for each row of p: (N × k)."""
        return p.multinomial(self.samples, replacement=True)

    def _scores(self, h: Tensor, signatures: Tensor, prior: Tensor, rows, bias) -> Tensor:
        """log B_s + a_t·φ_s of some signatures in each state: (N × k)."""
        log_mass = prior.expand(len(h), -1).gather(1, signatures)
        return log_mass + bias[signatures] + torch.einsum("nh,nkh->nk", h, rows[signatures])


Drawn = Annotated[
    int, Range(ge=1), "signatures drawn: for each word from the model, for all of a step from b"
]
Draw = Annotated[
    Literal["model", "background"], "model: unbiased, with an exact Z; background: Z is sampled too"
]


@about(log_linear=True)
def sampled_expectations(
    output: OutputContext, *, samples: Drawn = 64, draw: Draw = "model"
) -> SampledExpectations:
    """Log-linear output whose expected features are sampled in training."""
    layer = output.log_linear(SampledExpectations)
    layer.samples, layer.from_model = samples, draw == "model"
    phi, masses = output.features, output.background.word_masses()
    mass = np.bincount(phi.signature, masses, phi.signature_count)
    layer.register_buffer("noise", torch.from_numpy(mass / mass.sum()), persistent=False)
    return layer


# Which words an expert feature is of: classes that are made from Φ.
EXPERTS = Registry("expert", "accord.experts")


class Copy:
    """The feature is 1 for the last words of the sentence so far.

    This is the interface of experts: φ_e(K, x) is a feature of the few words that K names.
    """

    def __init__(
        self, features: Features, *, reach: Annotated[int, Range(ge=1), "words back"] = 20
    ):
        self.reach = reach

    def contexts(self, sentences: Sentences) -> np.ndarray:
        """Return the columns to keep of the words before each word of a text (N × n)."""
        return preceding(sentences, self.reach, NO_WORD)

    def named(self, kept: Tensor) -> tuple[Tensor, Tensor]:
        """Return the named words of contexts, −1 where fewer are, and their values (N × P)."""
        return kept, torch.ones_like(kept, dtype=torch.float32)


@dataclass(frozen=True)
class NamedWords(ScoredSignatures):
    """Signatures and, after them, the words that the context names, each a class of its own.

    A named word leaves its signature. All else is as for signatures.
    """

    named: Tensor = field(kw_only=True)  # (N × P), −1 where fewer are; P = C − S

    def classes(self, words: Tensor) -> Tensor:
        classes, signatures = self.signature[words], self.logits.shape[1] - self.named.shape[1]
        for number, named in enumerate(self.named.T, start=signatures):
            classes = torch.where(words == named.unsqueeze(1), number, classes)
        return classes


def naming(scored: ScoredSignatures, words: Tensor, log_mass: Tensor, evidence: Tensor):
    """Give words classes of their own, with the expert feature's term in their scores (N × P)."""
    same = words.unsqueeze(2) == words.unsqueeze(1)  # twice: with the first value
    words = words.masked_fill(same.tril(-1).any(dim=2), -1)
    signature = scored.signature[words.clamp(min=0)]
    log_mass = log_mass.masked_fill(words < 0, -torch.inf)
    of_signatures = scored.log_mass.expand(len(words), -1)
    share = log_share(log_mass, of_signatures.gather(1, signature))
    taken = torch.zeros_like(of_signatures, dtype=share.dtype)
    left = torch.log1p(-taken.scatter_add(1, signature, share.exp()).clamp(max=1))
    scores = scored.logits.gather(1, signature) + share.to(scored.logits.dtype) + evidence
    return NamedWords(
        log_mass=torch.cat([of_signatures + left, log_mass], dim=1),
        logits=torch.cat([scored.logits + left.to(scored.logits.dtype), scores], dim=1),
        signature=scored.signature,
        rows=scored.rows,
        named=words,
    )


class ExpertLogLinear(LogLinear):
    """A log-linear layer with one more feature, whose weight a_e = w·h_t is not over 1/T."""

    background: "ExpertBackground"

    def __init__(self, features, background, size, *, expert, **settings):
        super().__init__(features, ExpertBackground(features, background, expert), size, **settings)
        self.expert_weight = nn.Parameter(torch.zeros(1, self.width))

    def score_signatures(self, h: Tensor, context, terms=None) -> NamedWords:
        """Score the signatures, and each word that the expert names."""
        words, values = self.background.named(context)
        check_words("the expert's words", words, len(self.signature), least=-1)
        evidence = h @ self.expert_weight.T * values
        log_mass = self.background.log_mass_of(words.clamp(min=0), context)
        return naming(super().score_signatures(h, context, terms), words, log_mass, evidence)

    def adaptor(self, h: Tensor) -> Tensor:
        """Return one weight per feature, the expert's last: (N × F + 1)."""
        return torch.cat([super().adaptor(h), h @ self.expert_weight.T], dim=1)

    def context_terms(self, h: Tensor, context: Tensor | None) -> list[dict[int, float]]:
        words, values = self.background.named(context)
        nats = (h @ self.expert_weight.T).double() * values
        rows = zip(words.tolist(), nats.tolist(), strict=True)
        # A word that is named twice has its first value.
        return [dict(zip(reversed(ids), reversed(terms), strict=True)) for ids, terms in rows]


class ExpertBackground(Background):
    """b(K, x) as it is; a context is that of b and, after it, that of the expert."""

    def __init__(self, features: Features, background: Background, expert):
        super().__init__(features)
        self.background, self.expert = background, expert
        nothing = Sentences(np.zeros(1, np.int64), np.ones(1, np.int64))
        self.width = expert.contexts(nothing).shape[1]

    def contexts(self, sentences: Sentences, training: bool = False) -> np.ndarray:
        contexts = self.background.contexts(sentences, training)
        kept = self.expert.contexts(sentences)
        kind = np.float64 if contexts.dtype.kind == "f" else contexts.dtype
        return np.column_stack([contexts, kept.astype(kind)])

    def named(self, context: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return the words that contexts name, and the expert feature's values (both N × P)."""
        return self.expert.named(self.kept(context))

    def kept(self, context: Tensor | None) -> Tensor:
        """Return the expert's part of each context: (N × n)."""
        context = required(context)
        return context[:, context.shape[1] - self.width :].long()

    def class_terms(self, context: Tensor | None = None, split: bool = False) -> ClassTerms:
        return self.background.class_terms(self._own(context), split)

    def log_mass_of(self, words: Tensor | None, context: Tensor | None = None) -> Tensor:
        return self.background.log_mass_of(words, self._own(context))

    def word_masses(self) -> np.ndarray:
        return self.background.word_masses()

    def check_features(self, features: Features) -> None:
        self.background.check_features(features)

    @property
    def size(self) -> int:
        return self.background.size

    def _own(self, context: Tensor | None) -> Tensor | None:
        return None if context is None else context[:, : context.shape[1] - self.width]


@about(log_linear=True)
def expert(
    output: OutputContext,
    *,
    expert: Annotated[Choice, EXPERTS, "which words these are"] = "copy",
    background_gate: Gate = False,
    temperature: Temperature = False,
) -> ExpertLogLinear:
    """Log-linear output with one more feature, of the words that the context names."""
    settings = {"background_gate": background_gate, "temperature": temperature}
    chosen = EXPERTS.make(expert, output.features)
    return output.log_linear(ExpertLogLinear, expert=chosen, **settings)


KEPT = 1 << 25  # numbers, of the states that were met last
NOTHING: frozenset[str] = frozenset()

# Functions φ(K, x) of a prefix and a word. A file of your own is `FILE.py:FUNCTION`.
PREFIX_FEATURES = Registry("feature of the prefix", "accord.prefix_features")


@dataclass(frozen=True, eq=False)
class WordSeen:
    """A word as a feature sees it: `word["Gender"]` is the set of its genders, {"Fem", "Masc"}.

    A candidate that stands for several words of one signature has no form: "".
    """

    form: str
    values: dict[str, frozenset[str]] = field(default_factory=dict)

    def __getitem__(self, name: str) -> frozenset[str]:
        return self.values.get(name, NOTHING)


Numbers = dict[str, float]


class PrefixStates:
    """The states of prefixes by number, and the features of all signatures in each of them."""

    def __init__(self, features: Features, described: Described, function: Callable):
        self.features, self.described, self.function = features, described, function
        self.remember = _companion(function, "remember") or tuple
        self.read = _companion(function, "read") or (lambda prefix: {})
        self.word = lru_cache(maxsize=None)(self._word)
        members, ends = features.members
        single = {int(s): int(members[ends[s]]) for s in np.flatnonzero(np.diff(ends) == 1)}
        self.candidates = [
            WordSeen(described.forms[single[s]] if s in single else "", self._values(s))
            for s in range(features.signature_count)
        ]
        self.names = [*function([], self.candidates[0])]
        self.read_names = [*self.read([])]
        self.numbers: dict[Hashable, int] = {}
        self.prefixes: list[tuple[WordSeen, ...]] = []  # the first that led to each state
        self.others: dict[int, tuple[WordSeen, ...]] = {}  # a second one, if there is one
        of_state = len(self.candidates) * len(self.names)
        self.table = lru_cache(maxsize=max(1, KEPT // of_state))(self._table)
        self.psi = lru_cache(maxsize=None)(self._psi)

    def contexts(self, sentences: Sentences) -> np.ndarray:
        """Return the number of the state before each word: (N × 1)."""
        numbers, ids = [], sentences.ids.tolist()
        for start, length in zip(sentences.starts, sentences.lengths, strict=True):
            prefix: list[WordSeen] = []
            for word in ids[start : start + length]:
                number = self.numbers.setdefault(self.remember(prefix), len(self.numbers))
                if number == len(self.prefixes):
                    self.prefixes.append(tuple(prefix))
                elif number not in self.others and tuple(prefix) != self.prefixes[number]:
                    self.others[number] = tuple(prefix)
                numbers.append(number)
                prefix.append(self.word(word))
        return np.array(numbers, np.int64).reshape(-1, 1)

    def named(self, kept: Tensor) -> tuple[Tensor, Tensor]:
        """Name no word: none is set apart from its signature."""
        return kept[:, :0], kept[:, :0].float()

    def _table(self, number: int) -> np.ndarray:
        """φ(K, ·) in a state: (S × F'). Two prefixes that led to the state must agree on it."""
        prefixes, tables = [self.prefixes[number]], []
        if number in self.others:
            prefixes.append(self.others[number])
        for prefix in prefixes:
            values = (self.function(prefix, word) for word in self.candidates)
            rows = [_in_order(numbers, self.names, "features") for numbers in values]
            tables.append(np.array(rows, np.float32).reshape(len(rows), len(self.names)))
        table, *other = tables
        if other and not np.array_equal(table, *other):
            forms = (" ".join(word.form for word in prefix) or "(nothing)" for prefix in prefixes)
            raise AccordError(
                "remember: expected equal features in equal states; they differ after '{}' and "
                "'{}', which are one state".format(*forms)
            )
        return table

    def _psi(self, number: int) -> list[float]:
        return _in_order(self.read(self.prefixes[number]), self.read_names, "read")

    def _word(self, word: int) -> WordSeen:
        values = self._values(int(self.features.signature[word]))
        return WordSeen(self.described.forms[word], values)

    def _values(self, signature: int) -> dict[str, frozenset[str]]:
        """Return Φ of a signature: `Gender=Fem` and `Gender=Masc` are two values of Gender."""
        start, end = self.features.indptr[signature : signature + 2]
        sets: dict[str, set[str]] = {}
        for feature in self.features.indices[start:end].tolist():
            name, _, value = self.described.names[feature].partition("=")
            if value and "×" not in value:
                sets.setdefault(name, set()).add(value)
        return {name: frozenset(values) for name, values in sets.items()}


def _companion(function: Callable, name: str) -> Callable | None:
    """Return a companion of a function of features, with the same settings."""
    if not isinstance(function, partial):
        return getattr(function, name, None)
    companion = getattr(function.func, name, None)
    return companion and partial(companion, **function.keywords)


def _in_order(numbers: Any, names: Sequence[str], where: str) -> list[float]:
    if not isinstance(numbers, dict) or numbers.keys() != {*names}:
        raise AccordError(
            f"{where}: expected a number for each of {', '.join(names)}, as before the first "
            f"word; found {numbers!r:.200}"
        )
    return [float(numbers[name]) for name in names]


class PrefixLogLinear(LogLinear):
    """A log-linear layer with features φ(K, x), each with a weight that the network chooses."""

    background: ExpertBackground

    def __init__(self, features, background, size, *, prefixes: PrefixStates, **settings):
        known = ExpertBackground(features, background, prefixes)
        super().__init__(features, known, size, **settings)
        self.prefixes = prefixes
        count, evidence = len(prefixes.names), len(prefixes.read_names)
        self.prefix_weight = nn.Parameter(torch.zeros(count, self.width))
        self.prefix_bias = nn.Parameter(torch.zeros(count))
        self.read_weight = nn.Parameter(torch.zeros(features.feature_count, evidence))

    def score_signatures(self, h: Tensor, context, terms=None) -> ScoredSignatures:
        """Score the signatures with a'_t·φ(K, s)."""
        scored = super().score_signatures(h, context, terms)
        return replace(scored, logits=scored.logits + self.prefix_scores(h, context))

    def prefix_weights(self, h: Tensor) -> Tensor:
        """a'_t: (N × F')."""
        return self.scaled(functional.linear(h, self.prefix_weight, self.prefix_bias))

    def prefix_scores(self, h: Tensor, context: Tensor | None) -> Tensor:
        """a'_t·φ(K, s) + φ_s·U·ψ(K) of every signature: (N × S). States that are equal share φ."""
        numbers, at = self.background.kept(context).squeeze(1).unique(return_inverse=True)
        a = self.prefix_weights(h)
        order = at.argsort()
        rows = a[order].split(at.bincount(minlength=len(numbers)).tolist())
        scores = [
            of_state @ torch.from_numpy(self.prefixes.table(number)).to(a).T
            for of_state, number in zip(rows, numbers.tolist(), strict=True)
        ]
        evidence = torch.cat(scores)[order.argsort()]
        if not self.prefixes.read_names:
            return evidence
        psi = a.new_tensor([self.prefixes.psi(number) for number in numbers.tolist()])
        return evidence + self.scaled(psi[at] @ self.product(self.read_weight).T)

    def adaptor(self, h: Tensor) -> Tensor:
        """Return one weight per feature, those of the prefix last: (N × F + F')."""
        return torch.cat([super().adaptor(h), self.prefix_weights(h)], dim=1)

    def log_background_of(self, h: Tensor, words: Tensor, context: Tensor | None = None) -> Tensor:
        """log b(K, x), and what the prefix adds to it: explanations show both as one term."""
        signatures = self.signature[words.view(len(words), -1)]
        added = self.prefix_scores(h, context).gather(1, signatures).view_as(words)
        return super().log_background_of(h, words, context) + added


class WordByWord(InContext):
    """The same b(K, x) for a Φ of which every word is a signature of its own."""

    words: Tensor  # of each signature (V)

    def __init__(self, features: Features, whole: Background):
        super().__init__(features)
        self.whole = whole
        self.keep(words=np.argsort(features.signature))

    def contexts(self, sentences: Sentences, training: bool = False) -> np.ndarray:
        return self.whole.contexts(sentences, training)

    def log_sums(self, context: Tensor, prior: bool) -> Tensor:
        log_mass = self.whole.log_mass_of(None, context)[..., self.words]
        if not prior:
            return log_mass
        b = torch.from_numpy(self.word_masses()).to(log_mass)[self.words]
        return (b / b.sum()).log().expand_as(log_mass)

    def log_mass_of(self, words: Tensor | None, context: Tensor | None = None) -> Tensor:
        return self.whole.log_mass_of(words, context)

    def word_masses(self) -> np.ndarray:
        return self.whole.word_masses()

    @property
    def size(self) -> int:
        return self.whole.size


Function = Annotated[
    Choice, PREFIX_FEATURES, "a function of a prefix and a word; your own is FILE.py:FUNCTION"
]
Exact = Annotated[
    bool, "calls it for every word, not for each signature; for functions that read forms"
]


@about(log_linear=True)
def prefix_features(
    output: OutputContext,
    *,
    features: Function = "agreement",
    exact: Exact = False,
    background_gate: Gate = False,
    temperature: Temperature = False,
) -> PrefixLogLinear:
    """Log-linear output with features of the whole prefix and the candidate word."""
    if output.described is None:
        raise AccordError("output: prefix-features expects words; a model of subwords has none")
    kind, settings = parted(PREFIX_FEATURES.choose(features))
    if exact:  # each word by itself, so that the function sees every form
        phi = output.features.split_by(np.arange(output.features.vocabulary_size))
        b = output.background
        is_unigram = isinstance(b, Unigram)
        by_word = Unigram(phi, b.word_masses()) if is_unigram else WordByWord(phi, b)
        output = replace(output, features=phi, background=by_word)
    function = partial(PREFIX_FEATURES[kind], **settings)
    states = PrefixStates(output.features, output.described(), function)
    settings = {"background_gate": background_gate, "temperature": temperature}
    return output.log_linear(PrefixLogLinear, prefixes=states, **settings)


AGREEING = ("ADJ", "AUX", "DET", "NOUN", "PRON", "VERB")  # parts of speech that agree
CATEGORIES = ("Gender", "Number")


def last_nominal(prefix: Sequence[WordSeen]) -> WordSeen | None:
    """Return the last noun or determiner of a prefix."""
    return next((word for word in reversed(prefix) if word["pos"] & {"NOUN", "DET"}), None)


def agreement(prefix: Sequence[WordSeen], word: WordSeen) -> Numbers:
    """Agreement with the last noun or determiner in gender and number, however far it is."""
    last = last_nominal(prefix)
    features = {}
    for name in CATEGORIES:
        theirs = last[name] if last else NOTHING
        shared, decided = bool(theirs & word[name]), bool(theirs and word[name])
        for pos in AGREEING:
            has_pos = pos in word["pos"]
            features[f"{pos} agrees in {name}"] = float(has_pos and shared)
            features[f"{pos} clashes in {name}"] = float(has_pos and decided and not shared)
    return features


def _agreement_state(prefix: Sequence[WordSeen]) -> Hashable:
    last = last_nominal(prefix)
    return last and tuple(last[name] for name in CATEGORIES)


agreement.remember = _agreement_state


@cache
def _facts(table: str) -> dict[str, str]:
    return dict(pairs_of(Path(table), "a key, a tab and a number"))


TableOfFacts = Annotated[str, "a word and its number on each line, parted by a tab"]


def knowledge(
    prefix: Sequence[WordSeen], word: WordSeen, *, table: TableOfFacts = "facts.tsv"
) -> Numbers:
    """Paper's expert φ_e: 1 if a word is no number, or the number that a table gives.

    The table is asked for the last word of the prefix that it has.
    """
    is_number = "NUM" in word["pos"] or word.form.isdigit()
    return {"expert": float(not is_number or word.form == _given(prefix, table=table))}


def _given(prefix: Sequence[WordSeen], *, table: str) -> str | None:
    facts = _facts(table)
    return next((facts[word.form] for word in reversed(prefix) if word.form in facts), None)


knowledge.remember = _given


PLACES = 8  # that are told apart; all later ones are one


def position(prefix: Sequence[WordSeen], word: WordSeen) -> Numbers:
    """Number of words before: a weight for each part of speech at each of the first places."""
    place = min(len(prefix), PLACES)
    return {
        f"{pos} at {number}": float(number == place and pos in word["pos"])
        for number in range(PLACES + 1)
        for pos in (*AGREEING, "ADP", "PROPN", "PUNCT")
    }


position.remember = lambda prefix: min(len(prefix), PLACES)
