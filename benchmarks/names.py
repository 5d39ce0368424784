"""What a name costs when it comes again in a document, with and without context and cache.

A *name* is a word with a capital inside a sentence that the document never writes in small letters.

The cache is one distribution over the words that the document had so far, mixed with the model's:

    p'(x | K) = (1 − λ)·p(x | K) + λ·c(x | K),    c(x | K) = Σ_{j<t} w_j·[x_j = x] / Σ_{j<t} w_j

w_j = δ^{t−j} in the cache of recent words (Kuhn and De Mori 1990), exp(θ·cos(h_t, h_j)) in the
continuous cache (Grave et al. 2017), h_j being the state before x_j. Where nothing was read yet, λ
is 0; so p' sums to one over all strings, spelled words included. A sentence end is never cached.
δ, θ and λ are those under which the first third of the documents is likeliest; the figures are of
the others.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice

import numpy as np
import pandas as pd

from accord.corpora import sources
from accord.corpora.tokenise import tokenised
from accord.models.data import Sentences
from accord.models.inference.interface import InferenceModel
from accord.models.mixture import likeliest_weights, mixed
from accord.pipeline.ask.scorer import Scorer
from accord.pipeline.data.catalogue import folder_of

HALF_LIVES = (50, 200, 1000)  # words
SHARPNESS = (5.0, 10.0, 20.0, 40.0)  # θ
BITS = 1 / np.log(2)  # in a nat
FEWEST_SENTENCES = 5  # of a document
DRAWN_FROM = 4  # times as many documents as are wanted


@dataclass(frozen=True)
class ReadDocument:
    """A document as a model read it, word by word, ends included."""

    forms: np.ndarray  # the number of each word's form; −1 for an end
    characters: int
    name: np.ndarray  # 0 for no name, 1 where a name comes first, 2 where it comes again
    log_p: np.ndarray
    h: np.ndarray | None  # the states before the words, of length one; None without states


def documents(source: str, count: int, most: int, seed: int) -> list[list[list[str]]]:
    """So many documents drawn from the first of a source, each cut after `most` words.

    A document is a list of sentences, a sentence a list of words.
    """
    found = []
    read = sources.read(source, folder=folder_of)
    by_document = groupby(read, key=lambda sentence: sentence.document)
    for _, sentences in islice(by_document, DRAWN_FROM * count):
        kept, words = [], 0
        for text in tokenised(sentence.text for sentence in sentences):
            words += len(text)
            if words > most:
                break
            kept.append([*text])
        if len(kept) >= FEWEST_SENTENCES:
            found.append(kept)
    chosen = np.random.default_rng(seed).permutation(len(found))[:count]
    return [found[number] for number in sorted(chosen)]


def names(sentences: Sequence[Sequence[str]]) -> Iterator[int]:
    """Of each word and end: 1 where a name comes first, 2 where it comes again, else 0."""
    inside = {word for words in sentences for word in words[1:] if _is_capitalised(word)}
    small = {word for words in sentences for word in words}
    chosen = {word for word in inside if word.lower() not in small}
    seen: set[str] = set()
    for words in sentences:
        for word in words:
            yield 0 if word not in chosen else 2 if word in seen else 1
            seen.add(word)
        yield 0


def _is_capitalised(word: str) -> bool:
    return len(word) > 2 and word.isalpha() and word.istitle()


def read_documents(
    scorer: Scorer, texts: Sequence[Sequence[Sequence[str]]], in_context: bool
) -> list[ReadDocument]:
    """What a model makes of documents, each read as one text or sentence by sentence."""
    sentences = [scorer.cased(words) for text in texts for words in text]
    number = [at for at, text in enumerate(texts) for _ in text]
    batch, written = scorer.encoded(sentences, number if in_context else None)
    log_p, _ = scorer.score_encoded(batch, written)
    h = _states(scorer, batch)
    found, start = [], 0
    for text in texts:
        stop = start + sum(len(words) + 1 for words in text)
        found.append(
            ReadDocument(
                written.positions[start:stop],
                sum(len(word) + 1 for words in text for word in words),
                np.array([*names(text)]),
                log_p[start:stop],
                None if h is None else h[start:stop],
            )
        )
        start = stop
    return found


def _states(scorer: Scorer, batch: Sentences) -> np.ndarray | None:
    """The states before all words, of length one; None where a model has no states."""
    if not isinstance(scorer.model, InferenceModel):
        return None
    h: np.ndarray | None = None
    for read in scorer.model.states(batch):
        rows = np.asarray(read.h, np.float32)
        if h is None:
            h = np.zeros((len(batch.ids), rows.shape[1]), np.float32)
        h[read.positions] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return h


def recent(document: ReadDocument, half_life: float) -> np.ndarray:
    """log c of every word by the cache of recent words."""
    at = np.arange(len(document.forms))
    return _cached(document, 0.5 ** (np.maximum(at[:, None] - at, 0) / half_life))


def continuous(document: ReadDocument, sharpness: float) -> np.ndarray:
    """The same by the continuous cache."""
    return _cached(document, np.exp(sharpness * (document.h @ document.h.T - 1)))


def _cached(document: ReadDocument, weights: np.ndarray) -> np.ndarray:
    """log c by the weights w_tj; where nothing was read, log p, so that λ changes nothing there."""
    forms = document.forms
    weights = np.tril(weights, -1) * (forms >= 0)
    total = weights.sum(axis=1)
    same = (weights * (forms[:, None] == forms)).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(total > 0, np.log(same) - np.log(total), document.log_p)


def tuned(
    read: Sequence[ReadDocument], candidates: Mapping[float, Callable[[ReadDocument], np.ndarray]]
) -> tuple[float, np.ndarray]:
    """The cache under which the documents are likeliest, and its weight beside the model's."""
    log_p = np.concatenate([document.log_p for document in read])
    found = []
    for setting, cache in candidates.items():
        parts = np.stack([log_p, np.concatenate([cache(document) for document in read])])
        weights = likeliest_weights(parts)
        found.append((mixed(parts, weights).sum(), setting, weights))
    _, setting, weights = max(found, key=lambda each: each[0])
    return setting, weights


