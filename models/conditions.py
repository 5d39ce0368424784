"""The outside condition C in K: labels of a sentence, such as its topic, or another sentence."""

from collections.abc import Mapping, Sequence
from operator import le
from typing import Annotated

import torch
from torch import Tensor, nn

from accord.models.common.checks import expect
from accord.models.common.registry import about
from accord.models.common.schema import Range
from accord.models.data import END, NO_WORD, Sentences
from accord.models.encoder import WordEmbedding
from accord.models.gpu.processes import ProcessShare

Extra = Mapping[str, Tensor]  # further inputs of words (T × B × k), by name
NOTHING: Extra = {}


class Unconditioned(nn.Module):
    """The interface of conditions, and the empty one."""

    has_fixed_shapes = True  # whether a CUDA graph can record it
    width = 0  # of the entries that the condition appends to h
    default_labels: Tensor | None  # the labels of sentences that bring none themselves

    def __init__(self, sizes: Sequence[int], size: int):
        super().__init__()
        self.register_buffer("default_labels", None, persistent=False)

    def attach(self, embedding: WordEmbedding, width: int) -> None:
        """Take note of how words are read, and of the width of h."""

    def conditioned(self, sentences: Sentences) -> Sentences:
        """Return sentences with everything that the condition reads of them."""
        return sentences

    def forward(self, words: Tensor, extra: Extra) -> Tensor:
        """Return the condition c(K) of the words that are read: here it is empty."""
        return words.new_empty(0)

    def inputs(self, embedded: Tensor, c: Tensor) -> Tensor:
        """Return words as the encoder reads them."""
        return embedded

    def outputs(self, h: Tensor, c: Tensor) -> Tensor:
        """Return states as the output layer reads them."""
        return h


class Condition(Unconditioned):
    """The labels of a sentence add a vector to the input of each word.

    c(K) ∈ {0, 1}^L has a 1 for each label of the sentence, and the encoder reads ψ(x) + c·V.

    Labels are of several kinds, of which a sentence has one each or none. A sentence without labels
    has the zero vector. The network is trained for this case too: `dropout` removes each label from
    that share of sentences. All weights are zero at first, where the model is the one without a
    condition.
    """

    reads_labels = True
    default_labels: Tensor
    first: Tensor  # start of each kind's labels in c, less 1
    sizes: Tensor  # the number of labels of each kind

    def __init__(
        self,
        sizes: Sequence[int],
        size: int,
        *,
        dropout: Annotated[
            float, Range(ge=0, lt=1), "share of sentences whose label is kept from the network"
        ] = 0.2,
    ):
        super().__init__(sizes, size)
        expect("condition", len(sizes) > 0, "labels of the sentences", "none")
        self.dropout = dropout
        self.share: ProcessShare | None = None  # of the columns, if processes share a batch
        self.weight = nn.Parameter(torch.zeros(sum(sizes), size))
        numbers = torch.tensor([0, *sizes])
        # Labels of a kind are numbered from 1, 0 being none; in c they follow those before them.
        self.register_buffer("first", numbers.cumsum(0)[:-1] - 1, persistent=False)
        self.register_buffer("sizes", numbers[1:], persistent=False)
        self.register_buffer("default_labels", torch.zeros_like(numbers[1:]), persistent=False)

    def inputs(self, embedded: Tensor, c: Tensor) -> Tensor:
        return embedded + c @ self.weight

    def forward(self, words: Tensor, extra: Extra) -> Tensor:
        """Return c of each word that is read (T × B × L), from its sentence's labels (… × k)."""
        labels = extra.get("labels")
        if labels is None:
            labels = self.default_labels.expand(*words.shape, -1)
        labels = self._checked(labels.long())
        if self.training and self.dropout:
            labels = labels * self._kept(words)
        place = torch.where(labels > 0, labels + self.first, len(self.weight))
        c = self.weight.new_zeros(*words.shape, len(self.weight) + 1)
        return c.scatter_(2, place, 1.0)[..., :-1]

    def _checked(self, labels: Tensor) -> Tensor:
        """Return the labels, if they are possible."""
        kinds, columns = len(self.sizes), labels.shape[2]
        expect("labels", columns == kinds, f"one of each of {kinds} kinds", columns)
        if labels.device.type == "cpu":  # a GPU is not waited for
            most, largest = self.sizes.tolist(), labels.flatten(0, 1).amax(0).tolist()
            is_sound = all(map(le, largest, most))
            expect("labels", is_sound, f"numbers up to {most}", largest)
        return labels

    def _kept(self, words: Tensor) -> Tensor:
        """Draw whether each label is kept, alike for all words of a sentence: (T × B × k)."""
        steps, columns = words.shape
        kinds = len(self.sizes)
        shape = steps + 1, self.share.total if self.share else columns, kinds
        kept = torch.empty(shape, device=words.device).bernoulli_(1 - self.dropout)
        if self.share:
            kept = kept[:, self.share.columns]
        sentence = (words == END).cumsum(0)  # an end stands before each first word
        return kept.gather(0, sentence.unsqueeze(2).expand(-1, -1, kinds)).long()


