"""Spelling by a small recurrent network over letters, conditioned on the class of the word."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from accord.errors import AccordError
from accord.models.common.weights import load_tensors, load_weights
from accord.models.data import NO_WORD, by_length, of_like_length
from accord.models.spelling import NEURAL, STOP, Alphabet, Spelling, as_text, numbers

EMBEDDING, HIDDEN, DROPOUT = 24, 96, 0.2
BATCH, EPOCHS, LEARNING_RATE = 32, 7, 5e-3
SYMBOLS_AT_ONCE = 1 << 15  # scored together, in all classes and padding included


class Network(nn.Module):
    """The log-probabilities of the next symbol, from those before it and the class.

    A word begins with STOP, as it ends; what is never written is the empty word.
    """

    def __init__(self, symbols: int, classes: int):
        super().__init__()
        self.letter = nn.Embedding(symbols, EMBEDDING)
        self.kind = nn.Embedding(classes, EMBEDDING)
        self.lstm = nn.LSTM(2 * EMBEDDING, HIDDEN)
        self.output = nn.Linear(HIDDEN, symbols)
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, preceding: Tensor, kinds: Tensor, state=None) -> tuple[Tensor, tuple]:
        """Return log p of each symbol (T × N × symbols) after others (T × N), and the state."""
        kind = self.kind(kinds).expand(len(preceding), -1, -1)
        h, state_after = self.lstm(
            self.dropout(torch.cat([self.letter(preceding), kind], dim=2)), state
        )
        logits = self.output(self.dropout(h))
        if state is None:
            logits[0, :, STOP] = -torch.inf
        return logits.log_softmax(dim=2), state_after


class NeuralSpelling(Spelling):
    """letters(u | s) = Π p(c | s, all letters before), the last letter of u coming first."""

    file = NEURAL

    def __init__(self, alphabet: Alphabet, shares: np.ndarray, length: float):
        super().__init__(alphabet, shares, length)
        self.network = Network(len(alphabet), self.classes).eval()

    @classmethod
    def learn(cls, words: Sequence[str], classes: Sequence[int], count: int) -> "NeuralSpelling":
        alphabet = Alphabet.of_words(words)
        text = as_text([[*alphabet.symbols(word), STOP] for word in words])
        kinds, generator = torch.tensor(classes), np.random.default_rng(1)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(1)
            model = cls(alphabet, *numbers(words, classes, count))
            steps = EPOCHS * -(-len(words) // BATCH)
            optimiser = torch.optim.Adam(model.network.parameters(), LEARNING_RATE)
            schedule = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.02, steps)
            model.network.train()
            for _ in range(EPOCHS):
                for batch in by_length(text, BATCH, generator):
                    chosen = np.searchsorted(text.starts, batch.positions[0])
                    log_p, _ = model.network(batch.words, kinds[chosen])
                    optimiser.zero_grad()
                    _nats(log_p, batch.targets).mean().backward()
                    optimiser.step()
                    schedule.step()
        model.network.eval()
        return model

    @torch.inference_mode()
    def sequences(self, sequences: Sequence[Sequence[int]]) -> np.ndarray:
        text = as_text(sequences)
        result = np.empty((len(sequences), self.classes))
        for positions, is_symbol in of_like_length(text, SYMBOLS_AT_ONCE // self.classes):
            rows = np.searchsorted(text.starts, positions[0])
            targets = torch.from_numpy(np.where(is_symbol, text.ids[positions], NO_WORD))
            result[rows] = -self._nats_in_each_class(targets).numpy()
        return result

    def _nats_in_each_class(self, targets: Tensor) -> Tensor:
        """Return −log p in each class of words in columns, the last symbol first: (N × S).

        All classes are computed side by side. A long word is read in pieces, in constant memory.
        """
        words = targets.shape[1]
        kinds = torch.arange(self.classes).repeat(words)
        preceding = torch.cat([targets.new_full((1, words), STOP), targets[:-1]]).clamp(min=0)
        nats, state = torch.zeros(len(kinds), dtype=torch.float64), None
        length = max(1, SYMBOLS_AT_ONCE // len(kinds))
        for piece in zip(preceding.split(length), targets.split(length), strict=True):
            read, wanted = (symbols.repeat_interleave(self.classes, dim=1) for symbols in piece)
            log_p, state = self.network(read, kinds, state)
            nats += _nats(log_p, wanted).double().sum(dim=0)
        return nats.view(words, self.classes)

    @torch.inference_mode()
    def draw_symbols(self, classes: np.ndarray, generator: np.random.Generator) -> list[list[int]]:
        drawn: list[list[int]] = [[] for _ in classes]
        writing, last, state = np.arange(len(classes)), torch.full((len(classes),), STOP), None
        while len(writing):
            kinds = torch.from_numpy(classes[writing])
            log_p, state = self.network(last.unsqueeze(0), kinds, state)
            race = torch.from_numpy(generator.exponential(size=log_p[0].shape))
            last = (log_p[0] - race.log()).argmax(dim=1)  # the largest p/E, E ~ Exp(1), wins
            for row, symbol in zip(writing, last.tolist(), strict=True):
                drawn[row].append(symbol)
            continues = last != STOP
            writing, last = writing[continues.numpy()], last[continues]
            state = tuple(part[:, continues] for part in state)
        return [symbols[:-1] for symbols in drawn]

    def save(self, path: Path) -> None:
        about = {"letters": self.alphabet.letters, "length": self.length}
        tensors = {**self.network.state_dict(), "numbers": torch.from_numpy(self.numbers)}
        save_file(tensors, path, {"about": json.dumps(about)})

    @classmethod
    def load(cls, path: Path) -> "NeuralSpelling":
        tensors = load_tensors(path)
        try:
            with safe_open(path, "pt") as file:
                about = json.loads(file.metadata()["about"])
            letters, length = list(map(str, about["letters"])), float(about["length"])
            model = cls(Alphabet(letters), tensors.pop("numbers").double().numpy(), length)
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise AccordError(f"{path} cannot be loaded: {error}") from None
        load_weights(model.network, tensors, f"{path}: ")
        return model


def _nats(log_p: Tensor, targets: Tensor) -> Tensor:
    """Return the cost of each symbol in nats, 0 for padding: (T × N)."""
    return nn.functional.nll_loss(
        log_p.movedim(2, 1), targets, ignore_index=NO_WORD, reduction="none"
    )
