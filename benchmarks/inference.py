"""Exported models by numpy and by torch: how far they differ, how fast they are, cold starts."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from statistics import median

import numpy as np

from accord.corpora.sources import read_words
from accord.models.data import Sentences
from accord.models.inference.interface import InferenceModel, with_others
from accord.models.inference.next_word import TIE, NextWord, WordValues, distributions
from accord.models.spelling import spelled_text, with_spelling
from accord.pipeline.ask.scorer import Scorer, load
from accord.pipeline.base.names import UNKNOWN_ID
from accord.pipeline.data.catalogue import folder_of
from accord.pipeline.model.network import load_inference

CORPORA = ("ud-french-1.4", "ud-french-sequoia")
ODD = ["zyglotron", "3x", "***", "Ωμέγα", "IBM", "l'", "12e", "œufs", ".", "schtroumpfer"]
CLOSE = 1e-4  # nats by which numpy and torch may differ: closer words may change ranks
EXPLAINED = 200  # sentences of which every term is compared
TIMED = 300  # sentences that are scored against the clock
ROUNDS = 3  # times that each is, in turn
COMMANDS = {
    "score": ["score", "La petite fille mange une pomme."],
    "correct": ["correct", "Les enfant mange une pommes."],
}


def texts(corpora: Sequence[str], count: int) -> list[list[str]]:
    """Read sentences of some corpora in equal shares; a tenth are odd words in random order."""
    draws = np.random.default_rng(1)
    odd = [[str(word) for word in draws.choice(ODD, 12)] for _ in range(count // 10)]
    share = -(-(count - len(odd)) // len(corpora))
    parts = (islice(read_words(name, folder=folder_of), share) for name in corpora)
    return [*odd, *(list(words) for part in parts for _, words in part)][:count]


def both(scorer: Scorer) -> dict[str, InferenceModel]:
    """Return the model of a scorer by numpy, as it answers, and the same weights by torch."""
    return {"numpy": scorer.model, "torch": load_inference(scorer.parts)}


def differences(sentences: Sequence[list[str]]) -> Iterator[tuple[str, float]]:
    """Yield how far log p, ranks and explanations of numpy and torch differ.

    Words are tied if they are no further apart than the two may differ.
    """
    scorer = load()
    batch, text = scorer.encoded([scorer.cased(words) for words in sentences])
    models = both(scorer)
    nothing = WordValues.none(len(scorer.vocabulary.forms))
    unknown = range(UNKNOWN_ID, UNKNOWN_ID + len(scorer.vocabulary.unknown))
    readers = [NextWord(model, nothing, unknown) for model in models.values()]
    spelled = spelled_text(scorer.spelling, text)
    most, same, tied = 0.0, 0, 0
    both_read = (distributions(model, batch) for model in models.values())
    for (positions, ours), (_, theirs) in zip(*both_read, strict=True):
        words = batch.ids[positions]
        is_unknown = np.isin(words, unknown)
        log_p, unspelled, ranks = [], [], []
        for reader, scored in zip(readers, (ours, theirs), strict=True):
            with_unknown = reader.log_prob_of(scored, with_others(words, unknown))
            log_p.append(with_spelling(with_unknown, spelled[positions], is_unknown))
            unspelled.append(with_unknown[:, 0])
            ranks.append(reader.likelier(scored, unspelled[-1] + TIE))
        most = max(most, float(np.abs(log_p[0] - log_p[1]).max()))
        other = np.flatnonzero(ranks[0] != ranks[1])
        same += len(words) - len(other)
        bounds = (unspelled[1][other] + sign * 2 * CLOSE for sign in (1, -1))
        least, greatest = (readers[1].likelier(theirs[other], bound) for bound in bounds)
        tied += int(((least <= ranks[0][other]) & (ranks[0][other] <= greatest)).sum())
    yield "sentences", float(len(batch.lengths))
    yield "words and ends", float(len(batch.ids))
    yield "largest difference of log p, nats", most
    yield "share of equal ranks", same / len(batch.ids)
    yield "share of equal ranks, ties aside", same / (len(batch.ids) - tied)
    yield from _terms(models, batch.part(0, min(EXPLAINED, len(batch.lengths))))


def _terms(models: dict[str, InferenceModel], batch: Sentences) -> Iterator[tuple[str, float]]:
    """Yield the largest differences of the terms of log p, which an explanation shows."""
    most = dict.fromkeys(("background", "log Z", "weight of a feature"), 0.0)
    for pair in zip(*(model.states(batch) for model in models.values()), strict=True):
        words = batch.ids[pair[0].positions][:, None]
        terms = (
            model.terms(states.h, words, states.context)[: len(most)]
            for model, states in zip(models.values(), pair, strict=True)
        )
        for name, one, other in zip(most, *terms, strict=True):
            most[name] = max(most[name], float(np.abs(one - other).max()))
    for name, value in most.items():
        yield f"largest difference of {name}, nats", value


def speeds(sentences: Sequence[list[str]], threads: Sequence[int]) -> Iterator[tuple[str, float]]:
    """Yield words a second in batches; each number of threads has a process of its own."""
    program = "import sys; from benchmarks.inference import time_both; time_both(sys.stdin)"
    written = "\n".join(" ".join(words) for words in sentences[-TIMED:])
    for number in threads:
        names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        environment = os.environ | dict.fromkeys(names, str(number))
        done = subprocess.run(
            [sys.executable, "-c", program],
            input=written,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        for line in done.stdout.splitlines():
            name, speed = line.split()
            yield f"{name}, {number} thread{'s' * (number > 1)}", float(speed)


def time_both(lines: Iterator[str]) -> None:
    """Print how many words numpy and torch score a second, measured in turn."""
    scorer = load()
    batch, _ = scorer.encoded([scorer.cased(line.split()) for line in lines])
    models = both(scorer)
    rates: dict[str, list[float]] = {name: [] for name in models}
    for model in models.values():
        model.score(batch.part(0, 20))
    for _ in range(ROUNDS):
        for name, model in models.items():
            start = time.perf_counter()
            model.score(batch)
            rates[name].append(len(batch.ids) / (time.perf_counter() - start))
    for name, values in rates.items():
        print(name, median(values))


def starts() -> Iterator[tuple[str, float, float]]:
    """Yield user seconds and peak memory in MB of commands, each in a process of its own."""
    for name, command in COMMANDS.items():
        program = [sys.executable, "-m", "accord.pipeline.cli.main", *command]
        measured = (
            "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, "
            "stdout=subprocess.DEVNULL); used = resource.getrusage(resource.RUSAGE_CHILDREN); "
            "print(used.ru_utime, used.ru_maxrss / 1024)"
        )
        done = subprocess.run(
            [sys.executable, "-c", measured, *program], capture_output=True, text=True, check=True
        )
        seconds, peak = map(float, done.stdout.split())
        yield name, seconds, peak
