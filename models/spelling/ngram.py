"""Spelling by letter n-grams: one Kneser-Ney model for all words, and each class's own on top."""

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from models.common.json_file import load_json
from models.ngram.counts import count
from models.ngram.smoothing.kneser_ney import kneser_ney
from models.spelling.strings import STOP, Alphabet, Spelling, in_a_row, numbers

MOST = 100_000  # classes that a file may claim; each takes room in every score


class NGramSpelling(Spelling):
    """letters(u | s) = Π p(c | s, h) over the letters of u, the last one first, and STOP.

        p(c | s, h) = max(n_s(hc) − D, 0) / n_s(h) + D·t_s(h)/n_s(h) · p(c | h)

    h is all that was written so far, n_s(hc) how many words of class s begin with hc in this
    order, t_s(h) how many letters follow h in them; p(c | h) is the n-gram model of all classes,
    and stands alone where class s has no word that begins with h or h is as long as the order.
    """

    def __init__(
        self, words: Sequence[str], classes: Sequence[int], count_classes: int, order: int
    ):
        super().__init__(Alphabet.of(words), *numbers(words, classes, count_classes))
        self.made_of = {"words": list(words), "classes": list(map(int, classes)), "order": order}
        symbols = [[*self.alphabet.symbols(word), STOP] for word in words]
        order = min(order, max(map(len, symbols)) + 1)
        levels = count(in_a_row(symbols), order, len(self.alphabet))
        self.ngrams = kneser_ney(levels, np.full(len(self.alphabet), 1 / len(self.alphabet)))
        # By what was written so far and by class, how often each letter came next.
        self.begun: dict[tuple, dict[int, Counter]] = defaultdict(lambda: defaultdict(Counter))
        for word, kind in zip(symbols, self.made_of["classes"], strict=True):
            for place, symbol in enumerate(word[:order]):
                self.begun[tuple(word[:place])][kind][symbol] += 1
        times = Counter(
            n for each in self.begun.values() for c in each.values() for n in c.values()
        )
        self.discount = times[1] / (times[1] + 2 * times[2]) if times[1] and times[2] else 0.5
        stop = np.full(self.classes, float(self._shared([[STOP]])[0][0]))
        for kind, after in self.begun[()].items():
            stop[kind] = self._of_class(after, after[STOP], stop[kind])
        self.not_empty = np.log1p(-stop)

    def with_words(self, words: Sequence[str], classes: Sequence[int]) -> "NGramSpelling":
        """The same learned from more words."""
        made_of, order = self.made_of, self.made_of["order"]
        words, classes = [*made_of["words"], *words], [*made_of["classes"], *classes]
        return NGramSpelling(words, classes, self.classes, order)

    def sequences(self, sequences: Sequence[Sequence[int]]) -> np.ndarray:
        result = np.empty((len(sequences), self.classes))
        for row, (symbols, shared) in enumerate(
            zip(sequences, self._shared(sequences), strict=True)
        ):
            result[row] = np.log(shared).sum() - self.not_empty
            for place, symbol in enumerate(symbols):
                begun = self.begun.get(tuple(symbols[:place]))
                if begun is None:
                    break
                for kind, after in begun.items():
                    p = self._of_class(after, after[symbol], shared[place])
                    result[row, kind] += np.log(p / shared[place])
        return result

    def _shared(self, sequences: Sequence[Sequence[int]]) -> list[np.ndarray]:
        """p(c | h) of every symbol of every sequence."""
        sentences = in_a_row(sequences)
        return np.split(np.exp(self.ngrams.score(sentences)), np.cumsum(sentences.lengths)[:-1])

    def _of_class(self, after: Counter, seen, shared):
        """p(c | s, h) of one letter or all, from how often each was seen next and from p(c | h)."""
        total = after.total()
        own = np.maximum(seen - self.discount, 0) / total
        return own + self.discount * len(after) / total * shared

    def draw_symbols(self, classes: np.ndarray, generator: np.random.Generator) -> list[list[int]]:
        drawn: list[list[int]] = [[] for _ in classes]
        reach = self.ngrams.order - 1
        context = torch.full((len(classes), reach), -1)
        context[:, -1:] = STOP  # a word's start, as a sentence's
        writing = np.arange(len(classes))
        while len(writing):
            nodes = self.ngrams.nodes(context[writing])
            shared = self.ngrams.distributions(nodes, torch.float64).numpy()
            for row, p in zip(writing, shared, strict=True):
                if after := self.begun.get(tuple(drawn[row]), {}).get(classes[row]):
                    seen = np.array([after[symbol] for symbol in range(len(p))])
                    p = self._of_class(after, seen, p)
                if not drawn[row]:
                    p[STOP] = 0
                drawn[row].append(int(generator.choice(len(p), p=p / p.sum())))
            last = torch.tensor([drawn[row][-1] for row in writing])
            context[writing] = torch.cat([context[writing][:, 1:], last[:, None]], dim=1)
            writing = writing[last.numpy() != STOP]
        return [symbols[:-1] for symbols in drawn]

    def save(self, path: Path) -> None:
        """The words are kept and not the counts, which they are quickly made of again."""
        about = {"count_classes": self.classes, **self.made_of}
        path.write_text(json.dumps(about, ensure_ascii=False), encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> "NGramSpelling":
        about = load_json(path, dict)
        words, classes = (about.get(name) for name in ("words", "classes"))
        numbers_of = [about.get("count_classes"), about.get("order")]
        if not (
            about.keys() == {"count_classes", "words", "classes", "order"}
            and isinstance(words, list)
            and isinstance(classes, list)
            and 0 < len(words) == len(classes)
            and all(isinstance(word, str) and word for word in words)
            and all(type(number) is int and 0 < number <= MOST for number in numbers_of)
            and all(type(kind) is int and 0 <= kind < about["count_classes"] for kind in classes)
        ):
            raise ValueError(
                f"{path}: expected words, the class of each among at most {MOST:,}, and an order"
            )
        return cls(**about)
