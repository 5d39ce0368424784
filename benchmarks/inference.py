"""Exported models by numpy and by torch: how far they differ, how fast they are, cold starts."""

import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import numpy as np

from accord.corpora.sources import read_words
from accord.models.common.batching import Sentences
from accord.models.inference.interface import InferenceModel
from accord.models.inference.next_word import NextWord, WordValues
from accord.pipeline.artefacts.names import UNKNOWN_ID
from accord.pipeline.data.folders import folder_of
from accord.pipeline.inference.scorer import Scorer, load
from accord.pipeline.trained.network import load_inference

CORPORA = ("ud-french-1.4", "ud-french-sequoia")
ODD = ["zyglotron", "3x", "***", "Ωμέγα", "IBM", "l'", "12e", "œufs", ".", "schtroumpfer"]
RANKED = 200  # sentences whose ranks are compared, as these cost most
COMMANDS = {
    "score": ["score", "La petite fille mange une pomme."],
    "correct": ["correct", "Les enfant mange une pommes."],
}


def texts(corpora: Sequence[str], count: int) -> list[list[str]]:
    """Sentences of some corpora in equal shares, and a tenth of odd words in random order."""
    draws, share = np.random.default_rng(1), -(-count // len(corpora))
    odd = [[str(word) for word in draws.choice(ODD, 12)] for _ in range(count // 10)]
    read = (islice(read_words(each, folder=folder_of), share) for each in corpora)
    found = [list(words) for each in read for _, words in each]
    return [*odd, *found][:count]


def both(scorer: Scorer) -> dict[str, InferenceModel]:
    """The model of a scorer by numpy, as it answers, and the same weights by torch."""
    return {"numpy": scorer.model, "torch": load_inference(scorer.parts.encoding)}


def differences(sentences: Iterable[list[str]]) -> Iterator[tuple[str, float]]:
    """The largest difference in nats per word, and the share of words with the same rank."""
    scorer = load()
    batch, _ = scorer.encoded([scorer.cased(words) for words in sentences])
    models = both(scorer)
    unknown = range(UNKNOWN_ID, UNKNOWN_ID + len(scorer.vocabulary.unknown))
    scores = [each.score_beside(batch, unknown) for each in models.values()]
    yield "words", float(len(batch.ids))
    yield "largest difference, nats", float(np.abs(scores[0] - scores[1]).max())
    few = batch.part(0, RANKED)
    nothing = WordValues.none(len(scorer.vocabulary.forms))
    log_p = scores[1][: len(few.ids), 0]
    ranks = [NextWord(each, nothing, unknown).ask(few, log_p).rank for each in models.values()]
    yield "share of equal ranks", float((ranks[0] == ranks[1]).mean())


def speeds(sentences: Sequence[list[str]]) -> Iterator[tuple[str, float]]:
    """Words a second in batches, in the number of threads that OMP_NUM_THREADS has."""
    scorer = load()
    batch, _ = scorer.encoded([scorer.cased(words) for words in sentences])
    for name, model in both(scorer).items():
        model.score(Sentences(batch.ids[: batch.lengths[0]], batch.lengths[:1]))
        start = time.perf_counter()
        model.score(batch)
        yield name, len(batch.ids) / (time.perf_counter() - start)


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
