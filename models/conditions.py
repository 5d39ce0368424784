"""The outside condition C in K: labels of a sentence, such as its topic, or another sentence."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from accord.errors import AccordError
from accord.models.data import END, NO_WORD, ColumnShare, Sentences
from accord.models.embedding import WordEmbedding
from accord.models.model import Extra, Unconditioned


class Condition(Unconditioned):
    """c(K) ∈ {0, 1}^L has a 1 for each label of the sentence, and the encoder reads ψ(x) + c·V.

    Labels are of several kinds, of which a sentence has one each or none. A sentence without labels
    has the zero vector. The network is trained for this case too: `dropout` removes each label from
    that share of sentences. All weights are zero at first, where the model is the one without a
    condition.
    """

    reads_labels = True
    given: Tensor
    first: Tensor  # of each kind, where its labels begin in c, less 1
    sizes: Tensor  # how many labels there are of each kind

    def __init__(self, sizes: Sequence[int], size: int, *, dropout: float = 0.2):
        super().__init__(sizes, size)
        if not sizes:
            raise AccordError("condition: expects labels of the sentences, found none")
        self.dropout = dropout
        self.share: ColumnShare | None = None
        self.weight = nn.Parameter(torch.zeros(sum(sizes), size))
        numbers = torch.tensor([0, *sizes])
        # Labels of a kind are numbered from 1, 0 being none; in c they follow those before them.
        self.register_buffer("first", numbers.cumsum(0)[:-1] - 1, persistent=False)
        self.register_buffer("sizes", numbers[1:], persistent=False)
        self.register_buffer("given", torch.zeros_like(numbers[1:]), persistent=False)

    @property
    def kinds(self) -> list[int]:
        return self.sizes.tolist()

    def read(self, embedded: Tensor, c: Tensor) -> Tensor:
        return embedded + c @ self.weight

    def forward(self, words: Tensor, extra: Extra) -> Tensor:
        """c beside each word that is read (T × B × L), from the labels of its sentence (… × k)."""
        labels = extra.get("labels")
        if labels is None:
            labels = self.given.expand(*words.shape, -1)
        labels = self._checked(labels.long())
        if self.training and self.dropout:
            labels = labels * self._kept(words)
        at = torch.where(labels > 0, labels + self.first, len(self.weight))
        room = self.weight.new_zeros(*words.shape, len(self.weight) + 1)
        return room.scatter_(2, at, 1.0)[..., :-1]

    def _checked(self, labels: Tensor) -> Tensor:
        if labels.shape[2:] != self.sizes.shape:
            raise AccordError(
                f"labels: expected one of each of {len(self.sizes)} kinds, got {labels.shape[2]}"
            )
        if labels.device.type == "cpu" and (labels > self.sizes).any():  # a GPU is not waited for
            raise AccordError(
                f"labels: expected numbers up to {self.sizes.tolist()}, got "
                f"{labels.flatten(0, 1).amax(0).tolist()}"
            )
        return labels

    def _kept(self, words: Tensor) -> Tensor:
        """Whether each label is kept, the same for all words of a sentence: (T × B × k)."""
        steps, columns = words.shape
        kinds = len(self.sizes)
        shape = steps + 1, self.share.of if self.share else columns, kinds
        kept = torch.empty(shape, device=words.device).bernoulli_(1 - self.dropout)
        if self.share:
            kept = kept[:, self.share.columns]
        sentence = (words == END).cumsum(0)  # an end stands before each first word
        return kept.gather(0, sentence.unsqueeze(2).expand(-1, -1, kinds)).long()


class Crossed(Condition):
    """The same, and c is appended to h_t: a_t = W·h_t + U·c + c₀. Labels cross with features."""

    @property
    def width(self) -> int:
        return len(self.weight)

    def beside(self, h: Tensor, c: Tensor) -> Tensor:
        return torch.cat([h, c.to(h.dtype)], dim=2)


class Attended(Unconditioned):
    """C is a sequence, the sentence before; an encoder reads it, and h_t attends to its states:

        s_j = GRU(ψ(C_j), s_{j−1}),    α_j ∝ exp(h_t·Q·s_j),    a_t = W·h_t + U·Σ_j α_j·s_j + c₀

    (Dymetman & Xiao 2016, §2.1; the attention is that of Luong et al. 2015). U is zero at first,
    where the model is the one without a condition. A sentence without one before it attends to
    nothing, the zero vector; so does a share `dropout` of the sentences in training.
    """

    def __init__(self, sizes: Sequence[int], size: int, *, reach: int = 30, dropout: float = 0.2):
        super().__init__(sizes, size)
        self.reach, self.dropout, self.size = reach, dropout, size
        self.encoder = nn.GRU(size, size, batch_first=True)
        self.embedding: list[WordEmbedding] = []  # in a list, as it is the model's and not a part

    @property
    def width(self) -> int:
        return self.size

    def attach(self, embedding: WordEmbedding, width: int) -> None:
        self.embedding = [embedding]
        self.query = nn.Linear(width, self.size, bias=False)

    def conditioned(self, sentences: Sentences) -> Sentences:
        return sentences.with_before(self.reach)

    def forward(self, words: Tensor, extra: Extra) -> Tensor:
        """The words of the sentence before, beside each word that is read: (T × B × n)."""
        before = extra.get("before")
        return words.new_full((*words.shape, 1), NO_WORD) if before is None else before.long()

    def beside(self, h: Tensor, c: Tensor) -> Tensor:
        """h_t, and the mean of C's states by attention: each different C is read once."""
        different, of_word = c.flatten(0, 1).unique(dim=0, return_inverse=True)
        is_word = different != NO_WORD
        if self.training and self.dropout:
            kept = torch.rand(len(different), 1, device=h.device) >= self.dropout
            is_word = is_word & kept
        states, _ = self.encoder(self.embedding[0](different.clamp(min=0)) * is_word.unsqueeze(2))
        scores = torch.einsum("nd,nkd->nk", self.query(h.flatten(0, 1)), states[of_word])
        weights = scores.masked_fill(~is_word[of_word], -torch.inf).softmax(dim=1).nan_to_num()
        found = torch.einsum("nk,nkd->nd", weights, states[of_word])
        return torch.cat([h, found.view(*h.shape[:2], -1).to(h.dtype)], dim=2)
