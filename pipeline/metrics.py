"""What a model's log-probabilities come to: every figure with its denominator.

Needs numpy only, as it also runs where a model was trained.
"""

import numpy as np


def summary(log_p: np.ndarray, is_end: np.ndarray, unseen: np.ndarray, characters: int) -> dict:
    """Figures of a split from log p of each word in nats, sentence ends among them."""
    words = ~is_end
    figures = {
        "nats per word": -log_p.mean(),  # a sentence's end counts as a word
        "nats per word without ends": -log_p[words].mean(),
        "perplexity": np.exp(-log_p.mean()),
        "bits per character": -log_p.sum() / np.log(2) / characters,
        "words": words.sum(),
        "sentences": is_end.sum(),
        "share of words unseen in training": unseen.sum() / words.sum(),
    }
    if unseen.any():
        figures["perplexity of unseen words"] = np.exp(-log_p[unseen].mean())
    return {name: float(value) for name, value in figures.items()}