class Crossed(Condition):
    """As `input`, and each label has weights of features of its own.

    c is appended to h_t: a_t = W·h_t + U·c + c₀. Labels cross with features."""

    def attach(self, embedding: WordEmbedding, width: int) -> None:
        self.width = len(self.weight)

    def outputs(self, h: Tensor, c: Tensor) -> Tensor:
        return torch.cat([h, c.to(h.dtype)], dim=2)


@about(reads="sentence before")
class Attended(Unconditioned):
    """The sentence before: an encoder reads it, and each state attends to its words.

        s_j = GRU(ψ(C_j), s_{j−1}),    α_j ∝ exp(h_t·Q·s_j),    a_t = W·h_t + U·Σ_j α_j·s_j + c₀

    (Dymetman & Xiao 2016, §2.1; the attention is that of Luong et al. 2015). U is zero at first,
    where the model is the one without a condition. A sentence without one before it attends to
    nothing, the zero vector; so does a share `dropout` of the sentences in training.
    """

    has_fixed_shapes = False  # the number of different C depends on the words

    def __init__(
        self,
        sizes: Sequence[int],
        size: int,
        *,
        reach: Annotated[int, Range(ge=1), "words of it that are read, the last ones"] = 30,
        dropout: Annotated[
            float, Range(ge=0, lt=1), "share of sentences from which it is kept"
        ] = 0.2,
    ):
        super().__init__(sizes, size)
        self.reach, self.dropout, self.width = reach, dropout, size
        self.encoder = nn.GRU(size, size, batch_first=True)
        self.embedding: list[WordEmbedding] = []  # in a list, as it is the model's and not a part

    def attach(self, embedding: WordEmbedding, width: int) -> None:
        self.embedding = [embedding]
        self.query = nn.Linear(width, self.width, bias=False)

    def conditioned(self, sentences: Sentences) -> Sentences:
        return sentences.with_previous(self.reach)

    def forward(self, words: Tensor, extra: Extra) -> Tensor:
        """Return the words of the sentence before that of each word: (T × B × n)."""
        previous = extra.get("previous")
        return words.new_full((*words.shape, 1), NO_WORD) if previous is None else previous.long()

    def outputs(self, h: Tensor, c: Tensor) -> Tensor:
        """Return h_t and the mean of C's states by attention; each different C is read once."""
        different, of_word = c.flatten(0, 1).unique(dim=0, return_inverse=True)
        is_word = different != NO_WORD
        if self.training and self.dropout:
            kept = torch.rand(len(different), 1, device=h.device) >= self.dropout
            is_word = is_word & kept
        states, _ = self.encoder(self.embedding[0](different.clamp(min=0)) * is_word.unsqueeze(2))
        scores = torch.einsum("nd,nkd->nk", self.query(h.flatten(0, 1)), states[of_word])
        weights = scores.masked_fill(~is_word[of_word], -torch.inf).softmax(dim=1).nan_to_num()
        mean = torch.einsum("nk,nkd->nd", weights, states[of_word])
        return torch.cat([h, mean.view(*h.shape[:2], -1).to(h.dtype)], dim=2)
