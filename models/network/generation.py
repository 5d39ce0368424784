"""New sentences from a trained model: drawn word by word, or the best by beam search."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from accord.models.common.batching import END, Sentences, State, columns
from accord.models.network.language_model import LanguageModel
from accord.models.outputs.log_linear import LogLinear, log_linear_of

DRAWN_AT_ONCE = 512  # sentences of a whole text
LONGEST = 200  # words of one of them
NUCLEUS = 1024  # words that are looked for a share of the mass at first: sorting all takes long


class Generated(NamedTuple):
    """The words after the given start, END last if the sentence ends, and log p of each."""

    words: list[int]
    log_p: list[float]


@dataclass(frozen=True)
class Sampling:
    """What a word is drawn from: p^(1/temperature); of it only the `top_k` likeliest words; of
    those only the likeliest that together have `top_p` of the mass.
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None

    def __post_init__(self):
        if not self.temperature > 0:
            raise ValueError(f"temperature: expected a number above 0, got {self.temperature}")
        if self.top_k is not None and self.top_k < 1:
            raise ValueError(f"top_k: expected 1 word or more, got {self.top_k}")
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise ValueError(f"top_p: expected a share above 0 and up to 1, got {self.top_p}")

    def draw(
        self, output: LogLinear, h: Tensor, context: Tensor, generator: torch.Generator
    ) -> Tensor:
        """One word in each state: (N)."""
        if self == Sampling():
            return output.sample(h, generator, context)
        if self.top_k:
            log_p, words = output.top(h, self.top_k, context)
            p = (log_p / self.temperature).softmax(dim=1)
        else:
            p = (output.log_prob(h, context) / self.temperature).softmax(dim=1)
            words = torch.arange(p.shape[1], device=p.device).expand_as(p)
        if self.top_p:
            p = nucleus(p, self.top_p)
        return words.gather(1, p.multinomial(1, generator=generator)).squeeze(1)


def nucleus(p: Tensor, mass: float) -> Tensor:
    """Each row with its largest entries alone, as few as have that mass together: (N × V)."""
    count = min(NUCLEUS, p.shape[1])
    while True:
        largest, at = p.topk(count, dim=1)
        if count == p.shape[1] or largest.sum(dim=1).min() >= mass:
            break
        count = min(8 * count, p.shape[1])
    before = largest.cumsum(dim=1) - largest
    return torch.zeros_like(p).scatter(1, at, largest.masked_fill(before >= mass, 0))


class Beam(NamedTuple):
    """Beginnings of one length, read side by side."""

    model: LanguageModel
    text: Tensor  # (B × t)
    log_p: Tensor  # of each word that was generated (B × g)
    h: Tensor  # the encoder's outputs after them (B × H)
    state: State

    @classmethod
    def of(cls, model: LanguageModel, start: Sequence[int], count: int) -> "Beam":
        """The same start several times."""
        words = torch.tensor([END, *start], device=model.embedding.weight.device)
        h, state = model(words.unsqueeze(1).expand(-1, count), model.encoder.initial_state(count))
        return cls(model, words[1:].expand(count, -1), h.new_zeros(count, 0), h[-1], state)

    @property
    def context(self) -> Tensor:
        """What the output needs to know of the words before the next: (B × n)."""
        ids = torch.nn.functional.pad(self.text, (0, 1), value=END).cpu().numpy()
        contexts = self.model.contexts(Sentences(ids.ravel(), np.full(len(ids), ids.shape[1])))
        return torch.from_numpy(contexts[ids.shape[1] - 1 :: ids.shape[1]]).to(self.text.device)

    def after(self, rows: Tensor, words: Tensor, log_p: Tensor) -> "Beam":
        """Some of the beginnings, each with one more word."""
        h, state = self.model(words.unsqueeze(0), columns(self.state, rows))
        text = torch.cat([self.text[rows], words.unsqueeze(1)], dim=1)
        scores = torch.cat([self.log_p[rows], log_p.unsqueeze(1)], dim=1)
        return Beam(self.model, text, scores, h.squeeze(0), state)

    def generated(self, row: int) -> Generated:
        scores = self.log_p[row].tolist()
        return Generated(self.text[row, self.text.shape[1] - len(scores) :].tolist(), scores)


