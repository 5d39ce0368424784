"""Scores of sentences: each read by itself, from the state in which every text begins."""

from collections.abc import Iterator

import numpy as np
import torch

from models.batching import Sentences
from models.language_model import LanguageModel

WORDS_AT_ONCE = 4096  # scored in one batch, padding included


@torch.inference_mode()
def score(
    model: LanguageModel, sentences: Sentences, end: int, beside: int | None = None
) -> tuple[np.ndarray, np.ndarray | None]:
    """log p of every word of every sentence in order, END included, in nats.

    With `beside`, also what that one word would have had in each place.
    """
    was_training = model.training
    model.eval()
    device = model.embedding.weight.device
    scores = np.zeros((1 if beside is None else 2, len(sentences.ids)))
    contexts = model.contexts(sentences)
    for places, is_word in _batches(sentences):
        targets = torch.from_numpy(sentences.ids[places].astype(np.int64)).to(device)
        words = torch.cat([targets.new_full((1, targets.shape[1]), end), targets[:-1]])
        h, _ = model(words, model.encoder.initial_state(words.shape[1]))
        chosen = torch.from_numpy(is_word).to(device)
        h, targets = h[chosen], targets[chosen]
        context = torch.from_numpy(contexts[places[is_word]]).to(device)
        scores[0, places[is_word]] = model.output.log_prob_of(h, targets, context).double().cpu()
        if beside is not None:
            other = torch.full_like(targets, beside)
            scores[1, places[is_word]] = model.output.log_prob_of(h, other, context).double().cpu()
    model.train(was_training)
    return scores[0], None if beside is None else scores[1]


def _batches(sentences: Sentences) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Places (T × B) of words, sentences of like length together, and which of them are real."""
    order = np.argsort(-sentences.lengths, kind="stable")
    first = 0
    while first < len(order):
        longest = int(sentences.lengths[order[first]])
        chosen = order[first : first + max(1, WORDS_AT_ONCE // longest)]
        first += len(chosen)
        steps = np.arange(longest)[:, None]
        is_word = steps < sentences.lengths[chosen]
        yield np.where(is_word, sentences.starts[chosen] + steps, 0), is_word
