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
from accord.models.inference.next_word import TIE, NextWord, WordValues
from accord.models.spelling.spelling import spelled_text, with_spelling
from accord.pipeline.ask.scorer import Scorer, load
from accord.pipeline.base.names import UNKNOWN_ID
from accord.pipeline.data.catalogue import folder_of
from accord.pipeline.model.network import load_inference

CORPORA = ("ud-french-1.4", "ud-french-sequoia")
ODD = ["zyglotron", "3x", "***", "Ωμέγα", "IBM", "l'", "12e", "œufs", ".", "schtroumpfer"]
CLOSE = 1e-4  # nats: by so much numpy and torch may differ, so that words closer may change ranks
EXPLAINED = 200  # sentences of which every term is compared
TIMED = 300  # sentences that are scored against the clock
ROUNDS = 3  # times that each is, in turn
COMMANDS = {
    "score": ["score", "La petite fille mange une pomme."],
    "correct": ["correct", "Les enfant mange une pommes."],
}


def texts(corpora: Sequence[str], count: int) -> list[list[str]]:
    """Sentences of some corpora in equal shares, and a tenth of odd words in random order."""
    draws = np.random.default_rng(1)
    odd = [[str(word) for word in draws.choice(ODD, 12)] for _ in range(count // 10)]
    share = -(-(count - len(odd)) // len(corpora))
    read = (islice(read_words(each, folder=folder_of), share) for each in corpora)
    return [*odd, *(list(words) for each in read for _, words in each)][:count]


def both(scorer: Scorer) -> dict[str, InferenceModel]:
    """The model of a scorer by numpy, as it answers, and the same weights by torch."""
    return {"numpy": scorer.model, "torch": load_inference(scorer.parts)}


def differences(sentences: Sequence[list[str]]) -> Iterator[tuple[str, float]]:
    """How far log p, ranks and explanations of numpy and torch differ.

    Words are tied if they are no further apart than the two may differ.
    """
    scorer = load()
    batch, text = scorer.encoded([scorer.cased(words) for words in sentences])
    models = both(scorer)
    nothing = WordValues.none(len(scorer.vocabulary.forms))
    unknown = range(UNKNOWN_ID, UNKNOWN_ID + len(scorer.vocabulary.unknown))
    asked = [NextWord(each, nothing, unknown) for each in models.values()]
    spelled = spelled_text(scorer.spelling, text)
    most, same, tied = 0.0, 0, 0
    for (at, ours), (_, theirs) in zip(*(each.distributions(batch) for each in asked), strict=True):
        words = batch.ids[at]
        is_unknown = np.isin(words, unknown)
        log_p, own, ranks = [], [], []
        for each, scored in zip(asked, (ours, theirs), strict=True):
            beside = each.log_prob_of(scored, with_others(words, unknown))
            log_p.append(with_spelling(beside, spelled[at], is_unknown))
            own.append(beside[:, 0])
            ranks.append(each.likelier(scored, own[-1] + TIE))
        most = max(most, float(np.abs(log_p[0] - log_p[1]).max()))
        other = np.flatnonzero(ranks[0] != ranks[1])
        same += len(words) - len(other)
        bounds = (own[1][other] + sign * 2 * CLOSE for sign in (1, -1))
        least, greatest = (asked[1].likelier(theirs[other], each) for each in bounds)
        tied += int(((least <= ranks[0][other]) & (ranks[0][other] <= greatest)).sum())
    yield "sentences", float(len(batch.lengths))
    yield "words and ends", float(len(batch.ids))
    yield "largest difference of log p, nats", most
    yield "share of equal ranks", same / len(batch.ids)
    yield "share of equal ranks, ties aside", same / (len(batch.ids) - tied)
    yield from _terms(models, batch.part(0, min(EXPLAINED, len(batch.lengths))))


def _terms(models: dict[str, InferenceModel], batch: Sentences) -> Iterator[tuple[str, float]]:
    """The largest differences of the terms of log p, which an explanation shows."""
    most = dict.fromkeys(("background", "log Z", "weight of a feature"), 0.0)
    for ours, theirs in zip(*(each.states(batch) for each in models.values()), strict=True):
        words = batch.ids[ours.positions][:, None]
        found, expected = (
            each.terms(states.h, words, states.context)[: len(most)]
            for each, states in zip(models.values(), (ours, theirs), strict=True)
        )
        for name, one, other in zip(most, found, expected, strict=True):
            most[name] = max(most[name], float(np.abs(one - other).max()))
    for name, value in most.items():
        yield f"largest difference of {name}, nats", value


def speeds(sentences: Sequence[list[str]], threads: Sequence[int]) -> Iterator[tuple[str, float]]:
    """Words a second in batches; for each number of threads in a process of its own."""
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
    found: dict[str, list[float]] = {name: [] for name in models}
    for model in models.values():
        model.score(batch.part(0, 20))
    for _ in range(ROUNDS):
        for name, model in models.items():
            start = time.perf_counter()
            model.score(batch)
            found[name].append(len(batch.ids) / (time.perf_counter() - start))
    for name, values in found.items():
        print(name, median(values))


def starts() -> Iterator[tuple[str, float, float]]:
    """User seconds and peak memory in MB of commands, each in a process of its own."""
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
