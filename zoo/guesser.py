"""A guess at any string by a network that reads its letters from both ends.

It learns from the same forms with the same weights as the guesser by suffixes, and treats the shape
of a form in the same way.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence

from accord.lexicon.closed import LIKELY
from accord.lexicon.guesser import SMALLEST, LookGuesser, teaching, weighed

STEPS = 3000  # of training
RAREST = 20  # words that must have a letter for it to have an id
LONGEST = 30  # letters that are read of a word, the last ones
EMBEDDING, HIDDEN, DROPOUT = 32, 96, 0.2
BATCH, RATE, MAX_NORM = 256, 4e-3, 1.0
AT_ONCE = 4096  # words that are analysed together
OTHER, END = 0, -1  # the ids of rare and unknown letters, and of the padding after a word


class LetterTagger(nn.Module):
    """A bidirectional LSTM over the letters of a word, and the shares that it gives each tag.

        P(tag | l₁…l_n) = softmax(W·[h→_n ; h←_1] + c)

    h→ has read the word to its last letter, h← back to its first. The first letter is the look of
    the form. Unknown letters share one id.
    """

    def __init__(self, letters: Sequence[str], tags: int):
        super().__init__()
        self._id = {letter: number for number, letter in enumerate(letters, start=OTHER + 1)}
        self.embedding = nn.Embedding(len(letters) + 1, EMBEDDING)
        self.lstm = nn.LSTM(EMBEDDING, HIDDEN, bidirectional=True)
        self.dropout = nn.Dropout(DROPOUT)
        self.output = nn.Linear(2 * HIDDEN, tags)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Return the logits of the tags, a row for each word of ids."""
        lengths = (ids != END).sum(dim=1)
        letters = self.embedding(ids[:, : lengths.max()].T.clamp(min=OTHER).long())
        packed = pack_padded_sequence(letters, lengths, enforce_sorted=False)
        _, (states, _) = self.lstm(packed)
        return self.output(self.dropout(torch.cat([states[0], states[1]], dim=1)))

    def encode(self, words: Sequence[Sequence[str]]) -> torch.Tensor:
        """Return the ids of each word's letters: its look first, then the last ones."""
        ids = np.full((len(words), 1 + LONGEST), END, dtype=np.int16)
        for row, word in zip(ids, words, strict=True):
            kept = [self._id.get(letter, OTHER) for letter in (word[0], *word[1:][-LONGEST:])]
            row[: len(kept)] = kept
        return torch.from_numpy(ids)


class LSTMGuesser(LookGuesser):
    """Guesses by a LetterTagger."""

    name = "guesser-lstm"

    def __init__(self, network: LetterTagger, tags: Sequence[str], taught, licence: str):
        self.network, self.licence = network, licence
        self._upos, self._feats = np.array([tag.split(" ") for tag in tags], dtype=object).T
        # Analyses for a shape without training forms.
        self._settled = {
            look: np.array([shares.get(tag.rstrip(), 0.0) for tag in tags], dtype=np.float32)
            for look, (shares, _) in LIKELY.items()
            if look not in taught and shares
        }

    @torch.inference_mode()
    def _of_look(self, look: np.ndarray, forms: np.ndarray, share: np.ndarray) -> pd.DataFrame:
        parts = self.network.encode(_letters(look, forms)).split(AT_ONCE)
        logits = [self.network(part) for part in parts if len(part)]
        logits = torch.cat(logits) if logits else torch.empty(0, len(self._upos))
        shares = logits.softmax(dim=1).numpy()
        for name, settled in self._settled.items():
            shares[look == name] = settled
        # Of very many tags even the likeliest may have less than SMALLEST.
        shares[shares < np.minimum(SMALLEST, shares.max(axis=1, keepdims=True))] = 0
        shares *= (share / shares.sum(axis=1))[:, None]
        word, tag = np.nonzero(shares)
        texts = {"lemma": "", "upos": self._upos[tag], "feats": self._feats[tag]}
        rows = pd.DataFrame({"word": word, **texts, "weight": shares[word, tag]})
        return rows.assign(source=self.name).astype(dict.fromkeys([*texts, "source"], str))


def learned_lstm_guesser(
    rows: pd.DataFrame, licence: str, steps: int = STEPS, seed: int = 0
) -> LSTMGuesser:
    """Learn a guesser from rows of form, lemma, upos and feats, kept in memory only.

    The same rows, seed and number of threads give the same network.
    """
    by_look = {look: weighed(taught) for look, taught in teaching(rows).items() if len(taught)}
    rows = pd.concat(by_look, names=["look"]).reset_index("look")
    priors = {f"{upos} " for look in LIKELY.values() for upos in look.shares}
    tags = pd.Index(sorted({*rows["tag"], *priors}))
    word = rows.groupby(["look", "form"], sort=False).ngroup().to_numpy()
    place = rows.groupby(word).cumcount().to_numpy()
    # A word has one row of tags and one of their shares, padded with shares of zero.
    size = (word.max() + 1, place.max() + 1)
    tag_of, share_of = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.float32)
    tag_of[word, place] = tags.get_indexer(rows["tag"])
    weight = np.bincount(word, weights=rows["weight"])
    share_of[word, place] = rows["weight"] / weight[word]
    first = rows[place == 0]
    words = _letters(first["look"], first["form"])
    network = _train(words, tag_of, share_of, weight, len(tags), steps, seed)
    return LSTMGuesser(network, tags, list(by_look), licence)


def _letters(looks: Sequence[str], forms: Sequence[str]) -> list[list[str]]:
    """Return the look of each form, then its letters, all of them small."""
    return [[look, *form.lower()] for look, form in zip(looks, forms, strict=True)]


def _train(words, tags: np.ndarray, shares: np.ndarray, weights, count, steps, seed):
    """Train a network of `count` tags on words drawn by their weights."""
    frequency = Counter(letter for word in words for letter in {*word})
    letters = sorted(letter for letter, times in frequency.items() if times >= RAREST)
    bounds = np.cumsum(weights / weights.sum())[:-1]
    drawn = np.random.default_rng(seed)
    tags, shares = torch.from_numpy(tags), torch.from_numpy(shares)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = LetterTagger(letters, count).train()
        ids = network.encode(words)
        optimiser = torch.optim.Adam(network.parameters(), lr=RATE)
        schedule = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.0, total_iters=steps)
        for _ in range(steps):
            rows = np.searchsorted(bounds, drawn.random(BATCH), side="right")
            log_shares = network(ids[rows]).log_softmax(dim=1).gather(1, tags[rows])
            loss = -(shares[rows] * log_shares).sum(dim=1).mean()
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(network.parameters(), MAX_NORM)
            optimiser.step()
            schedule.step()
    return network.eval()
