"""A network as ARPA n-grams or an automaton, an ARPA file as a model, weights pruned."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd

from accord.errors import AccordError, ExistsError
from accord.lexicon.vectors import kmeans
from accord.models.background import NGramBackground, NGrams, kneser_ney
from accord.models.common.checks import expect
from accord.models.data import END, Model, Sentences
from accord.models.inference.generation import Sampling, sample
from accord.models.inference.interface import InferenceModel, log_sum_exp
from accord.models.inference.torch_model import Backward, TorchBackground, TorchModel
from accord.models.model import LanguageModel
from accord.models.spelling import WrittenText, score_text
from accord.pipeline.ask.scorer import Scorer
from accord.pipeline.base.messages import meter, say
from accord.pipeline.base.names import END_ID, UNKNOWN_ID
from accord.pipeline.data.encoded import held_out, read_forms, read_text
from accord.pipeline.model.comparison import Scored
from accord.pipeline.model.find import TrainedModel
from accord.pipeline.model.folder import ModelFolder, open_folder
from accord.pipeline.model.network import for_queries, load_inference, load_trained
from accord.zoo.learning import prune
from accord.zoo.ngrams import (
    STOP,
    TEXT,
    UNKNOWN,
    StateAutomaton,
    directions,
    ngram_automaton,
    own_ngrams,
    pruned,
    read_arpa,
    state_automaton,
    words_of_arpa,
    write_arpa,
    write_wfst,
)

DRAWN_AT_ONCE = 512  # sentences of a text that a model writes
LONGEST = 200  # words of one of them
SAMPLE = 1 << 16  # hidden states that clusters are found in, of sentences drawn at random


def clustered(model: LanguageModel, text: Sentences, states: int, words: int, on_words):
    """At most so many states: two clusters may begin in the same place, and one stays empty."""
    order = np.random.default_rng(SEED).permutation(len(text.lengths))
    preceding = np.cumsum(text.lengths[order]) - text.lengths[order]
    is_chosen = np.zeros(len(order), bool)
    is_chosen[order[preceding < SAMPLE]] = True  # sentences of SAMPLE words
    rows = np.concatenate([h.numpy() for _, h in directions(model, text.chosen(is_chosen))])
    _, cluster = np.unique(kmeans(rows, states), return_inverse=True)
    sums = np.zeros((cluster.max() + 1, rows.shape[1]))
    np.add.at(sums, cluster, rows)
    centres = sums / np.bincount(cluster)[:, None]
    return state_automaton(model, text, centres, words, on_words)


ORDER = 3
SEED = 1  # of the text that a model writes


def export_ngrams(
    trained: TrainedModel,
    path: Path,
    order: int | None = None,
    samples: int | None = None,
    prune: float | None = None,
    states: int | None = None,
) -> Path:
    """Write a model as n-grams or, with `states`, as an automaton of clusters of hidden states.

    Their perplexity is printed. Spaces in words become `_`. n-grams are of `order` words, the
    predicted one included. Those of the training text have the model's own probabilities; with
    `samples`, n-grams are counted in so many sentences that the model writes. `prune` leaves out
    those that change the perplexity by less, as a share.
    """
    for name, value in {"order": order, "samples": samples, "states": states}.items():
        expect(name, value is None or value >= 1, "1 or more", value)
    if states and (order or prune is not None):
        raise AccordError("--states: expected no --order and no --prune, which are of n-grams")
    if path.exists():
        raise ExistsError(f"{path} is there already: choose another file or remove it")
    if states and not path.name.endswith(TEXT):
        raise AccordError(
            f"{path}: expected a file {TEXT} for --states, as ARPA holds n-grams alone"
        )
    folder, encoded = open_folder(trained.folder), trained.folders["encode"]
    model = load_inference(folder)
    forms = [form.replace(" ", "_") for form in folder.vocabulary.forms]
    if states:
        if not isinstance(model, TorchModel):
            raise AccordError(
                "--states: expected a network over words, whose hidden states are known"
            )
        text = _drawn(model, samples) if samples else read_text(encoded, "train")
        with _shown(len(text.ids)) as advance:
            clusters = clustered(model.network, text, states, len(forms), advance)
        write_wfst(clusters.automaton, forms, path)
        size = f"{clusters.states:,} states, {len(clusters.automaton.arcs.p):,} arcs"
        _compare(model, clusters, f"{path.name}, {size}", folder, encoded, ORDER)
        return path
    is_plain = _is_plain(model)
    if is_plain and (order or samples):
        raise AccordError(
            f"{path}: the model is made of n-grams already, of order "
            f"{model.background.ngrams.order}: expected no --order and no --samples"
        )
    if is_plain:
        ngrams = model.background.ngrams
    else:
        ngrams = _converted(model, folder, encoded, order or ORDER, samples)
    if prune is not None:
        ngrams = pruned(ngrams, prune)
    if path.name.endswith(TEXT):
        write_wfst(ngram_automaton(ngrams), forms, path)
    else:
        write_arpa(ngrams, forms, path)
    if not is_plain or prune is not None:
        what = f"{path.name}, {size_of(ngrams):,} n-grams"
        _compare(model, ngrams, what, folder, encoded, ngrams.order)
    return path


def _is_plain(model: Model) -> bool:
    """Return whether a model is n-grams of the last words, as files hold them."""
    background = model.background if isinstance(model, TorchBackground) else None
    return isinstance(background, NGramBackground) and background.is_plain


def _converted(
    model: Model, folder: ModelFolder, encoded: Path, order: int, samples: int | None
) -> NGrams:
    if not isinstance(model, InferenceModel):
        raise AccordError("n-grams of words: expected a model over words, got one of subwords")
    if samples is None:
        text, words = read_text(encoded, "train"), len(folder.words)
        with _shown(len(text.ids)) as advance:
            return own_ngrams(model, text, order, words, advance)
    if isinstance(model, TorchBackground):
        raise AccordError("--samples: expected a network to draw from, got a background alone")
    return _counted(_drawn(model, samples), folder, order)


def written_text(
    model: InferenceModel, sentences: int, seed: int, on_words: Callable = lambda words: None
) -> Sentences:
    """Draw sentences from a model; a sentence ends after LONGEST words.

    `on_words` is called with the number of words of each batch. n-grams that are counted in such a
    text come to the model's own as it grows (Deoras et al. 2011).
    """
    generator = np.random.default_rng(seed)
    ids, lengths = [], []
    for start in range(0, sentences, DRAWN_AT_ONCE):
        size = min(DRAWN_AT_ONCE, sentences - start)
        for words, _ in sample(model, [], size, Sampling(), generator, LONGEST):
            ids += [*words] if words[-1] == END else [*words, END]
            lengths.append(len(words) + (words[-1] != END))
        on_words(sum(lengths[start:]))
    return Sentences(np.array(ids), np.array(lengths))


def _drawn(model: InferenceModel, sentences: int) -> Sentences:
    with _shown(None) as advance:
        return written_text(model, sentences, SEED, on_words=advance)


@contextmanager
def _shown(words: int | None) -> Iterator[Callable[[int], None]]:
    advance = meter("words", words)
    yield advance
    advance(0)


def _counted(text: Sentences, folder: ModelFolder, order: int) -> NGrams:
    """Return Kneser-Ney n-grams of a text."""
    counts = [text], order, kneser_ney, folder.prior
    return NGramBackground.learn(folder.phi, *counts, folds=0).ngrams


def _compare(
    model: Model, file: NGrams | StateAutomaton, what: str, folder, encoded: Path, order: int
) -> None:
    """Perplexities on all held-out text, beside those of n-grams of the training text."""
    counted = _counted(read_text(encoded, "train"), folder, order)
    models = {
        "the model": model,
        what: file,
        f"Kneser-Ney of the training text, {size_of(counted):,} n-grams": counted,
    }
    for split in held_out(encoded):
        text = read_text(encoded, split)
        for name, scored in models.items():
            perplexity = math.exp(-scored.score(text).mean())
            say(f"export: perplexity {perplexity:,.1f} on {split}: {name}")


def size_of(ngrams: NGrams) -> int:
    return sum(len(table.keys) for table in ngrams.tables)


class ArpaScorer(Scorer):
    """Reads a text as the file's words are written: in small letters if all of these are.

    A word that the file lacks has the probability of its `<unk>`, as KenLM gives it, and is marked
    as if it were spelled; by a file without one it has none.
    """

    def __init__(self, trained: TrainedModel):
        path = trained.place
        self.parts, self.trained = _Nothing(path), trained
        self.vocabulary = ArpaWords(words_of_arpa(path))
        self.lowercase = all(word == word.lower() for word in self.vocabulary.known)
        self.model = read_arpa(path, self.vocabulary.forms)
        self.spelling = self.speller = None

    @property
    def reads_documents(self) -> bool:
        """Never: the file has n-grams of single sentences."""
        return False

    def score_encoded(self, batch: Sentences, text: WrittenText) -> tuple[np.ndarray, np.ndarray]:
        log_p, _ = super().score_encoded(batch, text)
        return log_p, (batch.ids == UNKNOWN_ID) & self.is_open


class _Nothing:
    """The parts of a model that has none beside its probabilities."""

    def __init__(self, path: Path):
        self.path = path

    def __getattr__(self, part: str) -> None:
        raise AccordError(
            f"{self.path} has probabilities alone: expected a run, or an exported model's folder"
        )


class ArpaWords:
    """The words of a file, as `Vocabulary` offers those of a run; blanks in words are `_` there."""

    def __init__(self, words: set[str]):
        self.is_open = UNKNOWN in words
        self.unknown = [UNKNOWN] if self.is_open else []
        first = [STOP, *self.unknown]
        known = sorted(words - {*first})
        self.forms = [*first, *known]
        self.known = {form: number for number, form in enumerate(known, start=len(first))}

    def ids(self, words: Sequence[str]) -> np.ndarray:
        numbers = [self.known.get(word.replace(" ", "_"), -1) for word in words]
        if -1 in numbers and not self.is_open:
            lacking = words[numbers.index(-1)]
            raise AccordError(f"'{lacking}' is not in this file, which has no {UNKNOWN} for it")
        return np.array([UNKNOWN_ID if number < 0 else number for number in numbers], np.int64)


def compare_pruned(scored: Scored, shares: Sequence[float]) -> pd.DataFrame:
    """Perplexity on each split with growing shares of zeros, without further training."""
    network = load_trained(scored.opened)
    if not isinstance(network, LanguageModel):
        raise AccordError(f"{scored.name}: expected a network, whose weights can be zero")
    spelling, rows = scored.opened.spelling, []
    for share in sorted({0.0, *shares}):
        prune(network, share)
        model = for_queries(network, scored.opened)
        kept = sum(int(weight.count_nonzero()) for weight in network.parameters())
        row = {"zeros": f"{share:.0%}", "weights left": f"{kept:,}"}
        for split in scored.splits:
            forms = read_forms(scored.folders["encode"], split)
            log_p, _ = score_text(model, spelling, scored.sentences(split), forms, UNKNOWN_ID)
            row[split] = f"{np.exp(-log_p.mean()):,.1f}"
        rows.append(row)
    return pd.DataFrame(rows)


AT_ONCE = 512  # words whose distributions over the vocabulary are held at a time


def pseudo_log_likelihood(
    forward: InferenceModel, backward: Backward, sentences: Sentences, prior: np.ndarray
) -> np.ndarray:
    """Return log p(x_t | x_1 … x_{t−1}, x_{t+1} … x_n) of every word and end, in nats.

        p(x | left, right) = p_f(x | left) · p_b(x | right) / b(x) / Z

    This is Bayes' rule for contexts that are independent given the word. b is the prior share of
    every word (V); a word without mass is impossible. The product over a sentence is a
    pseudo-likelihood (Besag 1975), no probability of the sentence: each word is predicted from
    words that are predicted from it.
    """
    with np.errstate(divide="ignore"):
        log_b = np.log(prior / prior.sum())
    log_p = np.zeros(len(sentences.ids))
    group = (np.cumsum(sentences.lengths) - sentences.lengths) // AT_ONCE
    cuts = [*np.flatnonzero(np.diff(group, prepend=-1)).tolist(), len(group)]
    for first, stop in pairwise(cuts):
        part = sentences.part(first, stop)
        both = np.tile(-log_b, (len(part.ids), 1))
        for model in (forward, backward):
            both += model.log_distributions(part)
        both[:, np.isneginf(log_b)] = -np.inf
        begin = int(sentences.starts[first])
        of_words = both[np.arange(len(part.ids)), part.ids]
        log_p[begin : begin + len(part.ids)] = of_words - log_sum_exp(both)
    return log_p


def both_directions(forward: Scored, backward: Scored) -> pd.DataFrame:
    """Perplexity of words, ends left out, on each held-out split: of each model, and of both.

    Both together see the words on either side, so that theirs is a pseudo-perplexity, which
    compares with that of other bidirectional models alone.
    """
    one, other = (load_inference(model.opened) for model in (forward, backward))
    if not isinstance(one, TorchModel) or not isinstance(other, Backward):
        raise AccordError(
            f"expected a network that reads words forwards and one with train.text: backward, got "
            f"{type(one).__name__} and {type(other).__name__}"
        )
    encoded = forward.folders["encode"]
    prior = forward.opened.mass()
    rows = []
    for split in held_out(encoded):
        text = read_text(encoded, split)
        is_word = text.ids != END_ID
        scores = {
            "forward": one.score(text),
            "backward": other.score(text),
            "both, pseudo-likelihood": pseudo_log_likelihood(one, other, text, prior),
        }
        rows.append(
            {"split": split, "words": int(is_word.sum())}
            | {name: f"{np.exp(-log_p[is_word].mean()):.1f}" for name, log_p in scores.items()}
        )
    return pd.DataFrame(rows)