@torch.inference_mode()
def sample(
    model: LanguageModel,
    start: Sequence[int],
    count: int,
    sampling: Sampling,
    generator: torch.Generator,
    longest: int,
) -> list[Generated]:
    """So many sentences with this start, of at most so many generated words."""
    output = log_linear_of(model)
    reading = Beam.of(model, start, count)
    positions = np.arange(count)  # of the beginnings among all sentences
    sentences: dict[int, Generated] = {}
    for _ in range(longest):
        context = reading.context
        try:
            words = sampling.draw(output, reading.h, context, generator)
        except RuntimeError as error:  # torch's, of probabilities that are no numbers
            raise FloatingPointError(f"no word can be drawn: {error}") from None
        log_p = output.log_prob_of(reading.h, words, context)
        reading = reading.after(torch.arange(len(words), device=words.device), words, log_p)
        is_ended = (words == END).cpu().numpy()
        for row in np.flatnonzero(is_ended).tolist():
            sentences[int(positions[row])] = reading.generated(row)
        going_on = (words != END).nonzero().squeeze(1)
        positions, reading = positions[~is_ended], _only(reading, going_on)
        if not len(positions):
            break
    for row, place in enumerate(positions.tolist()):  # what is cut
        sentences[place] = reading.generated(row)
    return [sentences[place] for place in range(count)]


def written_text(
    model: LanguageModel,
    sentences: int,
    seed: int,
    on_words: Callable[[int], None] = lambda words: None,
) -> Sentences:
    """So many sentences drawn from a model, those that go on beyond LONGEST words ended there.

    `on_words` is told how many words each part of them has. n-grams that are counted in such a text
    come to the model's own as it grows (Deoras et al. 2011).
    """
    device = model.embedding.weight.device
    generator = torch.Generator(device).manual_seed(seed)
    ids, lengths = [], []
    for start in range(0, sentences, DRAWN_AT_ONCE):
        size = min(DRAWN_AT_ONCE, sentences - start)
        for words, _ in sample(model, [], size, Sampling(), generator, LONGEST):
            ids += [*words] if words[-1] == END else [*words, END]
            lengths.append(len(words) + (words[-1] != END))
        on_words(sum(lengths[start:]))
    return Sentences(np.array(ids), np.array(lengths))


@torch.inference_mode()
def beam(model: LanguageModel, start: Sequence[int], width: int, longest: int) -> list[Generated]:
    """The best sentences with this start that beam search finds, the best first.

        score = Σ log p / lp(n),    lp(n) = (5 + n) / 6

    n counts the generated words, END included (Wu et al. 2016, equation 14, α = 1). By log p alone
    the empty rest often wins, as every word costs some; with α = 0.7 it still does in narrow beams,
    and a plain mean, without their 5, repeats a likely clause again and again.

    At each length the `width` likeliest beginnings are kept, and every one of them may end. One is
    given up when it would not be among the best, even if all its words up to `longest` were
    certain. With room for all beginnings the search is exact. The log p of a word stays as it is.
    """
    output = log_linear_of(model)
    reading = Beam.of(model, start, 1)
    ended: list[Generated] = []
    for _ in range(longest):
        context, so_far = reading.context, reading.log_p.sum(dim=1)
        end = torch.full_like(so_far, END, dtype=torch.long)
        of_end = output.log_prob_of(reading.h, end, context)
        for row in of_end.isfinite().nonzero().squeeze(1).tolist():
            begun = reading.generated(row)
            ended.append(Generated([*begun.words, END], [*begun.log_p, of_end[row].item()]))
        ended = sorted(ended, key=_score, reverse=True)[:width]
        log_p, words = output.top(reading.h, width + 1, context)  # one of which may be END
        total = (so_far.unsqueeze(1) + log_p).masked_fill(words == END, -torch.inf).flatten()
        best, at = total.topk(min(width, len(total)))
        worst = _score(ended[-1]) if len(ended) == width else -np.inf
        at = at[best / length_penalty(longest) > worst]
        if not len(at):
            break
        rows = at // words.shape[1]
        reading = reading.after(rows, words.flatten()[at], log_p.flatten()[at])
    if not ended:
        raise ValueError(f"no sentence with this start and constraint ends within {longest} words")
    return ended


def length_penalty(words: int) -> float:
    """lp of so many generated words, by which beam search divides their log p."""
    return (5 + words) / 6


def _score(sentence: Generated) -> float:
    return sum(sentence.log_p) / length_penalty(len(sentence.words))


def _only(reading: Beam, rows: Tensor) -> Beam:
    state = columns(reading.state, rows)
    return Beam(reading.model, reading.text[rows], reading.log_p[rows], reading.h[rows], state)