def measure(scorer: Scorer, texts: Sequence[Sequence[Sequence[str]]]) -> pd.DataFrame:
    """A row for each context and cache: bits per character, and bits of names by occurrence."""
    rows = []
    for context in ("none", "text"):
        read = read_documents(scorer, texts, context == "text")
        first = len(read) // 3
        tune, test = read[:first], read[first:]
        rows.append({"context": context, "cache": "none", "λ": 0.0} | figures(test))
        kinds = {"recent": {n: lambda d, n=n: recent(d, n) for n in HALF_LIVES}}
        if read[0].h is not None:
            kinds["continuous"] = {n: lambda d, n=n: continuous(d, n) for n in SHARPNESS}
        for kind, candidates in kinds.items():
            setting, weights = tuned(tune, candidates)
            cached = [
                mixed(np.stack([each.log_p, candidates[setting](each)]), weights) for each in test
            ]
            row = {"context": context, "cache": f"{kind}, {setting:g}", "λ": weights[1]}
            rows.append(row | figures(test, cached))
    return pd.DataFrame(rows)


def figures(
    read: Sequence[ReadDocument], log_p: Sequence[np.ndarray] | None = None
) -> dict[str, float]:
    """Bits per character, and the mean bits of names that come first and that come again."""
    nats = -np.concatenate(log_p or [document.log_p for document in read])
    name = np.concatenate([document.name for document in read])
    return {
        "bits per character": nats.sum() * BITS / sum(document.characters for document in read),
        "first": nats[name == 1].mean() * BITS,
        "again": nats[name == 2].mean() * BITS,
        "names again": int((name == 2).sum()),
    }
